"""``gre-bench study agree``: correlates metrics with human grades of reviews."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import ended, progress_bar, settings_of
from gre_bench.cli.views import screen
from gre_bench.cli.views.agreement import show
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform
from gre_bench.store import Store


def agree(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    retry_failed: options.RetryFailed = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Correlate metrics with human grades of reviews.

    Import the grades first, with `gre-bench import graded`. A review's score is its mean over the other reviews of the
    same item. Intervals resample items with their reviews. Three more coefficients are given: within items, at fixed
    length, and less the coefficient of length alone.
    """
    chosen = settings_of(settings, edition, override, state)
    configure_prefect(state)
    with progress_bar(Store(state, chosen.edition.edition), as_json):
        from gre_bench.flows.agree_with_humans import agree as plain
        from gre_bench.flows.agree_with_humans import agree_with_humans
        from gre_bench.flows.annual_refresh import usable
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.tasks import steps

        job = Job(chosen, state.resolve(), retry_failed=retry_failed)
        usable(job)
        summary = perform(
            not no_prefect,
            lambda: agree_with_humans(chosen, state.resolve(), retry_failed),
            lambda: plain(job, steps.undecorated()),
        )
    screen.print_json(summary) if as_json else show(summary)
    raise ended(summary)
