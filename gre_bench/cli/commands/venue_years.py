"""``gre-bench fetch``, ``plan`` and ``year``: download a venue-year, estimate its cost, and make its board."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.commands.running import choose_exit_code
from gre_bench.cli.views import screen
from gre_bench.cli.views.bar import show_fetch_progress
from gre_bench.cli.views.screen import format_or_dash, say, show_snapshot_changes, show_snapshot_counts
from gre_bench.core import settings as configuration
from gre_bench.core.errors import GreBenchError
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, run_with_or_without_prefect
from gre_bench.store import Store
from gre_bench.store.queries import DRAW

Host = Annotated[str | None, option("--host URL", "Host to use instead of the venue's, such as one on this machine.")]


def fetch(
    *,
    state: Path,
    quiet: bool,
    venue: str = argument("VENUE", "Venue, such as ICLR."),
    year: int = argument("YEAR", "Year of the venue."),
    papers: options.Papers = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    again: bool = option("--again", "Fetch everything again, and report what changed.", False),
    unverified_venue: options.UnverifiedVenue = False,
    no_prefect: bool,
) -> CommandResult:
    """Download a venue-year's papers and reviews from OpenReview.

    It contacts the venue's live host in data/venues.toml at once, unless --host names another. The result is a
    snapshot. Requests stay within the service's limits. Log in with OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or
    with OPENREVIEW_TOKEN. If the account asks for a second factor, set OPENREVIEW_TOTP_SECRET or OPENREVIEW_MFA_CODE
    too. If the command is stopped, the same command continues it.
    """
    more = ["sources.unverified_venue=true"] if unverified_venue else []
    chosen = load_venue_settings(venue, year, papers, settings, [*(override or []), *more], host)
    configure_prefect(state)
    from gre_bench.ingest.openreview.fetching import choose_fetch_run_folder
    from gre_bench.pipeline.downloading import FetchJob, fetch_snapshot

    def flow() -> Any:
        from gre_bench.flows.fetch import fetch

        return fetch(chosen, job.state, again)

    job = FetchJob(chosen, state.resolve(), again)
    with (
        _print_fetch_messages(quiet),
        show_fetch_progress(choose_fetch_run_folder(chosen, job.state, again) / "status.json", quiet),
    ):
        summary = run_with_or_without_prefect(
            not no_prefect, flow, lambda: fetch_snapshot(job, lambda line: say(line, screen.err))
        )
    return CommandResult(
        summary,
        lambda _: _show_fetched_snapshot(summary, chosen, settings, override or [], state),
        choose_exit_code(summary),
    )


def load_venue_settings(
    venue: str, year: int, papers: str | None, file: Path | None, override: list[str] | None,
    host: str | None = None,
) -> Settings:  # fmt: skip
    """Returns the settings for fetching *venue* and *year*: those of *file*, overridden by all other parameters."""
    pairs = [f'edition.venue="{venue}"', f"edition.year={year}"]
    if papers is not None and papers.isdigit():
        pairs += [f"edition.papers={papers}"]
    elif papers is not None:
        from gre_bench.ingest.records.row_files import read_ids

        pairs += [f"edition.only={papers}", f"edition.papers={len(read_ids(Path(papers)))}"]
    pairs += [f'fetch.host="{host}"'] if host else []
    return configuration.load(file, (*pairs, *(override or [])))


@contextmanager
def _print_fetch_messages(quiet: bool) -> Iterator[None]:
    """Prints the fetch's messages on standard error until the block ends; if *quiet*, only its warnings."""

    class MessagePrinter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage(), screen.err)

    log, handler = logging.getLogger("gre_bench.fetch"), MessagePrinter()
    log.addHandler(handler)
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)


def _show_fetched_snapshot(
    summary: dict[str, Any], chosen: Settings, file: Path | None, override: list[str], state: Path
) -> None:
    sent = ", ".join(f"{count} {kind}" for kind, count in sorted(summary["requests"].items())) or "none"
    if summary["outcome"] != "done":
        say(f"{summary['venue']}: {summary['outcome']}; {summary['message']}")
        say(f"requests sent now: {sent}; all replies are kept, and the same command continues from there")
        return
    say(f"{summary['venue']}: {summary['snapshot']}; requests sent now: {sent}")
    show_snapshot_counts(summary["counts"])
    screen.say_nonempty(summary["remarks"], "note: ")
    if summary["changes"]:
        show_snapshot_changes(summary["changes"])
    say("next:")
    store, drawn = Store(state, chosen.edition.edition), False
    with suppress(GreBenchError):  # the edition does not exist yet, or cannot be read
        drawn = bool(store.read(DRAW))
    say(f"  {_build_refresh_command(chosen, summary['snapshot'], drawn, file, override, state)}")
    if drawn:
        say(f"note: {store.key} has its sample already and keeps it; for another: --set edition.sample=NAME")


def _build_refresh_command(
    chosen: Settings, snapshot: str, drawn: bool, file: Path | None, override: list[str], state: Path
) -> str:
    """Returns the ``gre-bench refresh`` command that scores the fetched papers; *drawn*: whether a sample exists."""
    edition = chosen.edition
    sample = [] if drawn else [f"edition.papers={edition.papers}", f"edition.seed={edition.seed}"]
    names = [f"sources.snapshot={snapshot}", *sample]
    names += ["sources.unverified_venue=true"] if chosen.sources.unverified_venue else []
    names += [f"edition.only={edition.only}"] if edition.only else []
    names += [] if chosen.writing.judgments else ["writing.judgments=rule"]
    names += [each for each in override if not each.startswith(("fetch.", "edition.seed=", "edition.papers="))]
    words = ["gre-bench", "refresh", "--edition", edition.edition.key]
    words += [word for name in names for word in ("--set", name)]
    words += ["--settings", str(file)] if file else []
    return shlex.join([*words, *(["--state", str(state)] if state != Path("state") else [])])


