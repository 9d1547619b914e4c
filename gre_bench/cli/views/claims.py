"""Prints the verdicts of ``gre-bench study claims``; claims with a clear verdict come first."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from gre_bench.cli.views import screen

_ORDER = ("holds", "does not hold", "cannot be told")


def show(report: dict[str, Any], details: bool) -> None:
    """Prints one line for each claim, with its verdict.

    With *details*, it also prints the text of the claim, its source, and every comparison behind the verdict.
    """

    def key(row: dict[str, Any]) -> tuple[int, str, str]:
        return _ORDER.index(row["verdict"]), row["claim"], "" if row["contrasts"] else row["why"]

    for _, group in groupby(sorted(report["claims"], key=key), key=key):
        rows = list(group)
        first = rows[0]
        metrics = ", ".join(row["metric"] for row in rows)
        needs = max((row["needed"] or 0 for row in rows), default=0)
        more = [first["why"]] if first["why"] else []
        more += [f"{needs:,} would tell, if further scores are like these"] if needs else []
        screen.say(f"{first['verdict']}: {first['claim']} ({metrics})" + (f": {'; '.join(more)}" if more else ""))
        if details:
            screen.say(f"  {first['says']} {first['paper']}, {first['where']}. {first['note']}".rstrip())
            for row in rows:
                for contrast in row["contrasts"]:
                    interval = f"{contrast['low']:+.3f} to {contrast['high']:+.3f}"
                    n = f", n {contrast['n']}" if contrast["n"] else ""
                    screen.say(f"  {row['metric']}: {contrast['name']}: {contrast['value']:+.3f} ({interval}){n}")
    screen.say(f"{report['of']}: {report['line']}")
