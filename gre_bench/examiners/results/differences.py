"""Tests whether one rater comes closer to the human scores than another.

Each rater is compared with the best examiner, and with the length of the texts as a score. A comparison uses the texts
that both raters have graded (`gre_bench.stats.correlation`). Holm's correction is made twice: over the comparisons with
the best examiner, and over the comparisons with length. The best examiner is chosen on the same texts, which favours it
slightly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gre_bench.examiners.results.column import Column
from gre_bench.examiners.results.outcomes import ExaminerResult
from gre_bench.stats.correlation import compare
from gre_bench.stats.effects import holm

LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two raters in how closely they follow the human scores.

    - *family*: whether *second* is the ``best`` examiner or the ``length`` of the texts.
    - *items*: the number of texts that both raters graded.
    - *difference*: Kendall's tau of *first* minus that of *second*.
    - *low*, *high*: the 95% interval of the difference.
    - *p*: the p-value of the difference.
    - *p_holm*: *p* after Holm's correction over all comparisons of the *family*.
    - *problem*: the reason why there is no difference.
    """

    family: Literal["best", "length"]
    first: str
    second: str
    items: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    problem: str | None = None


def differences(
    columns: Sequence[Column],
    outcomes: Sequence[ExaminerResult],
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Difference]:
    """Compares every rater with the best examiner, and with the column of text lengths if there is one.

    - *columns*: the grades by each rater.
    - *outcomes*: the result of each rater, in the same order.
    - *human*: the human score of each text, by the text's id.
    - *groups*: the group of each text, such as its source; the bootstrap resamples whole groups.
    """
    ranked = [
        (outcome.kendall.value, index)
        for index, outcome in enumerate(outcomes)
        if outcome.kendall and outcome.kind == "examiner"
    ]
    by_length = next((column for column in columns if column.kind == "baseline" and column.name == LENGTH), None)
    out: list[Difference] = []
    if ranked:
        best = columns[max(ranked, key=lambda outcome: (outcome[0], -outcome[1]))[1]]
        out += _family("best", columns, best, human, groups, resamples, seed)
    if by_length is not None:
        out += _family("length", columns, by_length, human, groups, resamples, seed)
    return out


def _family(
    family: Literal["best", "length"],
    columns: Sequence[Column],
    other: Column,
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int,
    seed: int,
) -> list[Difference]:
    results = [
        _difference(family, column, other, human, groups, resamples, seed) for column in columns if column is not other
    ]
    tested = [difference for difference in results if difference.p is not None]
    adjusted = iter(holm([difference.p for difference in tested if difference.p is not None]))
    return [
        difference if difference.p is None else replace(difference, p_holm=next(adjusted)) for difference in results
    ]


def _difference(
    family: Literal["best", "length"],
    column: Column,
    other: Column,
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int,
    seed: int,
) -> Difference:
    mine, theirs = column.values, other.values
    both = [name for name in human if name in mine and name in theirs]
    row = Difference(family, column.title, other.title, len(both))
    try:
        test = compare(
            "kendall", [mine[name] for name in both], [theirs[name] for name in both], [human[name] for name in both],
            [groups[name] for name in both], resamples=resamples, seed=seed,
        )  # fmt: skip
    except ValueError as error:
        return replace(row, problem=str(error))
    return replace(row, difference=test.difference, low=test.low, high=test.high, p=test.p)
