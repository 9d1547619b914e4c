"""Prints the results of ``gre-bench study agree``, ``symmetry`` and ``points``: figures with their intervals."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from gre_bench.cli.views import screen
from gre_bench.core.metrics import in_order, recipe_of
from gre_bench.core.terminal import counted
from gre_bench.store import Row

_NAMES = {"spearman": "Spearman's ρ", "kendall": "Kendall's τ-b", "pearson": "Pearson's r"}


def show(summary: dict[str, Any]) -> None:
    """Prints the results of ``study agree``: one table per coefficient, then how many pairs have no score and why."""
    for kind, name in _NAMES.items():
        rows = [row for row in summary["agreements"] if row["kind"] == kind]
        screen.out.print(_table(name, rows, summary))
    lacking = [row for row in summary["reasons"] if row["reason"]]
    for row in lacking:
        screen.say(f"{row['metric']}: {counted(row['pairs'], 'pair')} {row['state']}, {row['reason']}")
    for note in summary["notes"]:
        screen.say(note)
    if summary["message"]:
        screen.say(summary["message"])


def show_symmetry(summary: dict[str, Any]) -> None:
    """Prints the results of ``study symmetry``: the correlations, and the numbers of pairs and papers behind them."""
    table = Table(
        title=f"Symmetry of {screen.escape(summary['evaluation_lm'])} on {screen.escape(summary['edition'])}",
        caption="Spearman over pairs of human reviews; 95% intervals, papers resampled. Xu et al. 2025, A.5: 0.943 as "
        "printed, over 5,328 ordered pairs",
    )
    for head in ("Quantities", "ρ", "95%", "pairs", "papers"):
        table.add_column(head)
    named = {
        "joint": "log P(x) + log P(y|x) against log P(y) + log P(x|y)",
        "printed": "as printed: log P(x) + log P(x|y) against log P(y) + log P(y|x)",
        "joint_ordered": "the first, each pair in both orders",
        "printed_ordered": "as printed, each pair in both orders (the paper's)",
    }
    for name, title in named.items():
        row = summary["symmetry"][name]
        interval = f"({row['low']:.3f}, {row['high']:.3f})"
        table.add_row(title, f"{row['value']:.3f}", interval, str(row["items"]), str(row["groups"]))
    screen.out.print(table)
    for line in (*summary["notes"], summary["message"]):
        if line:
            screen.say(line)


def _table(name: str, rows: list[Row], summary: dict[str, Any]) -> Table:
    table = Table(
        title=f"{name} with the grades · {screen.escape(summary['edition'])}, {counted(summary['items'], 'item')}",
        caption=f"95% intervals, items resampled · judgments by {screen.escape(summary['writer'])}",
    )
    for head in ("Metric", "all reviews", "p", "within items", "length held fixed", "less that of length", "n"):
        table.add_column(head, justify="left" if head == "Metric" else "right")
    order = in_order(row["metric"] for row in rows)
    for row in sorted(rows, key=lambda row: order.index(row["metric"])):
        title = recipe_of(row["metric"]).title
        if row["value"] is None:
            table.add_row(title, screen.escape(row["problem"]), "–", "–", "–", "–", str(row["reviews"]))
            continue
        table.add_row(
            title, _cell(row, "value", "low", "high"), f"{row['p']:.1e}",
            *(_cell(row, kind, f"{kind}_low", f"{kind}_high") for kind in ("within", "at_length", "over_length")),
            str(row["reviews"]),
        )  # fmt: skip
    return table


def _cell(row: Row, value: str, low: str, high: str) -> str:
    return "–" if row[value] is None else f"{row[value]:+.3f} ({row[low]:+.3f}, {row[high]:+.3f})"


SCORE_NAMES = {
    "own": "a point's own information",
    "alone": "· of the point alone",
    "left_out": "· lost without it",
    "words": "words of the point",
    "place": "position in its review",
    "criticism": "share of criticism",
}


def show_points(summary: dict[str, Any]) -> None:
    """Prints how well each score tells points with a higher label from points with a lower one."""
    for label in summary["labels"]:
        screen.out.print(_of_label(label, summary["edition"]))
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


def _of_label(label: Row, edition: str) -> Table:
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
        name = SCORE_NAMES[row["score"]]
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
    if row[f"{start}low"] is None:
        return f"{row[f'{start}auc']:.3f}".removeprefix("0") + ", no interval"
    auc, low, high = (f"{row[start + part]:.3f}".removeprefix("0") for part in ("auc", "low", "high"))
    return f"{auc} ({low}, {high})"
