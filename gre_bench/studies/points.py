"""Tests whether a point's own information in nats agrees with people's labels of the point, such as right or wrong.

A point is a single remark of a review. Its own information is the mean of two scores against the other human reviews of
the paper: the score of the point *alone*, and the loss of the review's score if the point is *left out*:

    alone = log P(y | point) − log P(y)        left out = log P(y | review) − log P(y | review without the point)

Here, the review means the judgments of all its points, and y means the judgments of another human review.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from operator import itemgetter
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.judgments import OPENINGS
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, NO_REFERENCE, Candidate, PlannedPair
from gre_bench.ingest.records.sampling import read_not_human_ids
from gre_bench.ingest.records.tables import LabelledPoint
from gre_bench.metrics.agreement import NOT_REFERENCED
from gre_bench.metrics.cases import (
    UNREFERENCED,
    ReviewWithJudgments,
    SampledPaper,
    choose_scored_writer,
    plan_edition_pairs,
)
from gre_bench.pipeline.importing import (
    load_stated_categories,
    load_stored_points,
    read_known_papers,
    read_known_reviews,
)
from gre_bench.pipeline.pair_scoring import end_run, score
from gre_bench.pipeline.planning import RunPlan, build_synopses, iterate_reviews_with_judgments, store_run_plan
from gre_bench.pipeline.reading import import_sources
from gre_bench.pipeline.refreshing import check_scoring_job
from gre_bench.pipeline.runs.job import Job, Progress
from gre_bench.pipeline.runs.workers import run_with_workers
from gre_bench.pipeline.training_overlap import find_training_overlap
from gre_bench.pipeline.writing import write_judgments
from gre_bench.stats.auc import compute_ordered_auc
from gre_bench.store import Row, Store
from gre_bench.store.queries import FINISHED_PAIRS, JUDGMENTS
from gre_bench.tasks.backends import SignMetrics

CRITICISM = OPENINGS[1]
SCORES = ("own", "alone", "left_out")
"""The scores that come from a metric: a point's own information, and the two parts that it is the mean of."""
SIMPLE_SCORES = ("words", "place", "criticism")
"""Scores that need no other review: number of words, position in the review, share of judgments that criticise."""


PointTexts = Sequence[ReviewWithJudgments]
"""The texts that a point's scores need: its own judgments and, if its review has other points, two more texts.

The two are the judgments of the whole review, and those of the review without the point. Their ids contain digests.
"""


def score_labelled_points(job: Job) -> dict[str, Any]:
    """Scores the stored points (remarks of reviews), compares each score with each label, and returns the summary.

    ``labels`` has an entry per label, with a row per score. A row has AUCs over all points and within papers, with 95%
    intervals clustered by paper. Raises `SettingsError` if the settings have no metric that is a PMI of judgments and
    needs no ASSW. Raises `SourceError` if no points are stored.
    """
    job = check_scoring_job(job)
    metrics = tuple(
        name for name in job.settings.scoring.metrics
        if (recipe := find_recipe(name)).formula == "pmi" and recipe.source == "judgments" and recipe.synopsis != "assw"
    )  # fmt: skip
    if not metrics:
        raise SettingsError("points are scored by gem or gem_s_abstract: --set 'scoring.metrics=[\"gem\"]'")
    scoring = job.settings.scoring.model_copy(update={"metrics": metrics})
    job = replace(job, settings=job.settings.model_copy(update={"scoring": scoring}))
    with run_with_workers(job, "points") as (store, workers, progress):
        progress.stage("importing")
        import_sources(store, progress.run_id, job.settings)
        points, texts, work = _plan_point_scoring(store, job, workers.sign_metrics, progress)
        score(store, job, workers, work, progress)
        progress.stage("comparing")
        values = {metric: _load_point_scores(store, points, texts, work, metric) for metric in metrics}
        beside = _compute_simple_scores(points, texts, work.writer)
        names = sorted({name for point in points for name in point.labels})
        labels = [_compare_with_label(name, points, values, beside) for name in names]
        return end_run(store, work, progress, papers=work.papers, points=len(points), labels=labels)


