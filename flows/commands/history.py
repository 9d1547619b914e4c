"""``gre-bench history``: candidates through the years, as differences to anchors."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from flows.commands import options
from flows.screens import screen
from flows.screens.board import half, number, with_half
from flows.screens.screen import escape, say
from tasks.records import HUMAN

Editions = Annotated[list[str] | None, typer.Argument(help="Editions, such as ICLR-2024 ICLR-2025; all, if not given.")]
Anchors = Annotated[
    list[str] | None, typer.Option("--anchor", "-a", help="Candidate that every edition scores again; default: human.")
]


def register(app: typer.Typer) -> None:
    """Adds the command to *app*."""
    app.command(epilog=options.EXIT_CODES)(history)


def history(
    editions: Editions = None,
    metric: options.Metric = None,
    anchor: Anchors = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Show candidates through the years. Each has other papers: differences to the anchors compare, scores do not."""
    from flows.boards.history import history as look

    found = look(state, editions, metric, anchor or [HUMAN])
    if as_json:
        return screen.print_json(found)
    names = " and ".join(found["anchors"])
    for (name, signature_id), group in groupby(found["rows"], key=lambda row: (row["metric"], row["signature_id"])):
        rows = list(group)
        say(f"{rows[0]['edition']} · {name} · signature {signature_id}: difference to {names}, paired by paper")
        table = Table(box=None, padding=(0, 2, 0, 0))
        for head in ("candidate", "− anchors", "±90%", "above chance", "papers", "reviews seen"):
            table.add_column(head, justify="left" if head in ("candidate", "reviews seen") else "right")
        for row in rows:
            table.add_row(
                escape(row["candidate"]), number(row["difference"]), half(row["difference"], row["high"]),
                with_half(row["above_chance"], row["above_chance_high"]), str(row["papers"]), row["contamination"],
            )  # fmt: skip
        screen.out.print(table)
    for row in found["changes"]:
        say(
            f"{row['metric']}, {row['candidate']}, {row['from']} → {row['to']}: {row['value']:+.2f} "
            f"(90% {row['low']:+.2f} to {row['high']:+.2f}; p {row['p_holm']:.3g})"
        )
    if not found["changes"]:
        say("no candidate was scored in two years of a venue under one signature: nothing compares across years")
    for key, why in found["left_out"].items():
        say(f"left out: {key}: {why}")
