"""Prints the results of ``gre-bench study guidelines``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table as Shown

from gre_bench.cli.views import screen
from gre_bench.guidelines.tables import Table, layout
from gre_bench.studies.guidelines.results import (
    CLOSE,
    GIVEN,
    LEGEND,
    WORDS,
    close_cells,
    given_rows,
    marked,
    outcomes_of,
    without_rating,
    yardstick_lines,
    yardstick_of,
)

Row = dict[str, Any]


def show(summary: Row) -> None:
    """Prints the results of a comparison of guidelines, and the folder with the study's files.

    The results are tables in the layout of the paper, results by condition, and paired tests.
    """
    outcomes, measure = outcomes_of(summary), yardstick_of(summary)
    for table in layout(outcomes):
        screen.out.print(_table(table))
    for text in (LEGEND, *yardstick_lines(measure)):
        screen.say(text)
    for title, columns, rows in (
        ("How close to the human means", CLOSE, map(close_cells, outcomes)),
        ("Ratings given, and how the reviews are worded", GIVEN, given_rows(outcomes, measure)),
    ):
        shown = _headed(title, columns, 2)
        for row in rows:
            shown.add_row(*map(screen.escape, row))
        screen.out.print(shown)
    screen.say(WORDS)
    for text in without_rating(outcomes):
        screen.say(f"without a rating: {text}")
    for model, rows in summary["differences"].items():
        screen.out.print(_differences(model, rows))
    screen.say(f"ratings, outcomes, tables and the picture: {summary['folder']}")
    for text in (summary.get("note"), summary["message"]):
        if text:
            screen.say(text)


def show_quality(summary: Row) -> None:
    """Prints how many human reviews got which points and totals, and how many belong to each group."""
    points = _headed(f"{summary['reviews']} reviews by criterion", ("Criterion", "Points or why not", "Reviews"), 2)
    for name, counts in summary["points"].items():
        for grade, count in counts.items():
            points.add_row(name, screen.escape(grade), str(count))
    screen.out.print(points)
    if summary["median_characters"] is not None:
        screen.say(f"median length: {summary['median_characters']:g} characters")
    screen.say(f"total computable: {summary['computable']}; not computable: {summary['not_computable']}")
    if summary["totals"]:
        screen.say("totals: " + ", ".join(f"{total}: {count}" for total, count in summary["totals"].items()))
    for group, members in summary["groups"].items():
        screen.say(f"group {screen.escape(group)}: {members['reviews']} reviews, {len(members['drawn'])} sampled")
    screen.say(f"points of every review, and the groups: {summary['folder']}")
    if summary["message"]:
        screen.say(summary["message"])


def _table(table: Table) -> Shown:
    shown = _headed(table.title, (*table.heads, *table.columns), len(table.heads))
    for line in table.lines:
        labels = [screen.escape(label) for label in line.labels]
        labels[0] += " (published)" if line.published else ""
        cells = [marked(line, name, ("[bold]", "[/bold]"), ("[underline]", "[/underline]")) for name in table.columns]
        shown.add_row(*labels, *cells, style="dim" if line.published else None)
    return shown


def _differences(model: str, rows: Sequence[Row]) -> Shown:
    title = f"{model}: RMSE of the first less that of the second, on the papers that both rate"
    shown = _headed(title, ("First", "Second", "Difference", "p", "p (Holm)", "Papers"), 2)
    for row in rows:
        rmse = row["rmse"]
        tested = ["–" if row[name] is None else f"{row[name]:.2g}" for name in ("p", "p_holm")]
        number = f"{rmse['value']:+.2f} ({rmse['low']:+.2f}, {rmse['high']:+.2f})"
        names = screen.escape(row["first"]), screen.escape(row["second"])
        shown.add_row(*names, number, *tested, str(row["papers"]))
    return shown


def _headed(title: str, columns: Sequence[str], left: int) -> Shown:
    """Returns an empty table with the heads *columns*; the first *left* columns are aligned left, the others right."""
    shown = Shown(title=screen.escape(title), title_justify="left", box=box.SIMPLE)
    for index, column in enumerate(columns):
        shown.add_column(screen.escape(column), justify="left" if index < left else "right", overflow="fold")
    return shown
