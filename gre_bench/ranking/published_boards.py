"""Loads the numbers that Xu et al. 2025 print, and compares boards with them and with each other.

The numbers in ``data/published`` are those of tables 1 to 14 and of the running text. Boards are compared by rank
correlation.

Scores of different signatures are never mixed. Across signatures, only ranks are compared; scores are merely shown side
by side.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import locate_resource

FOLDER = locate_resource("data", "published")
LMS = {
    "table6": ("Llama-3.1-70B-Instruct", "openai/gpt-4o"),
    "table7": ("Llama-3.1-8B-Instruct", "openai/gpt-4o"),
    "table10": ("Llama-3.1-8B-Instruct", "meta-llama/llama-3.2-90b-vision-instruct"),
}
"""Published table that is a board → its evaluation LM and the writer of its judgments."""
SIZE = "parameters_billion"
"""The `PrintedOrComputedNumber.metric` of a model's size, which published boards print beside the scores."""


@dataclass(frozen=True, slots=True)
class PrintedOrComputedNumber:
    """A number that Xu et al. 2025 print, or a number of a run to compare with a printed one.

    - *item*: what the metric is applied to, such as a perturbation, a model or a benchmark.
    - *table*, *row*, *column*: where the number is printed, with the printed names.
    - *anomaly*: why the number should not be taken at face value, as a code of ``data/published/README.md``; empty if
      it may be. *note*: the reason in words.
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


def tables() -> tuple[str, ...]:
    """Returns the names of the published tables in the paper's order, ``table1`` to ``table14``, then ``text``."""
    return (*sorted((path.stem for path in FOLDER.glob("table*.csv")), key=lambda name: int(name[5:])), "text")


@cache
def load(table: str) -> tuple[PrintedOrComputedNumber, ...]:
    """Returns the numbers of *table* in printed order, row by row; raises `SettingsError` for an unknown table."""
    if table not in tables():
        raise SettingsError(
            f"no published table {table}; there are: {', '.join(tables())}; a study prints its tables itself, with the "
            "published values"
        )
    with (FOLDER / f"{table}.csv").open(encoding="utf-8", newline="") as lines:
        figures = []
        for row in csv.DictReader(lines, strict=True):
            low, high, p = (float(row[name]) if row[name] else None for name in ("low", "high", "p"))
            named = {name: row[name] for name in ("table", "row", "column", "anomaly", "note")}
            figures.append(
                PrintedOrComputedNumber(row["metric"], row["item"], float(row["value"]), low, high, p, **named)
            )
        return tuple(figures)


def load_printed_correlations(first: str, second: str) -> dict[str, float]:
    """Returns metric → Spearman's coefficient between two published boards, as printed in the running text.

    The order of the two boards does not matter. The result is empty if the text prints no coefficient for them.
    """
    pairs = {f"{first}~{second}", f"{second}~{first}"}
    return {figure.metric: figure.value for figure in load("text") if figure.item in pairs}


FEWEST = 3
"""The fewest models for which a correlation is computed."""


@dataclass(frozen=True, slots=True)
class BoardConsistency:
    """How well two boards agree on the ranks of the *n* models that are on both, by one metric.

    *spearman*, *p*: None if *n* is below `FEWEST`, or if all scores of these models on one board are equal.
    """

    metric: str
    n: int
    spearman: float | None
    p: float | None
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrintedAndComputed:
    """A printed number and the matching number of a run, for one metric and one item; one of the two may be missing.

    - *difference*: the run's value less the printed value.
    - *within*: whether each number's interval contains the other number. If only one has an interval, only this one is
      checked. None if neither has one.
    """

    metric: str
    item: str
    printed: PrintedOrComputedNumber | None
    found: PrintedOrComputedNumber | None
    difference: float | None = None
    within: bool | None = None


def compare_board_ranks(
    left: Iterable[PrintedOrComputedNumber], right: Iterable[PrintedOrComputedNumber]
) -> list[BoardConsistency]:
    """Returns, for each metric that two boards share, how well they agree on the ranks of models.

    See Xu et al. 2025, A.2 and A.3.
    """
    first, second = _group_by_metric(left), _group_by_metric(right)
    rows = []
    for metric in (name for name in first if name in second):
        a, b = first[metric], second[metric]
        shared = [model for model in a if model in b]
        rho, p = _compute_spearman([a[model] for model in shared], [b[model] for model in shared])
        apart = tuple(name for name in a if name not in b), tuple(name for name in b if name not in a)
        rows.append(BoardConsistency(metric, len(shared), rho, p, *apart))
    return rows


def compare_printed_with_computed(
    printed: Iterable[PrintedOrComputedNumber], computed: Iterable[PrintedOrComputedNumber]
) -> list[PrintedAndComputed]:
    """Returns the *printed* numbers beside the *computed* numbers of a run, one row for each metric and item.

    A number without a counterpart gets its own row. Rows with a printed number come first, in printed order.
    """
    left = {(figure.metric, figure.item): figure for figure in printed if figure.metric != SIZE}
    right = {(figure.metric, figure.item): figure for figure in computed}
    rows = []
    for key in dict.fromkeys((*left, *right)):
        first, second = left.get(key), right.get(key)
        if first is None or second is None:
            rows.append(PrintedAndComputed(*key, first, second))
            continue
        held = [
            figure.low <= other.value <= figure.high
            for figure, other in ((first, second), (second, first))
            if figure.low is not None and figure.high is not None
        ]
        rows.append(PrintedAndComputed(*key, first, second, second.value - first.value, all(held) if held else None))
    return rows


def _group_by_metric(figures: Iterable[PrintedOrComputedNumber]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for figure in figures:
        if figure.metric != SIZE:
            scores.setdefault(figure.metric, {})[figure.item] = figure.value
    return scores


def _compute_spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns Spearman's coefficient of *x* and *y*, and its two-sided p-value.

    Both are None for fewer than `FEWEST` values, or if *x* or *y* is constant. Only the p-value is None if it is
    undefined.
    """
    from scipy import stats

    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None, None
    result: Any = stats.spearmanr(x, y)
    p = float(result.pvalue)
    return float(result.statistic), p if math.isfinite(p) else None
