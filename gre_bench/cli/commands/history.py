"""``gre-bench year`` and ``history``: the board of this year, and candidates through the years."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.cli.views.board import with_half
from gre_bench.cli.views.fitted import Column, show
from gre_bench.cli.views.screen import plain, say
from gre_bench.core.records import HUMAN

Editions = Annotated[list[str] | None, typer.Argument(help="Editions, such as ICLR-2024 ICLR-2025; all, if not given.")]
Anchors = Annotated[
    list[str] | None, typer.Option("--anchor", "-a", help="Candidate that every edition scores again; default: human.")
]


Venue = Annotated[str, typer.Argument(help="Venue, such as ICLR.")]
Roster = Annotated[
    str | None, typer.Option("--roster", help="Who is ranked: a shipped roster, such as yearly, or your own NAME.toml.")
]
Year = Annotated[
    int | None, typer.Option("--year", help="Year of the venue; the newest whose reviews are public, if not given.")
]
On = Annotated[
    datetime | None, typer.Option("--on", formats=["%Y-%m-%d"], help="Take the newest year of this day, not of today.")
]
Host = Annotated[str | None, typer.Option("--host", help="Host to ask instead of the venue's, such as a loopback.")]
Rates = Annotated[
    Path | None,
    typer.Option("--rates", help="With --dry-run: output of bench scoring --json there."),
]
CODES = {"done": 0, "unchanged": 0, "fault": 1}


def register(app: typer.Typer) -> None:
    """Adds the commands to *app*."""
    app.command(epilog=options.EXIT_CODES)(year)
    app.command(epilog=options.EXIT_CODES)(history)


def year(
    venue: Venue,
    roster: Roster = None,
    the_year: Year = None,
    on: On = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    dry_run: options.DryRun = False,
    rates: Rates = None,
    retry_failed: options.RetryFailed = False,
    engine: options.Engine = True,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Make the board of a year: fetch, write, score, validate what is new, check the verdicts, publish.

    Metrics that failed their validation with this evaluation LM and writer, or have none, are not published
    (release.unvalidated). Stopped anywhere, the same command goes on from there; what is done
    already is not published twice.
    """
    from gre_bench.core.settings import load
    from gre_bench.pipeline.runs.prefect_engine import perform, settle

    asked = load(settings, (*([f'fetch.host="{host}"'] if host else []), *(override or [])))
    settle(state)
    from gre_bench.flows import year as flows
    from gre_bench.tasks import steps

    day = on.date() if on else None
    job = flows.year_job(venue, roster, the_year, asked, state, False, retry_failed, day)
    if dry_run:
        return _show_plan(job.settings, state, rates, as_json)
    summary = perform(
        engine,
        lambda: flows.year(venue, roster, the_year, asked, state.resolve(), False, retry_failed, day),
        lambda: flows.make_board(job, steps.undecorated(), flows.plainly),
    )
    if as_json:
        screen.print_json(summary)
    else:
        for name, stage in summary["stages"].items():
            say(f"{name}: {stage.get('outcome', 'done')}{_more(stage)}")
        say(f"{summary['edition']}: {summary['outcome']}; {summary['message']}")
    raise typer.Exit(CODES.get(summary["outcome"], 3))


def _more(stage: dict[str, Any]) -> str:
    return f"; {stage['message']}" if stage.get("message") else ""


def _show_plan(chosen: Any, state: Path, rates: Path | None, as_json: bool) -> None:
    from gre_bench.cli.commands.snapshots import show_plan
    from gre_bench.preflight.plan_year import plan_year

    found = plan_year(chosen, state, rates)
    if as_json:
        return screen.print_json(found)
    show_plan(found)
    new = found["validation"]
    say(f"validate: {', '.join(new['metrics'])} by {len(new['changes'])} changes, counted above" if new["metrics"]
        else "validate: nothing is new")  # fmt: skip


def history(
    editions: Editions = None,
    metric: options.Metric = None,
    anchor: Anchors = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Show candidates through the years. Each has other papers: differences to the anchors compare, scores do not."""
    from gre_bench.reports.history import history as look
    from gre_bench.stats.intervals import FEW_MEANS

    found = look(state, editions, metric, anchor or [HUMAN])
    if as_json:
        return screen.print_json(found)
    for table in found["tables"]:
        _show_years(table, " and ".join(found["anchors"]))
    for row in found["changes"]:
        say(
            f"{row['metric']}, {row['candidate']}, {row['from']} → {row['to']}: {row['value']:+.2f} "
            f"(90% {row['low']:+.2f} to {row['high']:+.2f}; p {row['p_holm']:.3g})"
        )
    if not found["changes"]:
        say("no candidate was scored in two years of a venue under one signature: nothing compares across years")
    for key, papers in found["few"].items():
        say(f"few papers: {key} has {papers}. {FEW_MEANS}")
    for key, why in found["left_out"].items():
        say(f"left out: {key}: {why}")


def _show_years(table: dict[str, Any], anchors: str) -> None:
    """One table of what compares: a line a candidate, a column a year with the difference to the anchors."""
    lines, editions = table["lines"], table["editions"]
    papers = [" / ".join(str(row["papers"]) if row else "–" for row in line["years"]) for line in lines]
    last = [next(row for row in reversed(line["years"]) if row) for line in lines]
    columns = [Column("candidate", [plain(line["candidate"]) for line in lines], kind="name")]
    for place, key in enumerate(editions):
        cells = [line["years"][place] for line in lines]
        columns.append(Column(key, [with_half(row["difference"], row["high"]) if row else "–" for row in cells]))
    columns += [
        Column("above chance", [with_half(row["above_chance"], row["above_chance_high"]) for row in last], 2),
        Column("papers", papers, 1),
        Column("note", [_note(line["years"], editions) for line in lines], 0, "note"),
    ]
    title = f"{table['venue']} · {table['metric']} · signature {table['signature_id']}"
    show(f"{title}: difference to {anchors}, paired by paper", columns, [""] * len(lines))


def _note(years: list[dict[str, Any] | None], editions: list[str]) -> str:
    """Of each year that has one, why the candidate is not ranked, else whether it may have seen the reviews."""
    told: dict[str, str] = {}
    for key, row in zip(editions, years, strict=True):
        if row and row["unranked"]:
            told[key] = f"no rank: {row['unranked']}"
        elif row and row["contamination"] not in ("clean", "none"):
            told[key] = f"reviews seen: {row['contamination']}"
    if len(set(told.values())) == 1 and len(told) == sum(row is not None for row in years):
        return next(iter(told.values()))
    return "; ".join(f"{key}: {what}" for key, what in told.items())
