"""Reads the published tables of Kim et al. 2023 (``data/published/001_*.csv``) and Kotonya et al. (``003_*.csv``)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from gre_bench.core.resources import resource


@dataclass(frozen=True, slots=True)
class Printed:
    """A number printed in a paper: Kendall's tau, or a percentage in ``001_table9``.

    - *digits*: the number of printed decimals.
    - *items*: the number of graded texts behind the number.
    - *anomaly*: a code if the printed number is doubtful; *note*: the explanation. Both are usually empty.
    """

    row: str
    column: str
    value: float
    digits: int
    items: int
    anomaly: str = ""
    note: str = ""


@cache
def printed(table: str) -> tuple[Printed, ...]:
    """Returns the printed numbers of *table*, such as ``001_table1``, row by row."""
    path = resource("data", "published", f"{table}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(map(_printed, csv.DictReader(lines, strict=True)))


def _printed(row: dict[str, str]) -> Printed:
    digits = len(row["value"].partition(".")[2])
    return Printed(row["row"], row["column"], float(row["value"]), digits, int(row["n"]), row["anomaly"], row["note"])
