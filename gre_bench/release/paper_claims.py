"""The papers' claims as a page shows them: claims that this board answers first, each with its tests by metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.release.pages.board import Board
from gre_bench.release.pages.contents import ClaimLine, ClaimTest

VERDICTS = ("holds", "does not hold", "cannot be told")


def claim_lines(about: Mapping[str, Any], found: Sequence[Board]) -> tuple[ClaimLine, ...]:
    """Returns a line for each claim of the manifest *about* that was tested under a metric of the boards *found*."""
    titles = {board.metric: board.title for board in found}
    lines: dict[str, ClaimLine] = {}
    for row in about.get("claims", ()):
        if row["metric"] not in titles:
            continue
        test = ClaimTest(
            titles[row["metric"]], row["verdict"], row["needed"], row["why"],
            tuple((one["name"], one["value"], one["low"], one["high"], one["n"]) for one in row["comparisons"]),
        )  # fmt: skip
        line = lines.get(row["claim"])
        source = f"{row['paper']}, {row['where']}"
        tests = (*(line.tests if line else ()), test)
        lines[row["claim"]] = ClaimLine(row["says"], source, row["note"], tests)
    return tuple(sorted(lines.values(), key=lambda line: min(VERDICTS.index(test.verdict) for test in line.tests)))
