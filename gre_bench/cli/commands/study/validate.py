"""``gre-bench study validate``: tests whether metrics fall on degraded reviews, and do not rise on manipulated ones."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import ended, folder_to_write, progress_bar, settings_of
from gre_bench.cli.views import screen
from gre_bench.cli.views.validation import show
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform
from gre_bench.store import Store


def validate(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    retry_failed: options.RetryFailed = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    figures: options.Figures = None,
    as_json: options.Json = False,
) -> None:
    """Test metrics on degraded and manipulated reviews.

    A metric passes if every degradation of human reviews lowers it and no manipulation raises it. The verdict holds
    for one metric with one evaluation LM and one writer, and every board of that combination shows it.
    """
    if figures is not None:
        from gre_bench.metrics.validation import drawable

        drawable(folder_to_write(figures) / "effects.svg")
    chosen = settings_of(settings, edition, override, state)
    configure_prefect(state)
    with progress_bar(Store(state, chosen.edition.edition), as_json):
        from gre_bench.flows.annual_refresh import usable
        from gre_bench.flows.validate_metrics import validate as plain
        from gre_bench.flows.validate_metrics import validate_metrics
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.tasks import steps

        job = Job(chosen, state.resolve(), retry_failed=retry_failed)
        usable(job)
        summary = perform(
            not no_prefect,
            lambda: validate_metrics(chosen, state.resolve(), retry_failed=retry_failed),
            lambda: plain(job, steps.undecorated()),
        )
    if figures is not None:
        from gre_bench.metrics.validation import draw

        for ending in ("svg", "png"):
            draw(summary["effects"], figures / f"effects.{ending}", f"{summary['edition']}: effects of changes")
    screen.print_json(summary) if as_json else show(summary)
    raise ended(summary)
