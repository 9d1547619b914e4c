"""Correlates metrics with human grades of reviews (Xu et al. 2025, §4.1).

    import → write judgments → plan every ordered pair of an item's reviews → score → correlate with the grades

An item is what the reviews are about, such as a paper or a restaurant. There is no sample: every item with a graded
review counts. A metric that needs references scores a review against every other review of the same item; the review's
score is the mean. A metric without references scores each review once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from gre_bench.catalogs.domains import Part
from gre_bench.core.errors import SourceError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Problem, Score, Source
from gre_bench.metrics.agreement import (
    GradedItem,
    average_pair_scores_by_review,
    build_review_candidate,
    compute_agreements,
    plan_agreement,
    plan_review_moves,
)
from gre_bench.metrics.cases import MovedReview, ReviewWithJudgments, choose_scored_writer
from gre_bench.metrics.scoring import CHANCE_SEED
from gre_bench.pipeline.importing import load_stated_categories, read_known_papers
from gre_bench.pipeline.pair_scoring import end_run, score
from gre_bench.pipeline.planning import (
    RunPlan,
    build_synopses,
    index_moved_reviews,
    iterate_reviews_with_judgments,
    store_run_plan,
)
from gre_bench.pipeline.reading import import_sources
from gre_bench.pipeline.refreshing import check_scoring_job
from gre_bench.pipeline.runs.job import Job, Progress
from gre_bench.pipeline.runs.workers import run_with_workers
from gre_bench.pipeline.training_overlap import find_training_overlap
from gre_bench.pipeline.writing import write_judgments
from gre_bench.store import Row, Store
from gre_bench.store.queries import FINISHED_PAIRS
from gre_bench.tasks.backends import SignMetrics


def score_and_correlate_with_grades(job: Job) -> dict[str, Any]:
    """Scores an edition's graded reviews by every metric in the settings; correlates each metric with the grades.

    Returns the correlations, how many pairs have a score, and why the others have none.
    """
    job = check_scoring_job(job)
    with run_with_workers(job, "agree") as (store, workers, progress):
        if job.retry_failed:
            store.write(("forget_unwritten", {}))
        progress.stage("importing")
        import_sources(store, progress.run_id, job.settings)
        items, work = plan_pairs_of_graded_items(store, job, workers.sign_metrics, progress)
        score(store, job, workers, work, progress)
        progress.stage("correlating")
        rows = correlate_metrics_with_grades(store, job, work, items, progress.run_id)
        return end_run(store, work, progress, items=work.papers, agreements=rows)


def plan_pairs_of_graded_items(
    store: Store, job: Job, sign: SignMetrics, progress: Progress, ungraded: bool = False
) -> tuple[list[GradedItem], RunPlan]:
    """Writes missing judgments of graded items' reviews; plans and stores the pairs; returns the items and the plan.

    *ungraded*: whether to use, instead, every item with two or more human reviews, with a grade or without. Raises
    `SourceError` if there are no items to use.
    """
    parts = job.settings.scoring.synopsis_of
    items = list_graded_items(store, parts, None, ungraded)
    trained_on = find_training_overlap(store, job.settings, ids=[item.paper.paper_id for item in items])

    def keep_untrained_items(items: list[GradedItem]) -> list[GradedItem]:
        ids = [item.paper.paper_id for item in items]
        return trained_on.keep_untrained(items, ids, "a symmetry" if ungraded else "an agreement", store.key)[
            : job.limit
        ]

    items = keep_untrained_items(items)
    if not items and ungraded:
        raise SourceError(f"edition {store.key} has no paper with two human reviews; import some first")
    if not items:
        raise SourceError(
            f"edition {store.key} has no graded reviews; import some: "
            f"gre-bench import graded FILE --edition {store.key}"
        )
    judged_by = write_judgments(store, job, [review for item in items for review in item.responses], progress)
    items = keep_untrained_items(list_graded_items(store, parts, judged_by, ungraded))
    progress.stage("planning")
    scoring = job.settings.scoring
    writer = choose_scored_writer([review for item in items for review in item.responses], scoring.writer, judged_by)
    identity, signatures = sign(job.backends, scoring, writer)
    moved: dict[Source, list[MovedReview]] = {}
    for recipe in map(find_recipe, scoring.metrics):
        if recipe.formula == "specific":
            moved[recipe.source] = plan_review_moves(items, recipe, writer, CHANCE_SEED)
    elsewhere = index_moved_reviews(moved)
    planned = [
        (signatures[recipe.name].signature_id, pair)
        for recipe in map(find_recipe, scoring.metrics)
        for pair in plan_agreement(items, recipe, writer, scoring.form, ungraded, elsewhere.get(recipe.source))
    ]
    candidates = [
        build_review_candidate(name) for item in items for name in (review.review_id for review in item.responses)
    ]
    every = list(chain.from_iterable(moved.values()))
    store_run_plan(store, job, progress.run_id, planned, signatures, candidates, every)
    return items, RunPlan(
        planned, signatures, identity.lm_id, writer, len(items), len(items), trained_on, trained_on.notes
    )


def list_graded_items(
    store: Store, parts: Sequence[Part], judged_by: str | None = None, ungraded: bool = False
) -> list[GradedItem]:
    """Returns every item that has a graded review, with all its reviews, judgments and synopses, sorted by item id.

    - *parts*: the parts of an item that make up its synopsis, such as the abstract.
    - *judged_by*: as *judgments_by* in `iterate_reviews_with_judgments`.
    - *ungraded*: whether to return, instead, every item with two or more human reviews, with a grade or without. Then
      each item has only its human reviews.
    """
    by_paper: dict[str, list[ReviewWithJudgments]] = defaultdict(list)
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for review, response in iterate_reviews_with_judgments(store, judged_by):
        if ungraded and review.candidate != HUMAN:
            continue
        by_paper[review.paper_id].append(response)
        if review.grade is not None:
            grades[review.paper_id][review.review_id] = review.grade
    papers = {paper.paper_id: paper for paper in read_known_papers(store)}
    categories = load_stated_categories(store)
    return [
        GradedItem(
            papers[name], tuple(by_paper[name]), grades[name], build_synopses(papers[name], {}, categories, parts)
        )
        for name in sorted(by_paper if ungraded else grades)
        if not ungraded or len(by_paper[name]) > 1
    ]


def correlate_metrics_with_grades(
    store: Store, job: Job, work: RunPlan, items: Sequence[GradedItem], run_id: str
) -> list[Row]:
    """Correlates every metric's scores with the grades of *items*; stores and returns a row per coefficient."""
    words = {
        review.review_id: len(text.split())
        for item in items
        for review in item.responses
        if (text := review.text or review.judgments.get(work.writer))
    }
    rows: list[Row] = []
    for metric, signature in work.signatures.items():
        planned = [pair for signed, pair in work.planned if signed == signature.signature_id]
        finished = store.rows(FINISHED_PAIRS, signature_id=signature.signature_id)
        scores = [
            Score(signature.signature_id, row["paper_id"], row["candidate_id"], row["reference_id"], row["value"],
                  None if row["value"] is not None else Problem(str(row["reason"]), ""))
            for row in finished
        ]  # fmt: skip
        agreements_of_metric = compute_agreements(
            average_pair_scores_by_review(items, planned, scores), words, not metric.endswith("length"),
            job.settings.validation.resamples, job.settings.validation.seed,
        )  # fmt: skip
        rows += [
            asdict(item) | {"signature_id": signature.signature_id, "metric": metric} for item in agreements_of_metric
        ]
    store.write(
        ("put_agreements", [{name: row[name] for name in row if name != "metric"} | {"run_id": run_id} for row in rows])
    )
    return rows
