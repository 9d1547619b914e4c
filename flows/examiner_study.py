"""The comparison of examiners with human scores as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow

from gre_bench.pipeline.runs.prefect_engine import run_and_return_prefect_state
from gre_bench.studies.examiners.comparison import compare
from gre_bench.studies.examiners.study import ExaminerJob


@flow(name="examiner-study", flow_run_name="{job.name}", persist_result=False)
def examiner_study(job: ExaminerJob) -> dict[str, Any]:
    """Compares examiners as *job* says; the summary has each examiner's results, and the study's folder."""
    return run_and_return_prefect_state(compare, job)
