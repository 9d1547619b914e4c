"""Reads the numbers that Xu et al. 2025 prints in tables 1 to 14 and in its running text, from ``data/published``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

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
