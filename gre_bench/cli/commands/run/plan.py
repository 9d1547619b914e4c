"""``gre-bench plan``: estimates requests, tokens, hours and cost before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.fetch import Host, venue_settings
from gre_bench.cli.views import screen
from gre_bench.cli.views.snapshots import show_plan
from gre_bench.core.errors import SettingsError

Rates = Annotated[
    Path | None,
    typer.Option(
        "--rates", metavar="FILE", help="Output of models bench scoring --json on the machine that will score."
    ),
]

AnyVenue = Annotated[str | None, typer.Argument(metavar="VENUE", help="Venue, such as ICLR.")]
AnyYear = Annotated[int | None, typer.Argument(metavar="YEAR", help="Year of the venue.")]
AllExperiments = Annotated[bool, typer.Option("--all", help="All published experiments, in one table.")]


def plan(
    venue: AnyVenue = None,
    year: AnyYear = None,
    every: AllExperiments = False,
    papers: options.Papers = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    rates: Rates = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Estimate an edition's requests, tokens, hours and cost.

    Nothing is sent. With --rates it also estimates the GPU hours of scoring. With --all it estimates the
    published experiments instead, from the sizes that their papers print; their files are not needed.
    """
    if every:
        from gre_bench.catalogs.experiments import experiments
        from gre_bench.cli.views.experiments import show_experiments
        from gre_bench.preflight.plan_published import plan_published

        planned = plan_published(experiments())
        return screen.print_json(planned) if as_json else show_experiments(planned)
    if venue is None or year is None:
        raise SettingsError("name the venue and the year, such as ICLR 2025; or --all")
    from gre_bench.preflight.plan_ahead import plan_ahead

    chosen = venue_settings(venue, year, papers, settings, override, host)
    estimate = plan_ahead(chosen, state, rates)
    return screen.print_json(estimate) if as_json else show_plan(estimate)