def plan(
    *,
    state: Path,
    venue: str = argument("VENUE", "Venue, such as ICLR."),
    year: int = argument("YEAR", "Year of the venue."),
    papers: options.Papers = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
) -> CommandResult:
    """Estimate an edition's requests, tokens, hours and cost.

    Nothing is sent. The hours are those of fetching.
    """
    from gre_bench.checks.plan_ahead import plan_fetch_and_refresh

    chosen = load_venue_settings(venue, year, papers, settings, override)
    return CommandResult(plan_fetch_and_refresh(chosen, state), _show_plan)


def _show_plan(plan: dict[str, Any]) -> None:
    have = {name: value for name, value in plan["already_there"].items() if value}
    held = ", ".join(f"{len(value) if isinstance(value, list) else value} {name}" for name, value in have.items())
    papers = f"{counted(plan['papers'], 'paper')}" if plan["drawn"] else f"at most {counted(plan['papers'], 'paper')}"
    say(f"{plan['edition']}, {papers}. Already there: {held or 'nothing'}")
    if plan["fetch"] is None:
        say("fetch: no host is known for it; name one with --set fetch.host=URL")
    elif not plan["fetch"]["requests"]:
        say(f"fetch: nothing is left to request from {plan['fetch']['host']}")
    else:
        say(f"fetch: from {plan['fetch']['host']}")
        for kind, count in plan["fetch"]["requests"].items():
            noun, allowed = "request" if count == 1 else "requests", plan["fetch"]["limits"][kind]
            say(f"fetch: {count} {noun} for {kind}; allowed: {allowed}")
        wait = screen.format_duration(plan["fetch"]["seconds"])
        say(f"fetch: {plan['fetch']['pdfs']} PDFs; all of the fetch takes {wait} at these limits")
    for row in plan["writing"]:
        tokens = f"{row['prompt_tokens'] / 1e6:.2f} M tokens read, {row['reply_tokens'] / 1e6:.2f} M written"
        cost = format_or_dash(row["usd"], ".2f", "price not known", " USD")
        say(f"write: {row['texts']} {row['what']} by {row['model']}: {tokens}, {cost}")
        if row["fits"] is False:
            say(f"write: {row['what']} by {row['model']}: a prompt of usual length does not fit its context")
    total = "total unknown, as a price is unknown" if plan["usd"] is None else f"{plan['usd']:.2f} USD in all"
    say(f"write: {total}" if plan["writing"] else "write: nothing by an LM")
    screen.say_nonempty(plan["over_budget"], "write: ")
    say(f"score: {counted(plan['scoring']['pairs'], 'pair')}; models bench scoring measures how many hours that is")
    more = {"references": "", "committee": "at most ", "validate --certificate": ""}
    for study, most in more.items():
        pairs = counted(plan["scoring"][study.split("-")[-1]], "pair")
        say(f"score: {most}{pairs} more a metric for study {study}, if you run it")
    screen.say_nonempty(plan["learnt"], "note: ")
    screen.say_nonempty((row["gate"] for row in plan["verdicts"]), "verdict: ")
    screen.say_nonempty(plan["assumed"], "assumed: ")


def year(
    *,
    state: Path,
    venue: str = argument("VENUE", "Venue, such as ICLR."),
    the_year: int | None = argument("YEAR", "Year of the venue; default: the newest whose reviews are public.", None),
    roster: str | None = option("--roster NAME", "Models to rank: name of an included list, or your NAME.toml.", None),
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    dry_run: options.DryRun = False,
    no_prefect: bool,
) -> CommandResult:
    """Fetch, score, validate and publish the board of a year.

    Without --host, the fetch contacts the venue's live host at once. The board of a metric that failed validation with
    this evaluation LM and writer is left out of the release (release.unvalidated changes that). If the command is
    stopped, the same command continues it. Nothing is published twice.
    """
    named = [f'fetch.host="{host}"'] if host else []
    settings_given = configuration.load(settings, (*named, *(override or [])))
    configure_prefect(state)
    from gre_bench.reports.yearly import make_yearly_board, year_job

    def flow() -> Any:
        from gre_bench.flows.year import year

        return year(venue, roster, the_year, settings_given, state.resolve())

    job = year_job(venue, roster, the_year, settings_given, state, False, False, None)
    if dry_run:
        from gre_bench.checks.plan_ahead import plan_year

        return CommandResult(plan_year(job.settings, state), _show_plan_of_year)
    summary = run_with_or_without_prefect(not no_prefect, flow, lambda: make_yearly_board(job))
    return CommandResult(summary, _show_year_summary, choose_exit_code(summary))


def _show_year_summary(summary: dict[str, Any]) -> None:
    for name, stage in summary["stages"].items():
        message = f"; {stage['message']}" if stage.get("message") else ""
        say(f"{name}: {stage.get('outcome', 'done')}{message}")
    say(f"{summary['edition']}: {summary['outcome']}; {summary['message']}")


def _show_plan_of_year(estimate: dict[str, Any]) -> None:
    _show_plan(estimate)
    planned = estimate["validation"]
    metrics, changes = ", ".join(planned["metrics"]), len(planned["changes"])
    say(f"validate: {metrics} by {changes} changes, counted above" if metrics else "validate: nothing is new")
