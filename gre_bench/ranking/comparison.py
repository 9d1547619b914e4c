"""Compares boards: with each other by rank correlation, with other benchmarks, and with printed results.

Scores of different signatures are never mixed. Across signatures, only ranks are compared; scores are merely shown side
by side.
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
    """How well two boards agree on the ranks of models, by one metric.

    - *metric*: the name of the metric.
    - *n*: the number of models on both boards.
    - *spearman*, *p*: Spearman's coefficient over these models and its p-value. Both are None if *n* is below `FEWEST`,
      or if all their scores on one board are equal.
    - *only_first*, *only_second*: the models on the first board only, and on the second board only.
    """

    metric: str
    n: int
    spearman: float | None
    p: float | None
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkCorrelation:
    """How closely the models' scores on a board follow their values on another benchmark.

    - *metric*: the metric of the board. *benchmark*: the name of the other benchmark.
    - *n*: the number of models with both a score and a benchmark value.
    - *left_out*: the number of models on the board without a benchmark value.
    - *spearman*, *pearson*: the coefficients over the *n* models; None if *n* is below `FEWEST` or a variable is
      constant.
    """

    metric: str
    benchmark: str
    n: int
    left_out: int
    spearman: float | None
    pearson: float | None


@dataclass(frozen=True, slots=True)
class Beside:
    """A printed figure beside the figure of a run, for one metric and one item (such as a model or a change).

    - *printed*, *found*: the figure that the paper prints, and that of the run. Either may be None.
    - *difference*: the value found less the value printed; None if a figure is missing.
    - *overlap*: whether the intervals of the two figures overlap; None if either has no interval.
    - *within*: whether each figure's interval contains the other figure's value. A figure without an interval is not
      checked; None if neither has one.
    """

    metric: str
    item: str
    printed: Figure | None
    found: Figure | None
    difference: float | None
    overlap: bool | None
    within: bool | None


def consistency(left: Iterable[Figure], right: Iterable[Figure]) -> list[Consistency]:
    """Returns how well two boards agree on the ranks of models, one row per metric that is on both boards.

    *left*, *right*: the figures of each board, where items are models. Source: Xu et al. 2025, A.2 and A.3.
    """
    first, second = _by_metric(left), _by_metric(right)
    rows = []
    for metric in (name for name in first if name in second):
        a, b = first[metric], second[metric]
        shared = [model for model in a if model in b]
        rho, p = _spearman([a[model] for model in shared], [b[model] for model in shared])
        apart = tuple(name for name in a if name not in b), tuple(name for name in b if name not in a)
        rows.append(Consistency(metric, len(shared), rho, p, *apart))
    return rows


def with_benchmarks(
    board: Iterable[Figure], benchmarks: Mapping[str, Mapping[str, float]]
) -> list[BenchmarkCorrelation]:
    """Returns the correlations of each metric of *board* with each benchmark (Xu et al. 2025, table 5).

    *board*: the board's figures, each of one metric and one model. *benchmarks*: benchmark → model → value.
    """
    rows = []
    for metric, scores in _by_metric(board).items():
        for name, values in benchmarks.items():
            shared = [model for model in scores if model in values]
            x, y = [scores[model] for model in shared], [values[model] for model in shared]
            rho, left = _spearman(x, y)[0], len(scores) - len(shared)
            rows.append(BenchmarkCorrelation(metric, name, len(shared), left, rho, _pearson(x, y)))
    return rows


def beside(printed: Iterable[Figure], computed: Iterable[Figure]) -> list[Beside]:
    """Returns the *printed* figures beside the *computed* figures of a run, one row for each metric and item.

    A figure without a counterpart has a row of its own. Rows with a printed figure come first, in printed order.
    """
    left = {(figure.metric, figure.item): figure for figure in printed if figure.metric != SIZE}
    right = {(figure.metric, figure.item): figure for figure in computed}
    return [_beside(key, left.get(key), right.get(key)) for key in dict.fromkeys((*left, *right))]


def _beside(key: tuple[str, str], printed: Figure | None, computed: Figure | None) -> Beside:
    if printed is None or computed is None:
        return Beside(*key, printed, computed, None, None, None)
    overlap: bool | None = None
    if printed.low is not None and printed.high is not None and computed.low is not None and computed.high is not None:
        overlap = printed.low <= computed.high and computed.low <= printed.high
    held = [
        first.low <= second.value <= first.high
        for first, second in ((printed, computed), (computed, printed))
        if first.low is not None and first.high is not None
    ]
    return Beside(*key, printed, computed, computed.value - printed.value, overlap, all(held) if held else None)


def _by_metric(figures: Iterable[Figure]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for figure in figures:
        if figure.metric != SIZE:
            scores.setdefault(figure.metric, {})[figure.item] = figure.value
    return scores


def _spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns Spearman's coefficient of *x* and *y*, and its two-sided p-value (t approximation).

    Both are None for fewer than `FEWEST` values, or if *x* or *y* is constant. The p-value alone is None if it is
    undefined.
    """
    from scipy.stats import spearmanr

    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None, None
    result: Any = spearmanr(x, y)
    rho, p = float(result.statistic), float(result.pvalue)
    return rho, p if math.isfinite(p) else None


def _pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    from scipy.stats import pearsonr

    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    result: Any = pearsonr(x, y)
    return float(result.statistic)
