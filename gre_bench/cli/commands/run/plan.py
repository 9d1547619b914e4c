"""``gre-bench plan``: what an edition will take, before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.fetch import Host, SampleSeed, Venue, Year, venue_settings
from gre_bench.cli.views import screen
from gre_bench.cli.views.snapshots import show_plan

Rates = Annotated[
    Path | None,
    typer.Option(
        "--rates", metavar="FILE", help="Output of models bench scoring --json on the machine that will score."
    ),
]


def plan(
    venue: Venue,
    year: Year,
    papers: options.Papers = None,
    seed: SampleSeed = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    again: options.Again = False,
    rates: Rates = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Estimate an edition's requests, tokens, hours and cost.

    Nothing is sent. With --rates also the GPU hours of scoring.
    """
    from gre_bench.preflight.plan_ahead import plan_ahead

    chosen = venue_settings(venue, year, papers, seed, settings, override, host)
    found = plan_ahead(chosen, state, rates, again)
    return screen.print_json(found) if as_json else show_plan(found)
