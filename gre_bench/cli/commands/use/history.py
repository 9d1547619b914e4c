"""``gre-bench history``: candidates through the years, as differences to anchors."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import completion, options
from gre_bench.cli.views import screen
from gre_bench.cli.views.board import with_half
from gre_bench.cli.views.fitted import Column, show
from gre_bench.cli.views.screen import plain, say
from gre_bench.core.records import HUMAN

Editions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EDITION", autocompletion=completion.editions, help="Editions of one venue or several; default: all."
    ),
]
Anchors = Annotated[
    list[str] | None,
    typer.Option("--anchor", "-a", metavar="NAME", help="Candidate that every edition scores again; default: human."),
]


def history(
    editions: Editions = None,
    metric: options.Metric = None,
    anchor: Anchors = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Follow candidates through the years of a venue.

    Each year has other papers, so scores do not compare; differences to the anchors do.
    """
    from gre_bench.reports.history import history as look

    found = look(state, editions, metric, anchor or [HUMAN])
    if as_json:
        return screen.print_json(found)
    names = " and ".join(found["anchors"])
    for (name, signature_id), group in groupby(found["rows"], key=lambda row: (row["metric"], row["signature_id"])):
        rows = list(group)
        say(f"{rows[0]['edition']} · {name} · signature {signature_id}: difference to {names}, paired by paper")
        columns = (
            Column("candidate", [plain(row["candidate"]) for row in rows], kind="name"),
            Column("− anchors", [with_half(row["difference"], row["high"]) for row in rows]),
            Column("above chance", [with_half(row["above_chance"], row["above_chance_high"]) for row in rows]),
            Column("papers", [str(row["papers"]) for row in rows]),
            Column("reviews seen", [row["contamination"] for row in rows], kind="name"),
        )
        show("", columns, [""] * len(rows))
    for row in found["changes"]:
        say(
            f"{row['metric']}, {row['candidate']}, {row['from']} → {row['to']}: {row['value']:+.2f} "
            f"(90% {row['low']:+.2f} to {row['high']:+.2f}; p {row['p_holm']:.3g})"
        )
    if not found["changes"]:
        say("no candidate was scored in two years of a venue under one signature: nothing compares across years")
    for key, why in found["left_out"].items():
        say(f"left out: {key}: {why}")
