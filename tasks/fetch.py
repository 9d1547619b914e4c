"""Tasks that fetch an edition from OpenReview, and a function that looks up secrets."""

from __future__ import annotations

import os
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from gre_bench.core.errors import SettingsError
from gre_bench.ingest.openreview.fetching import FetchOutcome, FetchRequest, bring_notes, bring_papers, freeze
from gre_bench.tasks.policy import FETCHING, HOUR


@task(name="fetch notes", task_run_name="notes of {request.run}", **FETCHING)
def fetch_notes(request: FetchRequest) -> FetchOutcome:
    """Fetches submissions and reviews of a venue-year into the journal, as far as OpenReview allows.

    The journal is the file that keeps every received answer. Returns the number of requests sent, by kind. If the fetch
    stopped early, the result also says why.
    """
    return bring_notes(request, secret)


@task(name="fetch papers", task_run_name="papers of {request.run}", **FETCHING)
def fetch_papers(request: FetchRequest) -> FetchOutcome:
    """Fetches versions and PDFs of the sampled papers into the journal, as far as OpenReview allows.

    The journal is the file that keeps every received answer. Returns the number of requests sent, by kind. If the fetch
    stopped early, the result also says why.
    """
    return bring_papers(request, secret)


@task(name="seal snapshot", tags=["cpu"], timeout_seconds=HOUR, cache_policy=NO_CACHE, persist_result=False)
def seal_snapshot(request: FetchRequest) -> dict[str, Any]:
    """Makes a snapshot of everything in the journal of *request*; returns the snapshot's folder, digest and counts."""
    return freeze(request)


def secret(where: str) -> str:
    """Returns the secret that *where* names; an empty text if the secret is unset.

    *where* is ``env:NAME`` for an environment variable or ``block:NAME`` for a Prefect Secret block. Raises
    `SettingsError` for an unknown block.
    """
    kind, _, name = where.partition(":")
    if kind == "env":
        return os.environ.get(name, "").strip()
    from prefect.blocks.system import Secret

    try:
        block: Any = Secret.load(name)
        return str(block.get())
    except ValueError:
        raise SettingsError(f"no Prefect Secret block {name!r}; make it, or name a variable: env:NAME") from None
