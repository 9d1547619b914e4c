"""The training and the fine-tuning of evaluation LMs (Xu et al. 2025, appendix E) as Prefect flows."""

from __future__ import annotations

from typing import Any

from prefect import flow

from gre_bench.pipeline.runs.prefect_engine import run_and_return_prefect_state
from gre_bench.pipeline.training import FineTuningJob, TrainingJob, fine_tune_evaluation_lm, train_and_score_cache_ngram


@flow(name="tune-cache-ngram", flow_run_name="cache-ngram", persist_result=False)
def tune_cache_ngram(job: TrainingJob) -> dict[str, Any]:
    """Trains `cache-ngram` as *job* says; returns its scores on the held-out papers.

    If the job names no held-out papers, every sixth paper is held out.
    """
    return run_and_return_prefect_state(train_and_score_cache_ngram, job)


@flow(name="tune-evaluation-lm", flow_run_name="fine-tune", persist_result=False)
def tune_evaluation_lm(job: FineTuningJob) -> dict[str, Any]:
    """Fine-tunes an evaluation LM as *job* says; returns its training record and its folder."""
    return run_and_return_prefect_state(fine_tune_evaluation_lm, job)
