"""``gre-bench refresh``: takes an edition from its sources to its board."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import ended, progress_bar, settings_of
from gre_bench.cli.views import board, screen
from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform
from gre_bench.store import Store

Candidate = Annotated[
    list[str] | None, typer.Option("--candidate", "-c", metavar="NAME", help="Add only this candidate; repeatable.")
]


def refresh(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    candidate: Candidate = None,
    limit: options.Limit = None,
    dry_run: options.DryRun = False,
    retry_failed: options.RetryFailed = False,
    no_prefect: options.NoPrefect = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Bring an edition up to date: read, write, score, rank.

    Imports and samples papers, plans all pairs, scores the missing ones and updates the board. Without --settings it
    uses those of the edition's last refresh; without --edition too, the sample edition. If a run is stopped, the same
    command continues it.
    """
    chosen = settings_of(settings, edition, override, state)
    if dry_run:
        plan = estimated(chosen, state, tuple(candidate or ()) or None, limit, retry_failed)
        return screen.print_json(plan) if as_json else screen.estimate(plan)
    summary = run_refresh(chosen, state, candidate, limit, retry_failed, wait, not no_prefect, as_json)
    if as_json:
        screen.print_json(summary)
    else:
        board.summary(summary, Store(state, summary["edition"]))
    raise ended(summary)


def run_refresh(
    chosen: Settings,
    state: Path,
    candidate: list[str] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
    wait: float = 0.0,
    engine: bool = True,
    quiet: bool = False,
) -> dict[str, Any]:
    """Refreshes the edition of the settings *chosen*, and returns the summary of the run.

    - *candidate*, *limit*, *retry_failed*: as in `gre_bench.pipeline.runs.job.Job`.
    - *wait*: how long to wait for the edition's lock, in seconds.
    - *engine*: whether to run under Prefect instead of as plain functions.
    - *quiet*: whether to hide the progress bar.
    """
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.pipeline.runs.unchanged import unchanged

    store = Store(state, chosen.edition.edition)
    job = Job(chosen, state.resolve(), tuple(candidate or ()) or None, limit, retry_failed, wait)
    if summary := unchanged(store, job):
        return summary
    configure_prefect(state)
    with progress_bar(store, quiet, engine):
        from gre_bench.flows.annual_refresh import annual_refresh, usable
        from gre_bench.flows.annual_refresh import refresh as plain
        from gre_bench.tasks import steps

        usable(job)
        return perform(
            engine,
            lambda: annual_refresh(chosen, state.resolve(), candidate, limit, retry_failed, wait),
            lambda: plain(job, steps.undecorated()),
        )


def estimated(
    chosen: Settings, state: Path, candidates: tuple[str, ...] | None, limit: int | None, retry: bool
) -> dict[str, Any]:
    """Returns what a refresh by the settings *chosen* would do and cost; nothing is changed."""
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        configure_prefect(Path(folder))
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.preflight.dry_run import estimate

        return estimate(Job(chosen, state, candidates, limit, retry), Path(folder))
