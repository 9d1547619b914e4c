"""The validation of metrics (Xu et al. 2025, §4.2-4.3) as a Prefect flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.prefect_engine import EDITION, run_and_return_prefect_state
from gre_bench.pipeline.validating import validate


@flow(name="validate-metrics", flow_run_name=EDITION, persist_result=False)
def validate_metrics(
    settings: Settings = Settings(),
    state: Path = Path("state"),
    limit: int | None = None,
    retry_failed: bool = False,
    wait_s: float = 0.0,
) -> dict[str, Any]:
    """Validates the metrics that the settings name on one edition.

    The summary has each perturbation's effect on each metric, and each metric's verdict: pass, fail or undecided.

    Parameters: see `annual_refresh`. A pilot (*limit*) writes no validation record.
    """
    return run_and_return_prefect_state(validate, Job(settings, state, None, limit, retry_failed, wait_s))
