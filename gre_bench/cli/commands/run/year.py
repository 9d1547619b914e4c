"""``gre-bench year``: makes the board of a year, in all steps from the fetch to the release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.fetch import Host, Venue
from gre_bench.cli.commands.running import DONE, FAULT, INCOMPLETE
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say
from gre_bench.cli.views.snapshots import show_plan

Roster = Annotated[
    str | None,
    typer.Option("--roster", metavar="NAME", help="Models to rank: an included roster, or your NAME.toml."),
]
Year = Annotated[
    int | None,
    typer.Option("--year", metavar="YEAR", help="Year of the venue; default: the newest whose reviews are public."),
]


def year(
    venue: Venue,
    roster: Roster = None,
    the_year: Year = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    dry_run: options.DryRun = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Fetch, score, validate and publish the board of a year.

    Without --host, the fetch contacts the venue's live host at once. The board of a metric that failed validation with
    this evaluation LM and writer is left out of the release (release.unvalidated changes that). If the command is
    stopped, the same command continues it. Nothing is published twice. A release after a signed one needs
    the setting release.sign.
    """
    from gre_bench.core.settings import load
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform

    named = [f'fetch.host="{host}"'] if host else []
    settings_given = load(settings, (*named, *(override or [])))
    configure_prefect(state)
    from gre_bench.flows import year as flows
    from gre_bench.tasks import steps

    job = flows.year_job(venue, roster, the_year, settings_given, state, False, False, None)
    if dry_run:
        return _show_plan(job.settings, state, as_json)
    summary = perform(
        not no_prefect,
        lambda: flows.year(venue, roster, the_year, settings_given, state.resolve()),
        lambda: flows.make_board(job, steps.undecorated(), flows.plainly),
    )
    if as_json:
        screen.print_json(summary)
    else:
        for name, stage in summary["stages"].items():
            say(f"{name}: {stage.get('outcome', 'done')}{_more(stage)}")
        say(f"{summary['edition']}: {summary['outcome']}; {summary['message']}")
    raise typer.Exit({"done": DONE, "unchanged": DONE, "fault": FAULT}.get(summary["outcome"], INCOMPLETE))


def _more(stage: dict[str, Any]) -> str:
    return f"; {stage['message']}" if stage.get("message") else ""


def _show_plan(chosen: Any, state: Path, as_json: bool) -> None:
    from gre_bench.preflight.plan_ahead import plan_year

    estimate = plan_year(chosen, state, None)
    if as_json:
        return screen.print_json(estimate)
    show_plan(estimate)
    planned = estimate["validation"]
    metrics, changes = ", ".join(planned["metrics"]), len(planned["changes"])
    say(f"validate: {metrics} by {changes} changes, counted above" if metrics else "validate: nothing is new")
