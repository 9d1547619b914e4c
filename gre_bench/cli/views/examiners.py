"""What ``gre-bench study examiners`` shows."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from gre_bench.cli.views import screen
from gre_bench.cli.views.studies import show_models
from gre_bench.studies.examiners.tables import Sheet

SHOWN = 40
"""Reasons that are shown; all of them are in tables.md."""
WIDE = 200


def show(summary: dict[str, Any]) -> None:
    """Every table of a study, why texts have no grade, and where the rest is."""
    screen.say(f"{summary['study']}: {summary['texts']} texts on {summary['sources']} sources")
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
    """One table with its notes; wider than the terminal where nobody looks at one."""
    shown = Table(title=screen.escape(sheet.title), title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for place, head in enumerate(sheet.heads):
        shown.add_column(screen.escape(head), justify="left" if place < sheet.left else "right", overflow="fold")
    for row in sheet.rows:
        shown.add_row(*map(screen.escape, row))
    (screen.out if screen.out.is_terminal else Console(width=WIDE)).print(shown)
    for note in sheet.notes:
        screen.say(note)


def show_estimate(found: dict[str, Any]) -> None:
    """What a study would ask for."""
    screen.say(f"{found['texts']} texts, {found['excluded']} of them excluded; {found['examiners']} examiners")
    show_models(found)
