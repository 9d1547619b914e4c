"""What ``gre-bench study claims`` shows: the verdicts, those that say something first."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from gre_bench.cli.views import screen

_ORDER = ("holds", "does not hold", "cannot be told")


def show(found: dict[str, Any], details: bool) -> None:
    """One line a claim and verdict; with *details* its words, its source, and every comparison."""

    def key(row: dict[str, Any]) -> tuple[int, str, str]:
        return _ORDER.index(row["verdict"]), row["claim"], "" if row["contrasts"] else row["why"]

    for _, group in groupby(sorted(found["claims"], key=key), key=key):
        rows = list(group)
        first = rows[0]
        metrics = ", ".join(row["metric"] for row in rows)
        needs = max((row["needed"] or 0 for row in rows), default=0)
        more = [first["why"]] if first["why"] else []
        more += [f"{needs:,} would tell, if all goes on as here"] if needs else []
        screen.say(f"{first['verdict']}: {first['claim']} ({metrics})" + (f": {'; '.join(more)}" if more else ""))
        if details:
            screen.say(f"  {first['says']} {first['paper']}, {first['where']}. {first['note']}".rstrip())
            for row in rows:
                for one in row["contrasts"]:
                    between = f"{one['low']:+.3f} to {one['high']:+.3f}"
                    screen.say(f"  {row['metric']}: {one['name']}: {one['value']:+.3f} ({between}), n {one['n']}")
    screen.say(f"{found['of']}: {found['line']}")
