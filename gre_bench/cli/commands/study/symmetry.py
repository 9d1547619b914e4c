"""``gre-bench study symmetry``: checks that P(x)P(y|x) and P(y)P(x|y) of an evaluation LM agree for human reviews."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import ended, progress_bar, settings_of
from gre_bench.cli.views import screen
from gre_bench.cli.views.agreement import show_symmetry
from gre_bench.pipeline.runs.prefect_engine import configure_prefect
from gre_bench.store import Store


def symmetry(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Check that P(x)P(y|x) and P(y)P(x|y) agree for human reviews.

    Scores all ordered pairs of an edition's human reviews by GEM, and gives Spearman's ρ with intervals by paper (Xu et
    al. 2025, A.5).
    """
    chosen = settings_of(settings, edition, override, state)
    configure_prefect(state)
    with progress_bar(Store(state, chosen.edition.edition), as_json):
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.studies.symmetry import check_symmetry
        from gre_bench.tasks import steps

        summary = check_symmetry(Job(chosen, state.resolve()), steps.undecorated())
    screen.print_json(summary) if as_json else show_symmetry(summary)
    raise ended(summary)