def _plan_point_scoring(
    store: Store, job: Job, sign: SignMetrics, progress: Progress
) -> tuple[list[LabelledPoint], dict[str, PointTexts], RunPlan]:
    """Writes missing judgments and plans every pair; returns the points, point id → its texts, and the plan."""
    points = list(load_stored_points(store).values())
    if not points:
        raise SourceError(
            f"edition {store.key} has no labelled points; import some: "
            f"gre-bench import points FILE --edition {store.key}"
        )
    trained_on = find_training_overlap(store, job.settings, ids=[point.paper_id for point in points])
    points = trained_on.keep_untrained(points, [point.paper_id for point in points], "a study of points", store.key)
    chosen = list(dict.fromkeys(point.paper_id for point in points))[: job.limit]
    points = [point for point in points if point.paper_id in set(chosen)]
    judged = _load_judgments_by_writer(store)
    due = [
        ReviewWithJudgments(name, point.text, judged[name]) for point in points for name in (f"point:{point.point_id}",)
    ]
    references = _load_human_responses(store, job, chosen, None)
    judged_by = write_judgments(
        store, job, [*(response for group in references.values() for response in group), *due], progress
    )
    progress.stage("planning")
    references, scoring = _load_human_responses(store, job, chosen, judged_by), job.settings.scoring
    every = [response for group in references.values() for response in group]
    writer = choose_scored_writer(every, scoring.writer, judged_by)
    texts = _join_point_texts(
        points, {name: by_writer.get(writer) for name, by_writer in _load_judgments_by_writer(store).items()}, writer
    )
    identity, signatures = sign(job.backends, scoring, writer)
    papers, categories = {paper.paper_id: paper for paper in read_known_papers(store)}, load_stated_categories(store)
    planned: dict[tuple[str, str, str, str], PlannedPair] = {}
    for point in points:
        paper = papers[point.paper_id]
        others = tuple(item for item in references[point.paper_id] if item.review_id != point.review_id)
        entry = SampledPaper(
            paper, UNREFERENCED, others, {}, build_synopses(paper, {}, categories, scoring.synopsis_of)
        )
        for (metric, signature), text in product(signatures.items(), texts[point.point_id]):
            own = [replace(entry, responses={text.review_id: text})]
            pairs = plan_edition_pairs(
                own, [Candidate(text.review_id, "graded")], find_recipe(metric), writer, scoring.form
            )
            if not others:
                pairs = [PlannedPair(point.paper_id, text.review_id, NO_REFERENCE, "excluded", NOT_REFERENCED)]
            for pair in pairs:
                planned[signature.signature_id, pair.paper_id, pair.candidate_id, pair.reference_id] = pair
    pairs = sorted(((place[0], pair) for place, pair in planned.items()), key=itemgetter(0))
    candidates = [Candidate(name, "graded") for name in sorted({pair.candidate_id for _, pair in pairs})]
    store_run_plan(store, job, progress.run_id, pairs, signatures, candidates)
    work = RunPlan(pairs, signatures, identity.lm_id, writer, len(chosen), len(chosen), trained_on, trained_on.notes)
    return points, texts, work


def _load_judgments_by_writer(store: Store) -> Mapping[str, dict[str, str]]:
    """Returns id → writer → judgments. The id is a review's id, or ``point:`` followed by a point's id."""
    judged: dict[str, dict[str, str]] = defaultdict(dict)
    for row in store.rows(JUDGMENTS):
        judged[row["review_id"]][row["writer"]] = row["text"]
    return judged


def _load_human_responses(
    store: Store, job: Job, papers: Sequence[str], judged_by: str | None
) -> dict[str, list[ReviewWithJudgments]]:
    """Returns paper id → its human reviews. *judged_by*: as in `iterate_reviews_with_judgments`."""
    human = [review for review in read_known_reviews(store) if review.candidate == HUMAN]
    apart = read_not_human_ids(human, job.settings.edition.not_human)
    references: dict[str, list[ReviewWithJudgments]] = {name: [] for name in papers}
    for review, response in iterate_reviews_with_judgments(store, judged_by):
        if review.candidate == HUMAN and review.review_id not in apart and review.paper_id in references:
            references[review.paper_id].append(response)
    return references


