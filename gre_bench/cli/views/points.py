"""Prints the result of ``gre-bench study points``: one table per label."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from gre_bench.cli.views import screen
from gre_bench.core.metrics import recipe_of
from gre_bench.core.terminal import counted
from gre_bench.store import Row

NAMES = {
    "own": "a point's own information",
    "alone": "· of the point alone",
    "left_out": "· lost without it",
    "words": "words of the point",
    "place": "position in its review",
    "criticism": "share of criticism",
}


def show(summary: dict[str, Any]) -> None:
    """Prints how well each score tells points with a higher label from points with a lower one."""
    for label in summary["labels"]:
        screen.out.print(_table(label, summary["edition"]))
        if missing := label["labelled"] - label["points"]:
            screen.say(f"label {label['label']}: {counted(missing, 'point')} without a score, see below")
    if not summary["labels"]:
        screen.say(f"no label: none of the {counted(summary['points'], 'point')} has one")
    for row in summary["reasons"]:
        if row["reason"]:
            screen.say(f"{row['metric']}: {counted(row['pairs'], 'pair')} {row['state']}, {row['reason']}")
    for line in (*summary["notes"], summary["message"]):
        if line:
            screen.say(line)


def _table(label: Row, edition: str) -> Table:
    table = Table(
        title=f"{screen.escape(label['label'])} · {screen.escape(edition)}: {counted(label['points'], 'point')}, "
        f"{counted(label['levels'], 'value')}, {counted(label['papers'], 'paper')}",
        caption="AUC: of two points with different labels, how often the one with the higher label scores higher; .500 "
        "is chance. 95% intervals by paper. The last three rows read no human review",
    )
    for head in ("", "all points", "within papers"):
        table.add_column(head)
    rows = sorted(label["rows"], key=lambda row: row["metric"] is None)
    for row in rows:
        name = NAMES[row["score"]]
        if row["score"] == "own":
            table.add_section()
            name = f"{recipe_of(row['metric']).title}: {name}"
        elif row["metric"] is None and row["score"] == "words":
            table.add_section()
        table.add_row(name, shown_auc(row, ""), shown_auc(row, "within_"))
    return table


def shown_auc(row: Row, start: str) -> str:
    """Returns the AUC of *row* with its interval, or why there is none. *start*: empty, or ``within_``."""
    if row[f"{start}auc"] is None:
        return str(row[f"{start}problem"])
    auc, low, high = (f"{row[start + part]:.3f}".removeprefix("0") for part in ("auc", "low", "high"))
    return f"{auc} ({low}, {high})"
