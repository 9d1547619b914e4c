"""Reads tables 1 and 2 of the guideline paper (`gre_bench.guidelines`) from ``data/published/002_table*.csv``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gre_bench.core.resources import resource


@dataclass(frozen=True, slots=True)
class Printed:
    """An RMSE printed in the guideline paper, with its row and column.

    - *papers*: the number of papers behind the RMSE.
    - *anomaly*: a code if the printed number is doubtful; *note*: the explanation. Both are empty for most cells.
    """

    row: str
    column: str
    value: float
    papers: int
    anomaly: str = ""
    note: str = ""


@cache
def printed(table: Literal[1, 2]) -> tuple[Printed, ...]:
    """Returns the cells of *table* (1 or 2), row by row.

    The names of rows are like ``official: MODEL`` in table 1, and like ``MODEL: w/o Rubric`` in table 2.
    """
    path = resource("data", "published", f"002_table{table}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(map(_printed, csv.DictReader(lines, strict=True)))


def _printed(row: dict[str, str]) -> Printed:
    return Printed(row["row"], row["column"], float(row["value"]), int(row["n"]), row["anomaly"], row["note"])
