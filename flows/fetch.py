"""Fetches an edition's papers and reviews from OpenReview, within the service's limits, over days if necessary.

    listings with replies → draw the sample → versions and PDFs of the sampled papers → seal a snapshot

The journal stores every received answer and is the checkpoint: a fetch that is killed, paused or refused continues when
it is started again. There is a separate journal for each OpenReview server.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.errors import SourceError
from gre_bench.core.settings import Settings
from gre_bench.ingest.openreview.fetching import FetchRequest, fetch_run
from gre_bench.ingest.records.venues import check_verified, venue_of
from gre_bench.ingest.snapshot import Snapshot, changes
from gre_bench.pipeline.runs.prefect_engine import EDITION, ended
from gre_bench.tasks import steps

NAP_S = 60.0
"""The longest uninterrupted sleep. It limits the delay after a machine was suspended or its clock was changed."""


@dataclass(frozen=True, slots=True)
class FetchJob:
    """What to fetch: the venue-year and host in *settings*. *state*: the folder to fetch into.

    *again*: whether to start a new fetch even if the last one is complete.
    """

    settings: Settings
    state: Path
    again: bool = False


@flow(name="fetch", flow_run_name=EDITION, persist_result=False)
def fetch(
    settings: Settings = Settings(), state: Path = Path("state"), again: bool = False, strict: bool = False
) -> dict[str, Any]:
    """Fetches one venue-year from OpenReview into a snapshot.

    *again*: whether to start a new fetch even if the last one is complete; by default, nothing is then done. *strict*:
    whether a service without a usable answer fails the flow run; a pause never does. Returns a summary: the requests
    sent, the snapshot, and the time until which a paused fetch must wait.
    """
    return ended(fetch_snapshot, FetchJob(settings, state, again), strict=strict)


def fetch_snapshot(job: FetchJob, tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Does the work of `fetch`; calls *tell* with one line before each wait for the service."""
    edition = job.settings.edition
    check_verified(venue_of(edition.venue, edition.year), job.settings.sources.unverified_venue)
    folder = fetch_run(job.settings, job.state, job.again)
    request = FetchRequest(job.settings, str(job.state), folder.name, time.time())
    sent = Counter[str]()
    while True:
        reached = steps.fetch_notes(request)
        sent.update(reached.sent)
        if reached.paused_until is None and not reached.message:
            reached = steps.fetch_papers(request)
            sent.update(reached.sent)
        if reached.paused_until is None or job.settings.fetch.when_paused == "exit":
            break
        tell(reached.message)
        moment = reached.paused_until
        deadline = time.monotonic() + moment - time.time()
        while (left := min(moment - time.time(), deadline - time.monotonic())) > 0:
            time.sleep(min(NAP_S, left))
    summary = {"venue": f"{edition.venue} {edition.year}", "requests": dict(sent), "run": request.run, "snapshot": None}
    if reached.paused_until is not None:
        until = datetime.fromtimestamp(reached.paused_until, UTC).isoformat(timespec="seconds")
        return summary | {"outcome": "paused", "paused_until": until, "message": reached.message}
    if reached.message:
        return summary | {"outcome": "incomplete", "message": reached.message}
    sealed = steps.seal_snapshot(request)
    changed = _difference(job.state, Path(sealed["snapshot"]))
    return summary | {"outcome": "done", "message": ""} | sealed | {"changes": changed}


def _difference(state: Path, folder: Path) -> dict[str, Any] | None:
    """Returns how the snapshot in *folder* differs from the one before it; None if it is the first."""
    snapshot = Snapshot.open(folder)
    for other in sorted((state / "snapshots").glob("*/manifest.json")):
        try:
            before = Snapshot.open(other.parent)
        except SourceError:
            continue
        if before.digest == snapshot.manifest.previous:
            return changes(before, snapshot)
    return None
