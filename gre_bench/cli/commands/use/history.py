"""``gre-bench history``: shows how candidates score over the years of a venue."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.board.words import with_half
from gre_bench.cli.commands import completion, options
from gre_bench.cli.views import screen
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
    anchor: Anchors = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Follow candidates through the years of a venue.

    Scores do not compare across years, because each year has other papers. Differences to the anchors do.
    """
    from gre_bench.reports.history import history as followed
    from gre_bench.stats.intervals import few_papers

    report = followed(state, editions, None, anchor or [HUMAN])
    if as_json:
        return screen.print_json(report)
    for table in report["tables"]:
        _show_years(table, " and ".join(report["anchors"]))
    for row in report["changes"]:
        say(
            f"{row['metric']}, {row['candidate']}, {row['from']} → {row['to']}: {row['value']:+.2f} "
            f"(90% {row['low']:+.2f} to {row['high']:+.2f}; p {row['p_holm']:.3g})"
        )
    if not any(len(table["editions"]) > 1 for table in report["tables"]):
        say("no candidate was scored in two years of a venue under one signature: nothing compares across years")
    for key, papers in report["few"].items():
        say(f"{key}: {few_papers([papers])}")
    for key, why in report["left_out"].items():
        say(f"left out: {key}: {why}")


def _show_years(table: dict[str, Any], anchors: str) -> None:
    """Prints *table*: a row for each candidate, and a column for each year with the difference to the anchors.

    The anchors are the candidates that the text *anchors* names.
    """
    lines, editions = table["lines"], table["editions"]
    papers = [" / ".join(str(row["papers"]) if row else "–" for row in line["years"]) for line in lines]
    last = [next(row for row in reversed(line["years"]) if row) for line in lines]
    columns = [Column("candidate", [plain(line["candidate"]) for line in lines], kind="name")]
    for index, key in enumerate(editions):
        cells = [line["years"][index] for line in lines]
        columns.append(Column(key, [with_half(row["difference"], row["high"]) if row else "–" for row in cells]))
    columns += [
        Column("above chance (last)", [with_half(row["above_chance"], row["above_chance_high"]) for row in last], 2),
        Column("papers", papers, 1),
        Column("note", [_note(line["years"], editions) for line in lines], 0, "note"),
    ]
    title = f"{table['venue']} · {table['metric']} · signature {table['signature_id']}"
    show(f"{title}: difference to {anchors}, paired by paper", columns, [""] * len(lines))


def _note(years: list[dict[str, Any] | None], editions: list[str]) -> str:
    """Returns a note on a candidate: why it has no rank, or whether its LM may have seen the reviews.

    *years* has one row for each of *editions*, or None where the candidate has no score. A note that holds for all
    years is given once, other notes with their edition.
    """
    reasons: dict[str, str] = {}
    for key, row in zip(editions, years, strict=True):
        if row and row["kind"] == "control":
            reasons[key] = "control"
        elif row and row["unranked"]:
            reasons[key] = f"no rank: {row['unranked']}"
        elif row and row["contamination"] not in ("clean", "none"):
            reasons[key] = f"reviews seen: {row['contamination']}"
    if len(set(reasons.values())) == 1 and len(reasons) == sum(row is not None for row in years):
        return next(iter(reasons.values()))
    return "; ".join(f"{key}: {reason}" for key, reason in reasons.items())
