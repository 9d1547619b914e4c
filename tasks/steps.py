"""All steps of a run, in the order of the pipeline.

A step takes and returns plain values, for a whole batch of items. No step opens the store. Within a Prefect flow run, a
step runs as a Prefect task; elsewhere it is a plain function (see `gre_bench.tasks.policy.make_step`).
"""

from gre_bench.tasks.examine import (
    generate_guideline,
    grade_items,
    judge_reviews,
    prefer_pairs,
    rate_papers,
    write_instructions,
)
from gre_bench.tasks.fetch import fetch_notes, fetch_papers, read_papers, seal_snapshot
from gre_bench.tasks.release import show_history, show_leaderboard
from gre_bench.tasks.score import score_papers, sign_metrics
from gre_bench.tasks.tune import fine_tune_lm, train_cache_ngram
from gre_bench.tasks.write import (
    perturbation_identity,
    reviewers_among,
    write_assw,
    write_judgments,
    write_perturbations,
    write_reviews,
    writer_identity,
)

__all__ = [
    "fetch_notes",
    "fetch_papers",
    "fine_tune_lm",
    "generate_guideline",
    "grade_items",
    "judge_reviews",
    "perturbation_identity",
    "prefer_pairs",
    "rate_papers",
    "read_papers",
    "reviewers_among",
    "score_papers",
    "seal_snapshot",
    "show_history",
    "show_leaderboard",
    "sign_metrics",
    "train_cache_ngram",
    "write_assw",
    "write_instructions",
    "write_judgments",
    "write_perturbations",
    "write_reviews",
    "writer_identity",
]  # fmt: skip
