"""Fetches an edition's papers and reviews from OpenReview, within the service's limits, over days if necessary.

    listings with replies → draw the sample → versions and PDFs of the sampled papers → seal a snapshot

Every answer of the service is saved at once. A fetch that is killed, paused or refused therefore continues when it is
started again. The answers of different OpenReview servers are kept apart.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.settings import Settings
from gre_bench.ingest.openreview.fetching import FetchRun, choose_fetch_run_folder
from gre_bench.ingest.records.venues import check_verified, find_venue_entry
from gre_bench.ingest.snapshot import Snapshot, compare_snapshots
from gre_bench.tasks import steps

NAP_S = 60.0
"""The longest single sleep of a wait, in seconds.

A wait ends at most this late if the machine was suspended or its clock was changed."""


@dataclass(frozen=True, slots=True)
class FetchJob:
    """What a fetch must do: *settings* name venue, year and host; *state* is the state folder to fetch into.

    *again*: whether to start a new fetch even if the last one is complete.
    """

    settings: Settings
    state: Path
    again: bool = False


def fetch_snapshot(job: FetchJob, tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Fetches one year of a venue into a snapshot. Calls *tell* with one line before each wait for the service.

    Returns a summary: the requests sent, the snapshot, and the time until which a paused fetch must wait. Repeating a
    complete fetch sends nothing, unless *again* is set.
    """
    edition = job.settings.edition
    check_verified(find_venue_entry(edition.venue, edition.year), job.settings.sources.unverified_venue)
    folder = choose_fetch_run_folder(job.settings, job.state, job.again)
    request = FetchRun(job.settings, str(job.state), folder.name, time.time())
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
    changed = _compare_with_previous_snapshot(job.state, Path(sealed["snapshot"]))
    return summary | {"outcome": "done", "message": ""} | sealed | {"changes": changed}


def _compare_with_previous_snapshot(state: Path, folder: Path) -> dict[str, Any] | None:
    """Returns how the snapshot in *folder* differs from its predecessor; None if *state* has no predecessor."""
    snapshot = Snapshot.open(folder)
    for other in sorted((state / "snapshots").glob("*/manifest.json")):
        try:
            before = Snapshot.open(other.parent)
        except SourceError:
            continue
        if before.digest == snapshot.manifest.previous:
            return compare_snapshots(before, snapshot)
    return None
