"""The fetch of an edition from OpenReview as a Prefect flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.settings import Settings
from gre_bench.pipeline.downloading import FetchJob, fetch_snapshot
from gre_bench.pipeline.runs.prefect_engine import EDITION, run_and_return_prefect_state


@flow(name="fetch", flow_run_name=EDITION, persist_result=False)
def fetch(
    settings: Settings = Settings(), state: Path = Path("state"), again: bool = False, strict: bool = False
) -> dict[str, Any]:
    """Fetches one venue-year from OpenReview into a snapshot.

    Returns a summary: the requests sent, the snapshot, and the time until which a paused fetch must wait.

    Args:
        settings: The venue and the year, and how to fetch.
        state: Folder to fetch into.
        again: Whether to start a new fetch even if the last one is complete.
        strict: Whether a service that gives no usable answer fails the flow run. A pause never does.
    """
    return run_and_return_prefect_state(fetch_snapshot, FetchJob(settings, state, again), strict=strict)
