"""Prints a validation in the layout of table 2 of Xu et al. 2025: a row per metric, a column per change."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from gre_bench.changes.catalog import CHANGES
from gre_bench.cli.views import screen
from gre_bench.core.metrics import in_order, recipe_of

Row = dict[str, Any]
_COLOUR = {"pass": "green", "fail": "red", "undecided": "yellow"}
_MARK = {"pass": "✓", "fail": "✗", "undecided": "?"}


def show(summary: dict[str, Any]) -> None:
    """Prints the effect of each change on the scores, the verdict on each metric, and why pairs have no score."""
    for family in ("degradation", "manipulation"):
        rows = [row for row in summary["effects"] if row["family"] == family]
        if rows:
            screen.out.print(_table(family, rows))
    screen.out.print(_verdicts(summary))
    if summary["untried"]:
        screen.say(f"no metric can pass before these are tried too: {', '.join(summary['untried'])}")
    screen.show_reasons(summary["reasons"])
    for note in summary["notes"]:
        screen.say(note)
    if summary["message"]:
        screen.say(summary["message"])


def _table(family: str, rows: list[Row]) -> Table:
    aim = "must fall" if family == "degradation" else "must not rise"
    table = Table(
        title=f"Standardised mean difference d after {family}s: scores {aim}",
        caption="d (95% interval by paper) · with length held fixed · verdict: ✓ pass, ✗ fail, ? undecided",
    )
    table.add_column("Metric")
    changes = [name for name in CHANGES if any(row["change"] == name for row in rows)]
    for name in changes:
        table.add_column(CHANGES[name].title, justify="right")
    cells = {(row["metric"], row["change"]): row for row in rows}
    for metric in in_order(row["metric"] for row in rows):
        table.add_row(screen.escape(recipe_of(metric).title), *(_cell(cells.get((metric, name))) for name in changes))
    return table


def _cell(row: Row | None) -> str:
    if row is None:
        return "–"
    if row["d"] is None:
        return f"[yellow]?[/yellow] {screen.escape(_short(row['problem']))}"
    colour = _COLOUR[row["verdict"]]
    held = f"\n[dim]{row['length_d']:+.3f} at length[/dim]" if row["length_d"] is not None else ""
    few = f"\n[dim]{row['pairs']} of {row['planned']} pairs[/dim]" if row["pairs"] < row["planned"] else ""
    plain = f"[{colour}]{row['d']:+.3f} {_MARK[row['verdict']]}[/{colour}]"
    return f"{plain}\n({row['low']:+.3f}, {row['high']:+.3f}){held}{few}"


def _short(problem: str) -> str:
    return problem.rpartition(": ")[2]


def _verdicts(summary: dict[str, Any]) -> Table:
    table = Table(
        title=screen.escape(f"Verdicts on {summary['edition']}, {summary['papers']} papers, writer {summary['writer']}")
    )
    for name in ("Metric", "Verdict", "By the paper's rule", "Not passed", "Same v. other paper (AUC)"):
        table.add_column(name)
    signature = {row["signature_id"]: row for row in summary["separations"]}
    for row in summary["verdicts"]:
        mine = [effect for effect in summary["effects"] if effect["metric"] == row["metric"]]
        wanting = ", ".join(
            f"{effect['change']} {_MARK[effect['verdict']]}" for effect in mine if effect["verdict"] != "pass"
        )
        apart = signature.get(row["signature_id"])
        auc = f"{apart['auc']:.3f} ({apart['low']:.3f}, {apart['high']:.3f})" if apart else "–"
        colour = _COLOUR[row["verdict"]]
        verdict = f"[{colour}]{row['verdict']}[/{colour}]"
        wanting = wanting or ("–" if mine else "no change applies")
        table.add_row(screen.escape(row["title"]), verdict, row["paper_verdict"], wanting, auc)
    return table
