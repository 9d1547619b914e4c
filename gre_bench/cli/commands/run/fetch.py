"""``gre-bench fetch``: downloads the papers and reviews of one venue and year from OpenReview into a snapshot."""

from __future__ import annotations

import json
import logging
import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import ended
from gre_bench.cli.views import screen
from gre_bench.cli.views.snapshots import show_changes, show_counts
from gre_bench.core import settings as configuration
from gre_bench.core.errors import GreBenchError
from gre_bench.store import Store
from gre_bench.store.queries import DRAW

Venue = Annotated[str, typer.Argument(metavar="VENUE", help="Venue, such as ICLR.")]
Year = Annotated[int, typer.Argument(metavar="YEAR", help="Year of the venue.")]
Host = Annotated[
    str | None,
    typer.Option("--host", metavar="URL", help="Host to use instead of the venue's, such as one on this machine."),
]


def fetch(
    venue: Venue,
    year: Year,
    papers: options.Papers = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    again: options.Again = False,
    unverified_venue: options.UnverifiedVenue = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Download a venue-year's papers and reviews from OpenReview.

    It contacts the venue's live host in data/venues.toml at once, unless --host names another. The result is a
    snapshot. Requests stay within the service's limits. Log in with OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or
    with OPENREVIEW_TOKEN. If the account asks for a second factor, set OPENREVIEW_TOTP_SECRET or OPENREVIEW_MFA_CODE
    too. If the command is stopped, the same command continues it.
    """
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform

    more = ["sources.unverified_venue=true"] if unverified_venue else []
    chosen = venue_settings(venue, year, papers, settings, [*(override or []), *more], host)
    configure_prefect(state)
    from gre_bench.flows.fetch import FetchJob, fetch_snapshot
    from gre_bench.flows.fetch import fetch as fetch_flow
    from gre_bench.ingest.openreview.fetching import fetch_run
    from gre_bench.tasks import steps

    job = FetchJob(chosen, state.resolve(), again)
    with _noticed(as_json), _followed(fetch_run(chosen, job.state, again) / "status.json", as_json):
        summary = perform(
            not no_prefect,
            lambda: fetch_flow(chosen, job.state, again),
            lambda: fetch_snapshot(job, steps.undecorated(), lambda line: screen.say(line, screen.err)),
        )
    if as_json:
        screen.print_json(summary)
    else:
        _show_fetched(summary, chosen, settings, override or [], state)
    raise ended(summary)


def venue_settings(
    venue: str, year: int, papers: str | None, file: Path | None, override: list[str] | None,
    host: str | None,
) -> configuration.Settings:  # fmt: skip
    """Returns the settings for fetching *venue* and *year*: those of *file*, overridden by all other parameters.

    - *papers*: a number of papers, or the path of a file of paper ids.
    - *override*: settings as ``key=value``, which take precedence over everything else.
    - *host*: the URL of the service; None for the venue's own.
    """
    values: dict[str, Any] = {"edition.venue": f'"{venue}"', "edition.year": year}
    values |= _sample(papers)
    pairs = [f"{key}={value}" for key, value in values.items() if value is not None]
    pairs += [f'fetch.host="{host}"'] if host else []
    return configuration.load(file, (*pairs, *(override or [])))


def _sample(papers: str | None) -> dict[str, Any]:
    """Returns the settings that ``--papers`` stands for, by key.

    *papers* is a number of papers to sample, or the path of a file of ids. All papers in the file are taken.
    """
    if papers is None or papers.isdigit():
        return {"edition.papers": papers}
    from gre_bench.ingest.records.row_files import read_ids

    return {"edition.only": papers, "edition.papers": len(read_ids(Path(papers)))}


@contextmanager
def _noticed(quiet: bool) -> Iterator[None]:
    """Prints the messages of the fetch on standard error until the block ends.

    The messages name the host that it contacts, and warn of missing answers. If *quiet*, only warnings are printed.
    """

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            screen.say(record.getMessage(), screen.err)

    log, handler = logging.getLogger("gre_bench.fetch"), Said()
    log.addHandler(handler)
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
        log.propagate = True


@contextmanager
def _followed(status: Path, quiet: bool) -> Iterator[None]:
    """Shows a progress bar of the fetch until the block ends, with the time remaining under the service's limits.

    *status* is the fetch's status file. Nothing is shown if *quiet*, or without a terminal.
    """
    if quiet or not screen.err.is_terminal:
        yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    stop = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen.err, transient=True) as progress:
        bar = progress.add_task("starting", total=None)

        def follow() -> None:
            while not stop.wait(0.25):
                try:
                    now = json.loads(status.read_text())
                except (OSError, ValueError):
                    continue
                if now["pid"] == os.getpid():
                    left = f", {screen.duration(now['remaining_s'])} by the limits" if now["remaining_s"] else ""
                    text = f"{now['stage']}{left}"
                    progress.update(bar, description=text, total=now["total"] or None, completed=now["done"])

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _show_fetched(
    summary: dict[str, Any], chosen: configuration.Settings, file: Path | None, override: list[str], state: Path
) -> None:
    sent = ", ".join(f"{count} {kind}" for kind, count in sorted(summary["requests"].items())) or "none"
    if summary["outcome"] != "done":
        screen.say(f"{summary['venue']}: {summary['outcome']}; {summary['message']}")
        screen.say(f"requests sent now: {sent}; all replies are kept, and the same command continues from there")
        return
    screen.say(f"{summary['venue']}: {summary['snapshot']}; requests sent now: {sent}")
    show_counts(summary["counts"])
    for remark in summary["remarks"]:
        screen.say(f"note: {remark}")
    if summary["changes"]:
        show_changes(summary["changes"])
    screen.say("next:")
    store, drawn = Store(state, chosen.edition.edition), False
    with suppress(GreBenchError):  # there is no such edition yet, or it cannot be read
        drawn = bool(store.read(DRAW))
    screen.say(f"  {_next(chosen, summary['snapshot'], drawn, file, override, state)}")
    if drawn:
        screen.say(f"note: {store.key} has its sample already and keeps it; for another: --set edition.sample=NAME")


def _next(
    chosen: configuration.Settings, snapshot: str, drawn: bool, file: Path | None, override: list[str], state: Path
) -> str:
    """Returns the ``gre-bench refresh`` command that scores the fetched papers.

    - *chosen*: the settings of the fetch, which *file* and *override* gave.
    - *snapshot*: the name of the snapshot.
    - *drawn*: whether the edition has a sample already; the command then states no number of papers and no seed.

    If the settings name no writer of judgments, the command names the rule writer, because scoring needs judgments.
    """
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
