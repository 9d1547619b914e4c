"""Computes how well a metric's scores of graded reviews agree with the grades (Xu et al. 2025, §4.1).

Besides the plain coefficient it gives three others: among the reviews of one item, with log length held fixed, and the
gain over mere length on the same reviews. Items are resampled with all their reviews. The formulas are in
`gre_bench.stats`.
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
    """One coefficient over *reviews* of *items*; *graded* counts all graded reviews.

    *value*: the coefficient over all reviews together. *p* and all intervals resample items; *flat_p* treats reviews as
    independent. *within*: the coefficient among the reviews of one item. *at_length*: the coefficient with log length
    held fixed. *over_length*: how far *value* exceeds the coefficient of length alone. *problem* says why there is no
    value.
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
    """Returns every coefficient of *scores* with the grades.

    *words* maps review ids to lengths in words. If *by_length* is false, the *at_length* and *over_length* values are
    None.
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
    """Calls *made* and returns its result; None if the data define none (one review per group, constant length)."""
    try:
        return made()
    except ValueError:
        return None
