"""``gre-bench refresh``, ``demo``, ``status`` and ``doctor``: run an edition, show its progress, check requirements."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import option
from gre_bench.cli.commands.running import BAD_INPUT, DEMO, DONE, choose_exit_code
from gre_bench.cli.views import board_screen, screen
from gre_bench.cli.views.bar import show_run_progress
from gre_bench.cli.views.screen import format_duration, say
from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.known_names import format_name_list
from gre_bench.core.settings import Settings, load
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, run_with_or_without_prefect
from gre_bench.store import INCLUDED_EDITION, Row, Store, find_editions, missing_edition_error
from gre_bench.store.queries import UNPLANNED_REVIEWS


def refresh(
    *,
    chosen: Settings,
    state: Path,
    quiet: bool,
    candidate: list[str] | None = option("--candidate -c NAME", "Add only this candidate; repeatable.", None),
    limit: options.Limit = None,
    dry_run: options.DryRun = False,
    retry_failed: options.RetryFailed = False,
    no_prefect: bool,
    wait: float,
) -> CommandResult:
    """Bring an edition up to date: read, write, score, rank.

    Imports and samples papers, plans all pairs, scores the missing ones and updates the board. Without --settings it
    uses the settings of the edition's last refresh. Without --settings and --edition it runs the sample edition. If a
    run is stopped, the same command continues it.
    """
    if dry_run:
        candidates = tuple(candidate or ()) or None
        return CommandResult(estimate_refresh(chosen, state, candidates, limit, retry_failed), screen.print_estimate)
    summary = run_refresh(chosen, state, candidate, limit, retry_failed, wait, not no_prefect, quiet)
    store = Store(state, summary["edition"])
    return CommandResult(
        summary, lambda summary: board_screen.show_refresh_summary(summary, store), choose_exit_code(summary)
    )


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
    from gre_bench.pipeline.runs.unchanged import find_unchanged_summary

    store = Store(state, chosen.edition.edition)
    job = Job(chosen, state.resolve(), tuple(candidate or ()) or None, limit, retry_failed, wait)
    if summary := find_unchanged_summary(store, job):
        return summary
    configure_prefect(state)
    with show_run_progress(store, quiet, engine):
        from gre_bench.pipeline.refreshing import check_job_and_name_candidates
        from gre_bench.pipeline.refreshing import refresh as plain

        def flow() -> Any:
            from gre_bench.flows.annual_refresh import annual_refresh

            return annual_refresh(chosen, state.resolve(), candidate, limit, retry_failed, wait)

        check_job_and_name_candidates(job)
        return run_with_or_without_prefect(engine, flow, lambda: plain(job))


def estimate_refresh(
    chosen: Settings, state: Path, candidates: tuple[str, ...] | None, limit: int | None, retry: bool
) -> dict[str, Any]:
    """Returns what a refresh with the settings *chosen* would do and cost; nothing is changed."""
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        configure_prefect(Path(folder))
        from gre_bench.checks.dry_run import estimate_refresh_cost
        from gre_bench.pipeline.runs.job import Job

        return estimate_refresh_cost(Job(chosen, state, candidates, limit, retry), Path(folder))


def demo(state: Path, quiet: bool, no_prefect: bool) -> CommandResult:
    """Show a real board, then score the 30 sample papers.

    The real board comes with the program, as edition ICLR-2022-llms. No key or GPU is needed.
    """
    if not quiet:
        _show_included_board(state)
    return build_new_board_result(run_refresh(load(DEMO), state, engine=not no_prefect, quiet=quiet), state)


def _show_included_board(state: Path) -> None:
    from gre_bench.release.loading import find_release, load_release
    from gre_bench.reports.signatures import format_leader_sentence

    store = Store(state, INCLUDED_EDITION)
    if not store.exists:
        store = load_release(find_release(INCLUDED_EDITION), state)
    where = screen.format_state_option(state)
    say("The demo ranks reviewers of 30 papers that were made up for it.")
    say(f"A real board comes with the program: gre-bench leaderboard {store.key}{where}")
    say(format_leader_sentence(store))
    say("")


def build_new_board_result(summary: dict[str, Any], state: Path, more: dict[str, Any] | None = None) -> CommandResult:
    """Returns the answer of a command that makes a new edition: its board in brief, and the next commands.

    *summary*: the summary of the refresh. *more*: fields that come before those of the summary.
    """

    def print_answer(_: Any) -> None:
        store = Store(state, summary["edition"])
        board_screen.show_refresh_summary(summary, store, brief=True)
        board_screen.print_next_steps(store, state)

    return CommandResult((more or {}) | summary, print_answer, choose_exit_code(summary))


def status(state: Path, edition: options.AnyEdition = None) -> CommandResult:
    """Show the progress and spending of editions and studies.

    Shows what is done, running and missing, the cost, and the remaining budget of each. The command never waits for a
    run.
    """
    from gre_bench.pipeline.runs import running_studies, spending
    from gre_bench.pipeline.runs.job import read_last_run

    editions = []
    for key in [edition] if edition else find_editions(state):
        store = Store(state, key)
        if not store.exists:
            raise missing_edition_error(state, key)
        current = read_last_run(store) or {
            "edition": key,
            "state": "new",
            "metrics": [],
            "message": "nothing was run yet",
        }
        unplanned: list[Row] = []
        if not store.is_from_release:
            with suppress(SettingsError, StoreError):  # no copy for readers yet, or a damaged one
                unplanned = store.read(UNPLANNED_REVIEWS)
        more = {"edition": store.key, "unplanned_reviews": unplanned}
        editions.append(current | more | spending.summarise_spending(store))
    rows = [] if edition else running_studies.summarise_studies(state)

    def print_answer(_: Any) -> None:
        if not editions:
            say(f"no editions in {state.absolute()}; try: gre-bench refresh")
        for current in editions:
            _show_status(current, state)
        for row in rows:
            screen.print_with_label(
                f"{row['study']}:", "bold", row["state"] + (f". {row['message']}" if row["message"] else "")
            )
            _show_spending(row)

    return CommandResult([*editions, *rows], print_answer)


def _show_status(current: Row, state: Path) -> None:
    line = current["state"]
    if current["state"] == "running":
        line += (
            f", {current['stage']}, {current['done']} of {counted(current['due'], 'pair')}, "
            f"{format_duration(current['remaining_s'])} remaining (process {current['pid']})"
        )
    if current["message"]:
        line += f". {current['message']}"
    screen.print_with_label(f"{current['edition']}:", "bold", line)
    if current["metrics"]:
        screen.show_counts(current["metrics"])
    if unplanned := current["unplanned_reviews"]:
        reviews = counted(sum(row["reviews"] for row in unplanned), "review")
        say(f"not scored yet: {reviews} by {format_name_list(row['candidate'] for row in unplanned)}")
        say(f"next: gre-bench refresh --edition {current['edition']}{screen.format_state_option(state)}")
    if current["spent"]["requests"]:
        for row in current["texts"]:
            if row["outcome"] != "ok":
                say(f"{row['task']} by {row['writer']}: {row['texts']:,} {row['outcome']}")
    _show_spending(current)


def _show_spending(current: Row) -> None:
    for name, spent in current["spent_by_model"].items():
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in spent["outcomes"].items())
        lost = f", {spent['unanswered']:,} without an answer, perhaps paid" if spent["unanswered"] else ""
        say(
            f"spent on {name}: {counted(spent['requests'], 'request')} ({outcomes or 'none answered'}{lost}), "
            f"{spent['prompt_tokens']:,} prompt and {spent['reply_tokens']:,} reply tokens, {spent['money']}, "
            f"{format_duration(spent['hours'] * 3600)}"
        )
    if current["remaining"]:
        say("budget left: " + ", ".join(f"{value:,.6g} {bound}" for bound, value in current["remaining"].items()))


def doctor(chosen: Settings, state: Path, quiet: bool) -> CommandResult:
    """Check that everything a run needs is there.

    Checks everything that a refresh with these settings needs, and says what is wrong and what to do. It sends no paid
    request. The exit code is 2 if there is a problem.
    """
    from gre_bench.checks.doctor import run_checks

    findings = []
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        # Secret blocks in the state folder's own Prefect database count. If it has none, a temporary one is used, so
        # that the state folder stays unchanged.
        configure_prefect(state if (state / "prefect").is_dir() else Path(folder))
        for finding in run_checks(chosen, state):
            findings.append(finding)
            if not quiet:
                colour = {"ok": "green", "warning": "yellow", "problem": "red"}[finding.verdict]
                todo = f" → {finding.to_do}" if finding.to_do else ""
                screen.print_with_label(f"{finding.verdict:<7}", colour, f"{finding.check}: {finding.found}{todo}")
    is_wrong = any(finding.verdict == "problem" for finding in findings)
    return CommandResult([asdict(finding) for finding in findings], lambda _: None, BAD_INPUT if is_wrong else DONE)
