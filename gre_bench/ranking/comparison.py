"""Compares numbers: two boards by rank correlation, a board with other benchmarks, a run with printed results.

Scores of different signatures are never mixed: ranks are compared, and values stand side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gre_bench.ranking.published import SIZE, Figure

FEWEST = 3
"""The fewest models for which a correlation is computed."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """Agreement of two boards on one metric over the *n* models that both have.

    *spearman* and its p-value *p* are None if *n* is below `FEWEST`, or if all scores of a board are equal.
    *only_first* and *only_second*: the models that only the first or only the second board has.
    """

    metric: str
    n: int
    spearman: float | None
    p: float | None
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkCorrelation:
    """Correlations of a board's *metric* with another *benchmark*, over the *n* models that have both.

    *left_out*: the number of models of the board for which the benchmark has no value.
    """

    metric: str
    benchmark: str
    n: int
    left_out: int
    spearman: float | None
    pearson: float | None


@dataclass(frozen=True, slots=True)
class Beside:
    """One *metric* on one *item*: the *printed* figure and the figure *found* in a run. Either may be None.

    *difference*: found − printed, None if either is missing.

    *overlap*: whether the two intervals meet; None if one interval is not given. *within*: whether each given interval
    holds the value of the other figure; None if no interval is given.
    """

    metric: str
    item: str
    printed: Figure | None
    found: Figure | None
    difference: float | None
    overlap: bool | None
    within: bool | None


def consistency(one: Iterable[Figure], other: Iterable[Figure]) -> list[Consistency]:
    """Returns Spearman's coefficient between two boards for each metric that both have (Xu et al. 2025, A.2, A.3)."""
    first, second = _by_metric(one), _by_metric(other)
    found = []
    for metric in (name for name in first if name in second):
        a, b = first[metric], second[metric]
        shared = [model for model in a if model in b]
        rho, p = _spearman([a[model] for model in shared], [b[model] for model in shared])
        apart = tuple(name for name in a if name not in b), tuple(name for name in b if name not in a)
        found.append(Consistency(metric, len(shared), rho, p, *apart))
    return found


def with_benchmarks(
    board: Iterable[Figure], benchmarks: Mapping[str, Mapping[str, float]]
) -> list[BenchmarkCorrelation]:
    """Returns the correlations of each metric of *board* with each benchmark (Xu et al. 2025, table 5).

    *benchmarks*: benchmark → model → value.
    """
    found = []
    for metric, scores in _by_metric(board).items():
        for name, values in benchmarks.items():
            shared = [model for model in scores if model in values]
            x, y = [scores[model] for model in shared], [values[model] for model in shared]
            rho, left = _spearman(x, y)[0], len(scores) - len(shared)
            found.append(BenchmarkCorrelation(metric, name, len(shared), left, rho, _pearson(x, y)))
    return found


def beside(printed: Iterable[Figure], found: Iterable[Figure]) -> list[Beside]:
    """Returns printed and found figures side by side: one row for each metric and item that either has.

    The rows of printed figures come first, in their order.
    """
    left = {(figure.metric, figure.item): figure for figure in printed if figure.metric != SIZE}
    right = {(figure.metric, figure.item): figure for figure in found}
    return [_beside(key, left.get(key), right.get(key)) for key in dict.fromkeys((*left, *right))]


def _beside(key: tuple[str, str], printed: Figure | None, found: Figure | None) -> Beside:
    if printed is None or found is None:
        return Beside(*key, printed, found, None, None, None)
    overlap: bool | None = None
    if printed.low is not None and printed.high is not None and found.low is not None and found.high is not None:
        overlap = printed.low <= found.high and found.low <= printed.high
    held = [
        one.low <= other.value <= one.high
        for one, other in ((printed, found), (found, printed))
        if one.low is not None and one.high is not None
    ]
    return Beside(*key, printed, found, found.value - printed.value, overlap, all(held) if held else None)


def _by_metric(figures: Iterable[Figure]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for figure in figures:
        if figure.metric != SIZE:
            scores.setdefault(figure.metric, {})[figure.item] = figure.value
    return scores


def _spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns Spearman's coefficient and its two-sided p-value (t approximation); None where it is not defined."""
    from scipy.stats import spearmanr

    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None, None
    found: Any = spearmanr(x, y)
    rho, p = float(found.statistic), float(found.pvalue)
    return rho, p if math.isfinite(p) else None


def _pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    from scipy.stats import pearsonr

    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    found: Any = pearsonr(x, y)
    return float(found.statistic)
