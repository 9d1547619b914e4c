"""Tasks that fetch an edition from OpenReview, and the lookup of secrets."""

from __future__ import annotations

import os
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from gre_bench.core.errors import SettingsError
from gre_bench.ingest.openreview.fetch_steps import Asked, Reached, bring_notes, bring_papers, freeze
from gre_bench.tasks.policy import FETCHING, HOUR


@task(name="fetch notes", task_run_name="notes of {asked.take}", **FETCHING)
def fetch_notes(asked: Asked) -> Reached:
    """Fetches submissions and reviews of a venue-year into the journal; returns how far OpenReview allowed."""
    return bring_notes(asked, secret)


@task(name="fetch papers", task_run_name="papers of {asked.take}", **FETCHING)
def fetch_papers(asked: Asked) -> Reached:
    """Fetches versions and PDFs of the sampled papers into the journal; returns how far OpenReview allowed."""
    return bring_papers(asked, secret)


@task(name="seal snapshot", tags=["cpu"], timeout_seconds=HOUR, cache_policy=NO_CACHE, persist_result=False)
def seal_snapshot(asked: Asked) -> dict[str, Any]:
    """Makes the snapshot of what was fetched; returns its folder, digest and counts."""
    return freeze(asked)


def secret(where: str) -> str:
    """Returns the value of ``env:NAME`` (environment variable) or ``block:NAME`` (Prefect Secret); empty if unset.

    Raises `SettingsError` for an unknown block.
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
