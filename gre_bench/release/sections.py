"""Reads two sections of a page: strata of an edition's papers, and tests of published claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import duckdb

from gre_bench.release.database import rows
from gre_bench.release.pages.board import Board
from gre_bench.release.pages.contents import ClaimLine, ClaimTest, Stratum, StratumCell

VERDICTS = ("holds", "does not hold", "cannot be told")


def strata(connection: duckdb.DuckDBPyConnection) -> tuple[Stratum, ...]:
    """Returns the strata of the sampled papers; *connection* is to the release's database.

    A stratum gets tables of scores if its papers have at least two different values.
    """
    sections = []
    for name, group in groupby(rows(connection, "strata"), key=lambda row: row["stratum"]):
        own = list(group)
        values = dict.fromkeys((row["value"], row["sampled"]) for row in own)
        titles = dict.fromkeys(row["title"] for row in own) if len(values) > 1 else ()
        tables = []
        for title in titles:
            titled = [row for row in own if row["title"] == title]
            cells = {(row["candidate"], row["value"]): StratumCell(row["score"], row["high"]) for row in titled}
            names = dict.fromkeys(row["candidate"] for row in titled)
            tables.append(
                (
                    title,
                    tuple(
                        (candidate, tuple(cells.get((candidate, value)) for value, _ in values)) for candidate in names
                    ),
                )
            )
        sections.append(Stratum(name, tuple(values), tuple(tables)))
    return tuple(sections)


def claim_lines(about: Mapping[str, Any], boards: Sequence[Board]) -> tuple[ClaimLine, ...]:
    """Returns a line for each published claim that was tested under a metric of *boards*.

    *about*: the release's manifest, which holds the tests. Claims that hold under some metric come first.
    """
    titles = {board.metric: board.title for board in boards}
    lines: dict[str, ClaimLine] = {}
    for row in about.get("claims", ()):
        if row["metric"] not in titles:
            continue
        test = ClaimTest(
            titles[row["metric"]], row["verdict"], row["needed"], row["why"], row.get("p"), row.get("deciding"),
            tuple((contrast["name"], contrast["value"], contrast["low"], contrast["high"], contrast["n"])
                  for contrast in row["comparisons"]),
        )  # fmt: skip
        line = lines.get(row["claim"])
        source = f"{row['paper']}, {row['where']}"
        tests = (*(line.tests if line else ()), test)
        lines[row["claim"]] = ClaimLine(row["says"], source, row["note"], tests)
    return tuple(sorted(lines.values(), key=lambda line: min(VERDICTS.index(test.verdict) for test in line.tests)))
