"""``gre-bench validate``: is a metric any good, with this evaluation LM and this writer?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.options import EXIT_CODES
from gre_bench.cli.views import screen
from gre_bench.cli.views.validation import show
from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.prefect_engine import perform, settle
from gre_bench.store import Store

Picture = Annotated[
    Path | None, typer.Option("--picture", help="Draw the effects into this .svg or .png file.", dir_okay=False)
]


def register(app: typer.Typer, settings_of: Any, drawn: Any, exit_codes: dict[str, int]) -> None:
    """Adds the command to *app*."""

    @app.command(epilog=EXIT_CODES)
    def validate(
        settings: options.SettingsFile = None,
        edition: options.Edition = None,
        override: options.Set = None,
        limit: options.Limit = None,
        retry_failed: options.RetryFailed = False,
        engine: options.Engine = True,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        picture: Picture = None,
        as_json: options.Json = False,
    ) -> None:
        """Validate metrics: degrade and manipulate an edition's human reviews, and see what the scores do.

        A metric passes if every degradation lowers it and no manipulation raises it. The verdict holds for one metric
        with one evaluation LM and one writer, and every board of that combination shows it.
        """
        if picture is not None:
            from gre_bench.metrics.picture import drawable

            drawable(picture)
        chosen = settings_of(settings, edition, override, state)
        summary = _run(chosen, state, limit, retry_failed, wait, engine, as_json, drawn)
        if picture is not None:
            from gre_bench.metrics.picture import draw

            draw(summary["effects"], picture, f"{summary['edition']}: effects of changes")
        screen.print_json(summary) if as_json else show(summary)
        raise typer.Exit(exit_codes[summary["outcome"]])


def _run(
    chosen: Settings, state: Path, limit: int | None, retry: bool, wait: float, engine: bool, quiet: bool, drawn: Any
) -> dict[str, Any]:
    settle(state)
    with drawn(Store(state, chosen.edition.edition), quiet):
        from gre_bench.flows.annual_refresh import usable
        from gre_bench.flows.validate_metrics import validate, validate_metrics
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.tasks import steps

        job = Job(chosen, state.resolve(), None, limit, retry, wait)
        usable(job)
        return perform(
            engine,
            lambda: validate_metrics(chosen, state.resolve(), limit, retry, wait),
            lambda: validate(job, steps.undecorated()),
        )
