"""The agreement of metrics with human grades (Xu et al. 2025, §4.1) as a Prefect flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.settings import Settings
from gre_bench.pipeline.agreeing import score_and_correlate_with_grades
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.prefect_engine import EDITION, run_and_return_prefect_state


@flow(name="agree-with-humans", flow_run_name=EDITION, persist_result=False)
def agree_with_humans(
    settings: Settings = Settings(), state: Path = Path("state"), retry_failed: bool = False, wait_s: float = 0.0
) -> dict[str, Any]:
    """Correlates every metric with the grades of an edition's reviews; parameters as in `annual_refresh`.

    Returns the correlations, the numbers of pairs by state, and why pairs have no score.
    """
    return run_and_return_prefect_state(
        score_and_correlate_with_grades, Job(settings, state, None, None, retry_failed, wait_s)
    )
