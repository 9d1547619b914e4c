"""The study of the quality of human reviews as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow

from gre_bench.pipeline.runs.prefect_engine import run_and_return_prefect_state
from gre_bench.studies.review_quality import QualityJob, grade


@flow(name="review-quality", flow_run_name="{job.name}", validate_parameters=False, persist_result=False)
def review_quality(job: QualityJob) -> dict[str, Any]:
    """Gives points to reviews, groups the reviews by points, and samples each group, as *job* says.

    Returns a summary with counts. Files in the study's folder hold each review's points and the sampled reviews.
    """
    return run_and_return_prefect_state(grade, job)
