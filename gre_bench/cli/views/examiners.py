"""Prints the results of ``gre-bench study examiners``."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from gre_bench.cli.views import screen
from gre_bench.cli.views.studies import show_models
from gre_bench.core.terminal import counted
from gre_bench.examiners.tables import Sheet

SHOWN = 40
"""Number of reasons to print; tables.md has all of them."""
WIDE = 200


def show(summary: dict[str, Any]) -> None:
    """Prints the results of a study: its tables, why texts have no grade, and the folder with the study's files."""
    screen.say(f"{summary['study']}: {counted(summary['texts'], 'text')} on {summary['sources']} sources")
    for row in summary["tables"]:
        show_sheet(Sheet(**row))
    lacking = summary["lacking"]
    for line in lacking[:SHOWN]:
        screen.say(f"without a grade: {line}")
    if len(lacking) > SHOWN:
        screen.say(f"and {len(lacking) - SHOWN} more such lines in tables.md")
    screen.say(f"grades, outcomes, tables and sheets for rationales: {summary['folder']}")
    if summary["message"]:
        screen.say(summary["message"])


def show_sheet(sheet: Sheet) -> None:
    """Prints one table with its notes. If the output is not a terminal, the table may be `WIDE` columns wide."""
    shown = Table(title=screen.escape(sheet.title), title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for index, head in enumerate(sheet.heads):
        shown.add_column(screen.escape(head), justify="left" if index < sheet.left else "right", overflow="fold")
    for row in sheet.rows:
        shown.add_row(*map(screen.escape, row))
    (screen.out if screen.out.is_terminal else Console(width=WIDE)).print(shown)
    for note in sheet.notes:
        screen.say(note)


def show_estimate(plan: dict[str, Any]) -> None:
    """Prints how many texts and examiners a study has, and how many requests to LMs it still needs."""
    screen.say(f"{counted(plan['texts'], 'text')}, {plan['excluded']} of them excluded; {plan['examiners']} examiners")
    show_models(plan)