def _join_point_texts(
    points: Sequence[LabelledPoint], written: Mapping[str, str | None], writer: str
) -> dict[str, PointTexts]:
    """Returns point id → its texts (`PointTexts`).

    *written*: ``point:`` followed by a point's id → the point's judgments by *writer*.
    """
    groups: dict[tuple[str, str], list[LabelledPoint]] = defaultdict(list)
    for point in points:
        groups[point.group].append(point)
    texts: dict[str, PointTexts] = {}
    for group in groups.values():
        judgments = {point.point_id: written.get(f"point:{point.point_id}") for point in group}
        whole = _join_point_judgments("points", judgments.values(), writer)
        for point in group:
            own = judgments[point.point_id]
            alone = ReviewWithJudgments(f"point:{point.point_id}", point.text, {writer: own} if own else {})
            rest = _join_point_judgments(
                "without", [text for name, text in judgments.items() if name != point.point_id], writer
            )
            texts[point.point_id] = [alone, whole, rest] if whole and rest else [alone]
    return texts


def _join_point_judgments(kind: str, judgments: Iterable[str | None], writer: str) -> ReviewWithJudgments | None:
    text = "\n".join(item for item in judgments if item)
    if not text:
        return None
    return ReviewWithJudgments(f"{kind}:{hashlib.sha256(text.encode()).hexdigest()[:16]}", None, {writer: text})


def _load_point_scores(
    store: Store, points: Sequence[LabelledPoint], texts: Mapping[str, PointTexts], work: RunPlan, metric: str
) -> dict[str, dict[str, float]]:
    """Returns point id → its `SCORES` by *metric*, as means over references. A point is a single remark of a review.

    A reference counts only if every text that the point's scores need (`PointTexts`) has a score against it. Points
    without such a reference are left out.
    """
    rows = store.rows(FINISHED_PAIRS, signature_id=work.signatures[metric].signature_id)
    scored: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row["value"] is not None:
            scored[row["paper_id"], row["candidate_id"]][row["reference_id"]] = row["value"]
    values: dict[str, dict[str, float]] = {}
    for point in points:
        by_text = [scored[point.paper_id, item.review_id] for item in texts[point.point_id]]
        shared = sorted(set.intersection(*map(set, by_text)))
        if not shared:
            continue
        means = [sum(item[name] for name in shared) / len(shared) for item in by_text]
        left_out = means[1] - means[2] if len(means) == 3 else means[0]
        values[point.point_id] = dict(zip(SCORES, ((means[0] + left_out) / 2, means[0], left_out), strict=True))
    return values


def _compute_simple_scores(
    points: Sequence[LabelledPoint], texts: Mapping[str, PointTexts], writer: str
) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    for point in points:
        lines = texts[point.point_id][0].judgments.get(writer, "").splitlines()
        criticised = sum(line.lstrip().startswith(CRITICISM) for line in lines) / max(1, len(lines))
        counts = float(len(point.text.split())), float(point.place), criticised
        values[point.point_id] = dict(zip(SIMPLE_SCORES, counts, strict=True))
    return values


def _compare_with_label(
    name: str, points: Sequence[LabelledPoint], values: Mapping[str, Mapping[str, Mapping[str, float]]],
    beside: Mapping[str, Mapping[str, float]],
) -> Row:  # fmt: skip
    """Returns how well each score orders the points that have the label *name* and a score by every metric."""
    labelled = [point for point in points if name in point.labels]
    compared = [point for point in labelled if all(point.point_id in scores for scores in values.values())]
    rows = []
    for source, keys in ((None, SIMPLE_SCORES), *((metric, SCORES) for metric in values)):
        by_point = values[source] if source else beside
        for key in keys:
            numbers = [by_point[point.point_id][key] for point in compared]
            row: dict[str, Any] = {"metric": source, "score": key}
            for within in (False, True):
                start = "within_" if within else ""
                try:
                    ordered = compute_ordered_auc(numbers, [point.labels[name] for point in compared],
                                               [point.paper_id for point in compared], within)  # fmt: skip
                    row |= {f"{start}{part}": value for part, value in asdict(ordered).items()}
                except ValueError as error:
                    row |= {f"{start}auc": None, f"{start}problem": str(error)}
            rows.append(row)
    levels = sorted({point.labels[name] for point in compared})
    return {
        "label": name, "points": len(compared), "labelled": len(labelled),
        "papers": len({point.paper_id for point in compared}), "levels": len(levels), "rows": rows,
    }  # fmt: skip
