"""Reads the tables of published numbers in ``data/published``; the README in that folder describes them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from gre_bench.core.resources import locate_resource


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A number printed in a paper, with *digits* decimals. *items*: how many texts or papers the number is based on.

    *anomaly*: a code for what makes the number doubtful. *note*: the explanation. Both are usually empty.
    """

    row: str
    column: str
    value: float
    digits: int
    items: int
    anomaly: str = ""
    note: str = ""


@cache
def read_printed_numbers(table: str) -> tuple[PrintedNumber, ...]:
    """Returns the numbers printed in *table*, such as ``001_table1``, row by row."""
    with locate_resource("data", "published", f"{table}.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(
            PrintedNumber(row["row"], row["column"], float(row["value"]), len(row["value"].partition(".")[2]),
                    int(row["n"]), row["anomaly"], row["note"])
            for row in csv.DictReader(lines, strict=True)
        )  # fmt: skip
