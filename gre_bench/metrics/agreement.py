"""Computes how well a metric's scores of graded reviews agree with the grades (Xu et al. 2025, §4.1).

Each kind of correlation (Spearman, Kendall, Pearson) is computed in four ways:

- over all reviews together;
- among the reviews of the same item;
- with the logarithm of the review's length held fixed;
- as the gain over the correlation between length and grades.

The intervals resample items, each with all its reviews. `gre_bench.stats` has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gre_bench.metrics.agreement_cases import ReviewScore
from gre_bench.stats.association import Kind
from gre_bench.stats.comparison import compare
from gre_bench.stats.correlation import correlate, partial, within_groups

KINDS: tuple[Kind, ...] = ("spearman", "kendall", "pearson")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Agreement:
    """One kind of correlation between a metric's scores and the grades.

    - *kind*: the kind of correlation.
    - *value*: the correlation over all reviews together. *p*: its p-value, with items resampled. *flat_p*: its p-value
      if all reviews are treated as independent.
    - *within*: the correlation among the reviews of the same item.
    - *at_length*: the correlation with the logarithm of length held fixed.
    - *over_length*: *value* minus the correlation between length and grades. *over_length_p*: the p-value of this gain.
    - *low*, *high* and all fields that end in these words: the ends of 95% intervals, with items resampled.
    - *reviews*: the number of graded reviews with a score. *items*: the number of items of these reviews.
    - *graded*: the number of graded reviews, whether they have a score or not.
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


def agreements(
    scores: Sequence[ReviewScore],
    words: Mapping[str, int],
    by_length: bool = True,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Agreement]:
    """Returns the agreement of *scores* with the grades: one `Agreement` for each kind in `KINDS`.

    - *words*: review id → the review's length in words.
    - *by_length*: whether to compute the fields *at_length* and *over_length*; if not, these fields are None.
    - *resamples*, *seed*: the number of resamples for the intervals, and their random seed.
    """
    scored = [row for row in scores if row.value is not None]
    counts = {"reviews": len(scored), "items": len({row.paper_id for row in scored}), "graded": len(scores)}
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    return [_agreement(kind, scored, words, by_length, counts, how) for kind in KINDS]


def _agreement(
    kind: Kind,
    scored: Sequence[ReviewScore],
    words: Mapping[str, int],
    by_length: bool,
    counts: dict[str, int],
    how: dict[str, Any],
) -> Agreement:
    values = [float(row.value or 0.0) for row in scored]
    grades, items = [row.grade for row in scored], [row.paper_id for row in scored]
    if len(scored) < 3:
        return Agreement(
            kind, None, **counts, problem=f"only {len(scored)} graded reviews have a score; three are needed"
        )
    length = [math.log(max(1, words.get(row.review_id, 0))) for row in scored]
    try:
        plain = correlate(kind, values, grades, items, **how)
    except ValueError as error:
        return Agreement(kind, None, **counts, problem=str(error))
    inside = _result_or_none(lambda: within_groups(kind, values, grades, items, **how))
    held = _result_or_none(lambda: partial(kind, values, grades, length, items, **how)) if by_length else None
    over = _result_or_none(lambda: compare(kind, values, length, grades, items, **how)) if by_length else None
    return Agreement(
        kind, plain.value, plain.low, plain.high, plain.p, plain.flat_p,
        inside and inside.value, inside and inside.low, inside and inside.high,
        held and held.value, held and held.low, held and held.high,
        over and over.difference, over and over.low, over and over.high, over and over.p, **counts,  # pyright: ignore[reportArgumentType]
    )  # fmt: skip


def _result_or_none(made: Callable[[], Result]) -> Result | None:
    """Calls *made* and returns its result; None if *made* raises `ValueError`.

    This error means that the data define no result, for example because all reviews have the same length.
    """
    try:
        return made()
    except ValueError:
        return None
