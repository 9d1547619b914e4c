"""The comparison of reviewer guidelines as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow

from gre_bench.pipeline.runs.prefect_engine import run_and_return_prefect_state
from gre_bench.studies.guideline_comparison import GuidelineJob, run_guideline_comparison


@flow(name="compare-guidelines", flow_run_name="{job.name}", persist_result=False)
def compare_guidelines(job: GuidelineJob) -> dict[str, Any]:
    """Compares guidelines as *job* says; the summary has each condition's results, and the study's folder.

    A condition is a variant of the prompt for reviews: with one guideline, or without any.
    """
    return run_and_return_prefect_state(run_guideline_comparison, job)
