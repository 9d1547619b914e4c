"""Prints the verdicts of ``gre-bench study claims``; claims with a clear verdict come first."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from gre_bench.board.words import p_value
from gre_bench.cli.views import screen

_ORDER = ("holds", "does not hold", "cannot be told")


def show(report: dict[str, Any], details: bool) -> None:
    """Prints each claim with its verdict under each metric: the deciding difference, its 95% interval and p.

    With *details*, it also prints the text of the claim, its source, and every comparison behind the verdict.
    """

    def key(row: dict[str, Any]) -> tuple[int, str, str]:
        return _ORDER.index(row["verdict"]), row["claim"], "" if row["contrasts"] else row["why"]

    for _, group in groupby(sorted(report["claims"], key=key), key=key):
        rows = list(group)
        first = rows[0]
        if not first["contrasts"]:
            metrics = ", ".join(row["metric"] for row in rows)
            screen.say(f"{first['verdict']}: {first['claim']} ({metrics}): {first['why']}")
            rows = []
        else:
            screen.say(f"{first['verdict']}: {first['claim']}")
        if details:
            screen.say(f"  {first['says']} {first['paper']}, {first['where']}. {first['note']}".rstrip())
        for row in rows:
            count, deciding = len(row["contrasts"]), row["contrasts"][row["deciding"]]
            among = f", of {count}" if count > 1 else ""
            more = [row["why"]] if row["why"] else []
            more += [f"{row['needed']:,} would tell, if further scores are like these"] if row["needed"] else []
            screen.say(f"  {row['metric']}: {_difference(deciding)}{among}; p {p_value(row['p'])}" + "".join(
                f"; {text}" for text in more
            ))  # fmt: skip
            for contrast in row["contrasts"] if details and count > 1 else ():
                screen.say(f"    {_difference(contrast)}")
    tests = max((row["tests"] for row in report["claims"] if row["contrasts"]), default=0)
    screen.say(f"p: Holm-corrected over {tests} tests, of claims and metrics; 95% intervals are not corrected")
    screen.say(f"{report['of']}: {report['line']}")


def _difference(contrast: dict[str, Any]) -> str:
    n = f", n {contrast['n']}" if contrast["n"] else ""
    return f"{contrast['name']} {contrast['value']:+.3f} ({contrast['low']:+.3f}, {contrast['high']:+.3f}){n}"
