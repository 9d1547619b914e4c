"""How well a metric's scores of graded reviews agree with the grades (Xu et al. 2025, §4.1).

An item is a paper, or whatever else the reviews are about. Each review of an item is scored against every other review
of the same item:

    score of review j = mean over the item's other reviews k of f(item, x_j, x_k)

Here f is the metric's score of review x_j with x_k as the reference. A metric without references scores each review
once. A metric with references gives no score to a review that is the only review of its item. Ungraded reviews serve as
references, but get no score of their own.

Each kind of correlation (Spearman, Kendall, Pearson) is computed in four ways:

- over all reviews together;
- among the reviews of the same item;
- with the logarithm of the review's length held fixed;
- as the gain over the correlation between length and grades.

The intervals resample items, each with all its reviews. `gre_bench.stats` has the formulas.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

from gre_bench.core.judgments import Form
from gre_bench.core.metrics import Recipe
from gre_bench.core.records import NO_REFERENCE, Candidate, Paper, PlannedPair, Score, SynopsisKind
from gre_bench.metrics.cases import (
    MissingText,
    MovableReview,
    MovedReview,
    ReviewWithJudgments,
    SampledPaper,
    count_scored_words,
    plan_edition_pairs,
    plan_moves,
)
from gre_bench.metrics.scoring import signature_writer_name
from gre_bench.stats.association import Kind
from gre_bench.stats.correlation import compare_correlations, correlate, correlate_within_groups, partial_correlation

NOT_REFERENCED = "no_reference"
NOT_GRADED = "no_grade"


@dataclass(frozen=True, slots=True)
class GradedItem:
    """An item with graded reviews.

    *responses*: its reviews, graded or not. *grades*: review id → grade. *synopses*: kind of synopsis → its text, or
    why that is missing.
    """

    paper: Paper
    responses: tuple[ReviewWithJudgments, ...]
    grades: Mapping[str, float]
    synopses: Mapping[SynopsisKind, str | MissingText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReviewScore:
    """A graded review and its score by one metric.

    *value*: the mean score over the review's scored pairs; None if no pair has a score. *reason* is then a code that
    says why. *pairs*: the number of pairs with a score. *planned*: the number of planned pairs, not counting those that
    a rule excludes.
    """

    paper_id: str
    review_id: str
    grade: float
    value: float | None
    pairs: int
    planned: int
    reason: str | None = None


def build_review_candidate(review_id: str) -> Candidate:
    """Returns the candidate that stands for the graded review *review_id* alone; each graded review has its own."""
    return Candidate(f"review:{review_id}", "graded")


def plan_agreement(
    items: Iterable[GradedItem],
    recipe: Recipe,
    writer: str,
    form: Form = "as_written",
    ungraded: bool = False,
    moved: Mapping[tuple[str, str], ReviewWithJudgments] | None = None,
) -> list[PlannedPair]:
    """Returns the planned pairs (review, other review of the same item), in the order of *items*.

    If the metric *recipe* needs no reference, there is one pair for each review. Unless *ungraded* is true, a review
    without a grade gets one excluded pair (`NOT_GRADED`). If the metric needs references, the only review of an item
    gets one, too (`NOT_REFERENCED`). *writer*, *form*, *moved*: as in `gre_bench.metrics.cases.plan_edition_pairs`.
    """
    planned: list[PlannedPair] = []
    for item, response in ((each, response) for each in items for response in each.responses):
        candidate = build_review_candidate(response.review_id)
        others = tuple(other for other in item.responses if other.review_id != response.review_id)
        why = None if ungraded or response.review_id in item.grades else NOT_GRADED
        if why is None and recipe.needs_reference and not others:
            why = NOT_REFERENCED
        if why:
            planned.append(PlannedPair(item.paper.paper_id, candidate.candidate_id, NO_REFERENCE, "excluded", why))
        else:
            entry = SampledPaper(item.paper, response, others, {candidate.candidate_id: response}, item.synopses)
            planned += plan_edition_pairs([entry], [candidate], recipe, writer, form, moved=moved)
    return planned


def plan_review_moves(items: Iterable[GradedItem], recipe: Recipe, writer: str, seed: int) -> list[MovedReview]:
    """Moves the reviews that the metric *recipe* can read to other items, where their scores are chance scores.

    See `gre_bench.metrics.cases`. Returns the reviews with their new items. A review that fits no swap is left out.
    """
    responses: dict[str, ReviewWithJudgments] = {}
    placed = []
    for item in items:
        name = item.paper.paper_id
        for response in item.responses:
            if words := count_scored_words(response, recipe, writer):
                responses[response.review_id] = response
                placed.append(MovableReview(response.review_id, name, frozenset((name,)), words))
    at = {review.key: review.item for review in placed}
    return [
        MovedReview(
            signature_writer_name(recipe, writer),
            build_review_candidate(move.key).candidate_id,
            at[move.key],
            responses[move.source],
            move.swap,
        )
        for move in plan_moves(placed, seed)
    ]


def average_pair_scores_by_review(
    items: Iterable[GradedItem], planned: Iterable[PlannedPair], scores: Iterable[Score]
) -> list[ReviewScore]:
    """Returns each graded review of *items* with the mean score of its pairs; pairs without a score are left out."""
    pairs: dict[str, list[PlannedPair]] = defaultdict(list)
    for pair in planned:
        pairs[pair.candidate_id].append(pair)
    by_pair = {(score.candidate_id, score.reference_id): score for score in scores}
    rows = []
    for item, review_id in ((each, response.review_id) for each in items for response in each.responses):
        if review_id not in item.grades:
            continue
        mine = pairs.get(build_review_candidate(review_id).candidate_id, ())
        answers = [by_pair[key] for pair in mine if (key := (pair.candidate_id, pair.reference_id)) in by_pair]
        values = [score.value for score in answers if score.value is not None]
        codes = [score.problem.code for score in answers if score.problem is not None]
        reasons = codes or [pair.reason for pair in mine if pair.reason] or ["not_scored"]
        rows.append(
            ReviewScore(
                item.paper.paper_id, review_id, item.grades[review_id], fmean(values) if values else None,
                len(values), planned=sum(pair.state != "excluded" for pair in mine),
                reason=None if values else reasons[0],
            )
        )  # fmt: skip
    return rows


KINDS: tuple[Kind, ...] = ("spearman", "kendall", "pearson")


@dataclass(frozen=True, slots=True)
class GradeAgreement:
    """One kind of correlation between a metric's scores and the grades.

    - *value*: the correlation over all reviews together. *p*: its p-value, with items resampled. *flat_p*: its p-value
      if all reviews are treated as independent.
    - *within*: the correlation among reviews of the same item. *at_length*: the correlation with the logarithm of
      length held fixed.
    - *over_length*: *value* minus the correlation between length and grades. *over_length_p*: the p-value of this
      difference.
    - All fields whose names end in *low* or *high*: the ends of 95% intervals, with items resampled.
    - *graded*: the number of graded reviews. *reviews*: how many of them have a score. *items*: the number of items to
      which these belong.
    - *problem*: why there is no *value*; else None.
    """

    kind: Literal["spearman", "kendall", "pearson"]
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    flat_p: float | None = None
    within: float | None = None
    within_low: float | None = None
    within_high: float | None = None
    at_length: float | None = None
    at_length_low: float | None = None
    at_length_high: float | None = None
    over_length: float | None = None
    over_length_low: float | None = None
    over_length_high: float | None = None
    over_length_p: float | None = None
    reviews: int = 0
    items: int = 0
    graded: int = 0
    problem: str | None = None


def compute_agreements(
    scores: Sequence[ReviewScore],
    words: Mapping[str, int],
    by_length: bool = True,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[GradeAgreement]:
    """Returns the agreement of *scores* with the grades: one `GradeAgreement` for each kind in `KINDS`.

    *words*: review id → the review's length in words. *by_length*: whether to compute *at_length* and *over_length*.
    """
    scored = [row for row in scores if row.value is not None]
    counts: dict[str, Any] = {
        "reviews": len(scored),
        "items": len({row.paper_id for row in scored}),
        "graded": len(scores),
    }
    if len(scored) < 3:
        problem = f"only {len(scored)} graded reviews have a score; three are needed"
        return [GradeAgreement(kind, None, **counts, problem=problem) for kind in KINDS]
    values = [float(row.value or 0.0) for row in scored]
    grades, items = [row.grade for row in scored], [row.paper_id for row in scored]
    length = [math.log(max(1, words.get(row.review_id, 0))) for row in scored]
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    results = []
    for kind in KINDS:
        try:
            plain = correlate(kind, values, grades, items, **how)
        except ValueError as error:
            results.append(GradeAgreement(kind, None, **counts, problem=str(error)))
            continue
        fields: dict[str, Any] = {name: getattr(plain, name) for name in ("value", "low", "high", "p", "flat_p")}
        with suppress(ValueError):  # raised if the result is undefined, for example if all reviews are equally long
            inside = correlate_within_groups(kind, values, grades, items, **how)
            fields |= {"within": inside.value, "within_low": inside.low, "within_high": inside.high}
        if by_length:
            with suppress(ValueError):
                held = partial_correlation(kind, values, grades, length, items, **how)
                fields |= {"at_length": held.value, "at_length_low": held.low, "at_length_high": held.high}
            with suppress(ValueError):
                over = compare_correlations(kind, values, length, grades, items, **how)
                fields |= {"over_length": over.difference, "over_length_low": over.low,
                           "over_length_high": over.high, "over_length_p": over.p}  # fmt: skip
        results.append(GradeAgreement(kind, **fields, **counts))
    return results
