"""The fetch of an edition from OpenReview as a Prefect flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.settings import Settings
from gre_bench.pipeline.downloading import FetchJob, fetch_snapshot
from gre_bench.pipeline.runs.prefect_engine import EDITION, ended


@flow(name="fetch", flow_run_name=EDITION, persist_result=False)
def fetch(
    settings: Settings = Settings(), state: Path = Path("state"), again: bool = False, strict: bool = False
) -> dict[str, Any]:
    """Fetches one venue-year from OpenReview into a snapshot; repeating a complete fetch is harmless, unless *again*.

    *strict*: whether a service that gives no usable answer fails the flow run; a pause never does. Returns a summary:
    the requests sent, the snapshot, and the time until which a paused fetch must wait.
    """
    return ended(fetch_snapshot, FetchJob(settings, state, again), strict=strict)
