"""``gre-bench study points``: whether agreement in nats tells right points of reviews from wrong ones."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import ended, progress_bar, settings_of
from gre_bench.cli.views import screen
from gre_bench.cli.views.agreement import show_points
from gre_bench.pipeline.runs.prefect_engine import configure_prefect
from gre_bench.store import Store


def points(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Compare the information of labelled points with their labels.

    Scores each imported point alone, and what its review loses without it, against the other human reviews of its
    paper. Gives the AUC of every score for every label, with intervals by paper, beside length, position and stance.
    """
    chosen = settings_of(settings, edition, override, state)
    configure_prefect(state)
    with progress_bar(Store(state, chosen.edition.edition), as_json):
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.studies.points import measure_points
        from gre_bench.tasks import steps

        summary = measure_points(Job(chosen, state.resolve()), steps.undecorated())
    screen.print_json(summary) if as_json else show_points(summary)
    raise ended(summary)
