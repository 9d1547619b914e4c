"""Checks whether the evaluation LM gives two reviews the same joint probability in both orders (Xu et al. 2025, A.5).

For reviews x and y, the two orders give log P(x) + log P(y | x) and log P(y) + log P(x | y). They are compared for
every two human reviews of a paper. GEM on all ordered pairs of reviews computes these log-probabilities. So the check
scores these pairs with GEM and reads the stored log-probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.pipeline.agreeing import plan_pairs_of_graded_items
from gre_bench.pipeline.pair_scoring import end_run, score
from gre_bench.pipeline.reading import import_sources
from gre_bench.pipeline.refreshing import check_scoring_job
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.workers import run_with_workers
from gre_bench.stats.correlation import ReviewPairLogprobs, measure_symmetry
from gre_bench.store import Row
from gre_bench.store.queries import PAIR_LOGPROBS

METRIC = "gem"


def check_symmetry(job: Job) -> dict[str, Any]:
    """Scores all ordered pairs of human reviews with GEM; returns how well the two orders of a pair agree.

    The result has Spearman's coefficients with 95% intervals (bootstrap by paper), the outcome of the run, and the
    reasons why pairs have no score. Raises `SourceError` if fewer than three pairs are scored in both orders, or if the
    scores do not vary.
    """
    job = check_scoring_job(job)
    scoring = job.settings.scoring.model_copy(update={"metrics": (METRIC,)})
    job = replace(job, settings=job.settings.model_copy(update={"scoring": scoring}))
    with run_with_workers(job, "symmetry") as (store, workers, progress):
        progress.stage("importing")
        import_sources(store, progress.run_id, job.settings)
        _, work = plan_pairs_of_graded_items(store, job, workers.sign_metrics, progress, ungraded=True)
        score(store, job, workers, work, progress)
        (signature,) = work.signatures.values()
        rows = store.rows(PAIR_LOGPROBS, signature_id=signature.signature_id, lm_id=work.lm_id)
        validation = job.settings.validation
        planned = {(pair.paper_id, pair.candidate_id, pair.reference_id) for _, pair in work.planned}
        places = [(row["paper_id"], row["candidate_id"], row["reference_id"]) for row in rows]
        pairs = pair_both_orders([row for row, place in zip(rows, places, strict=True) if place in planned])
        if len(pairs) < 3:
            raise SourceError(
                f"edition {store.key}: {len(pairs)} pairs are scored in both orders; symmetry needs three"
            )
        try:
            correlations = measure_symmetry(pairs, resamples=validation.resamples, seed=validation.seed)
        except ValueError as error:
            raise SourceError(f"edition {store.key}: no symmetry from {len(pairs)} pairs: {error}") from None
        summary = end_run(
            store, work, progress, signature_id=signature.signature_id, evaluation_lm=signature.evaluation_lm,
            symmetry=asdict(correlations),
        )  # fmt: skip
        return {name: value for name, value in summary.items() if name not in ("run_id", "metrics")}


def pair_both_orders(rows: Sequence[Row]) -> list[ReviewPairLogprobs]:
    """Returns the log-probabilities of each pair of reviews that was scored in both orders; each pair occurs once."""
    by_pair = {(row["paper_id"], row["candidate_id"].partition(":")[2], row["reference_id"]): row for row in rows}
    return [
        ReviewPairLogprobs(paper, x, y, log_x=back["marginal"], log_y=row["marginal"],
                     log_y_given_x=row["conditional"], log_x_given_y=back["conditional"])
        for (paper, x, y), row in by_pair.items()
        if x < y and (back := by_pair.get((paper, y, x)))
    ]  # fmt: skip
