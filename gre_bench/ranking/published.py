"""The printed numbers of Xu et al. 2025 (``data/published``: tables 1 to 14, running text), and boards beside them.

Boards are compared with each other by rank correlation, with other benchmarks, and with printed results.

Scores of different signatures are never mixed. Across signatures, only ranks are compared; scores are merely shown side
by side.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import resource

Kind = Literal["grades", "effects", "benchmarks", "board", "text"]

_KINDS: dict[str, Kind] = {
    "table1": "grades",
    "table5": "benchmarks",
    "table6": "board",
    "table7": "board",
    "table10": "board",
    "text": "text",
}
LMS = {
    "table6": ("Llama-3.1-70B-Instruct", "openai/gpt-4o"),
    "table7": ("Llama-3.1-8B-Instruct", "openai/gpt-4o"),
    "table10": ("Llama-3.1-8B-Instruct", "meta-llama/llama-3.2-90b-vision-instruct"),
}
"""The evaluation LM and the writer of the judgments of each published board."""
SIZE = "parameters_billion"
"""The `metric` name of the model sizes that a board prints beside the scores."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that a paper prints, or the number of a run to be set beside it.

    - *metric*: the metric, such as ``gem_s_abstract``.
    - *item*: what the metric is applied to, such as a change, a model or a benchmark.
    - *value*: the number. *low*, *high*: the ends of its interval, None if there is no interval.
    - *p*: the number's p-value, None if there is none.
    - *table*, *row*, *column*: where the number is printed, with the names as printed.
    - *anomaly*: the code of a reason not to take the number at face value, as listed in ``data/published/README.md``.
    - *note*: that reason in words.
    """

    metric: str
    item: str
    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    table: str = ""
    row: str = ""
    column: str = ""
    anomaly: str = ""
    note: str = ""


def folder() -> Path:
    """Returns the folder of the published tables."""
    return resource("data", "published")


def tables() -> tuple[str, ...]:
    """Returns the names of the published tables in the paper's order, ``table1`` to ``table14``, then ``text``."""
    return (*sorted((path.stem for path in folder().glob("table*.csv")), key=lambda name: int(name[5:])), "text")


def kind(table: str) -> Kind:
    """Returns what the numbers of *table* are about.

    - ``grades``: correlations with human grades;
    - ``effects``: effects of changes of reviews;
    - ``benchmarks``: correlations with other benchmarks;
    - ``board``: scores of models;
    - ``text``: numbers of several kinds, from the running text.
    """
    return _KINDS.get(table, "effects")


@cache
def load(table: str) -> tuple[Figure, ...]:
    """Returns the figures of *table* in printed order, row by row.

    Raises `SettingsError`, which lists the published tables, if *table* is none of them.
    """
    if table not in tables():
        raise SettingsError(f"no published table {table}; there are: {', '.join(tables())}")
    with (folder() / f"{table}.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(map(_figure, csv.DictReader(lines, strict=True)))


def printed_consistency(first: str, second: str) -> dict[str, float]:
    """Returns metric → Spearman's coefficient that the running text prints between two published boards.

    *first*, *second*: the names of the two tables, in any order. The result is empty if the text prints no coefficient
    for these two.
    """
    pairs = {f"{first}~{second}", f"{second}~{first}"}
    return {figure.metric: figure.value for figure in load("text") if figure.item in pairs}


def _figure(row: dict[str, str]) -> Figure:
    low, high, p = (float(row[name]) if row[name] else None for name in ("low", "high", "p"))
    named = {name: row[name] for name in ("table", "row", "column", "anomaly", "note")}
    return Figure(row["metric"], row["item"], float(row["value"]), low, high, p, **named)


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
