"""The annual refresh of one edition (Xu et al. 2025, §5) as a Prefect flow, which shows its board as an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.settings import Settings
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.prefect_engine import EDITION, run_and_return_prefect_state
from gre_bench.reports.board_pictures import create_board_artifact


@flow(name="annual-refresh", flow_run_name=EDITION, persist_result=False)
def annual_refresh(
    settings: Settings = Settings(),
    state: Path = Path("state"),
    candidates: list[str] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
    wait_s: float = 0.0,
    strict: bool = False,
) -> dict[str, Any]:
    """Brings the board of one edition up to date.

    Args:
        settings: The edition, its sources, writers, metrics and evaluation LM.
        state: Folder that keeps everything a run makes.
        candidates: Score only these. Default: all candidates of the edition.
        limit: Use only this many papers, the first ones of the sample (a pilot).
        retry_failed: Whether to retry the texts and scores that failed for good in earlier runs.
        wait_s: Seconds to wait for another process that writes the edition.
        strict: Whether an outcome that needs attention, such as incomplete, fails the flow run. A pause never does.

    Returns a summary: the numbers of papers and of pairs by state, and why pairs have no score.
    """
    job = Job(settings, state, tuple(candidates or ()) or None, limit, retry_failed, wait_s)
    return run_and_return_prefect_state(refresh, job, create_board_artifact, strict=strict)
