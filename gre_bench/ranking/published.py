"""Reads the numbers printed in Xu et al. 2025, from ``data/published``: tables 1 to 14, and the running text."""

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
    """A printed number: the *metric* of an *item* (a change, a model, a benchmark), and its position in the paper.

    *low* and *high*: ends of the number's interval. *p*: its p-value. *table*, *row* and *column*: its position, with
    the names as printed. *anomaly*: the code of a reason not to take the number at face value
    (``data/published/README.md``). *note*: that reason in words.
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
    """Returns the names of the published tables, in the paper's order, the running text last."""
    return (*sorted((path.stem for path in folder().glob("table*.csv")), key=lambda name: int(name[5:])), "text")


def kind(table: str) -> Kind:
    """Returns the kind of items in *table*: grades, effects of changes, benchmarks, models (a board), or a mix."""
    return _KINDS.get(table, "effects")


@cache
def load(table: str) -> tuple[Figure, ...]:
    """Returns the figures of *table* in printed order, row by row.

    Raises `SettingsError` for an unknown table, with the names of the known ones.
    """
    if table not in tables():
        raise SettingsError(f"no published table {table}; there are: {', '.join(tables())}")
    with (folder() / f"{table}.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(map(_figure, csv.DictReader(lines, strict=True)))


def printed_consistency(one: str, other: str) -> dict[str, float]:
    """Returns Spearman's coefficient that the running text prints between two published boards, by metric.

    *one*, *other*: names of tables. The result is empty if the text prints no coefficient for them.
    """
    pairs = {f"{one}~{other}", f"{other}~{one}"}
    return {figure.metric: figure.value for figure in load("text") if figure.item in pairs}


def _figure(row: dict[str, str]) -> Figure:
    low, high, p = (float(row[name]) if row[name] else None for name in ("low", "high", "p"))
    named = {name: row[name] for name in ("table", "row", "column", "anomaly", "note")}
    return Figure(row["metric"], row["item"], float(row["value"]), low, high, p, **named)
