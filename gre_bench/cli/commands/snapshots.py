"""``gre-bench plan``, ``fetch``, ``verify``: what an edition takes, bringing it home, whether it is as it was."""

from __future__ import annotations

import json
import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options, releases
from gre_bench.cli.views import screen
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError

DONE, INCOMPLETE = 0, 3
SHOWN = 20

app = typer.Typer()

Venue = Annotated[str, typer.Argument(help="Venue, such as ICLR.")]
Year = Annotated[int, typer.Argument(help="Year of the venue.")]
Papers = Annotated[int | None, typer.Option("--papers", min=2, help="Papers of the sample; 300 if not given.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the sample; 0 if not given.")]
Host = Annotated[str | None, typer.Option("--host", help="Host to ask instead of the venue's, such as a loopback.")]
Paused = Annotated[
    str | None, typer.Option("--when-paused", help="wait until the service allows more requests, or exit (code 3).")
]
Again = Annotated[bool, typer.Option("--again", help="Ask for everything anew, and say what changed.")]
Folder = Annotated[Path, typer.Argument(help="Folder of a snapshot, or of a release.")]
Against = Annotated[Path | None, typer.Option("--against", help="An earlier snapshot: say what changed since.")]
Public = Annotated[
    Path | None, typer.Option("--public", help="Write what may be published of it to this file (.jsonl).")
]
InStore = Annotated[
    bool, typer.Option("--store", help="Of a release: compare its tables with those of the edition's store.")
]
Rates = Annotated[
    Path | None, typer.Option("--rates", help="Output of bench scoring --json on the machine that will score.")
]

AnyVenue = Annotated[str | None, typer.Argument(help="Venue, such as ICLR.")]
AnyYear = Annotated[int | None, typer.Argument(help="Year of the venue.")]
Published = Annotated[
    list[str] | None, typer.Option("--experiment", help="Published experiment, such as 004_board; repeatable.")
]
AllPublished = Annotated[bool, typer.Option("--all", help="All published experiments, in one table.")]


@app.command("plan", epilog=options.EXIT_CODES)
def plan(
    venue: AnyVenue = None,
    year: AnyYear = None,
    experiment: Published = None,
    every: AllPublished = False,
    papers: Papers = None,
    seed: Seed = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    again: Again = False,
    rates: Rates = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Say what an edition will take before anything is sent: requests, PDFs, hours, tokens, GPU hours, money.

    Or what published experiments will take, from the sizes that the papers print; none of their files is needed.
    """
    if experiment or every:
        from gre_bench.catalogs.experiments import experiments
        from gre_bench.cli.views.experiments import show_experiments
        from gre_bench.preflight.plan_published import plan_published

        planned = plan_published(experiments(tuple(experiment or ())))
        return screen.print_json(planned) if as_json else show_experiments(planned)
    if venue is None or year is None:
        raise SettingsError("name the venue and the year, such as ICLR 2025; or --experiment NAME, or --all")
    from gre_bench.preflight.plan_ahead import plan_ahead

    chosen = _chosen(venue, year, papers, seed, settings, override, host)
    found = plan_ahead(chosen, state, rates, again)
    return screen.print_json(found) if as_json else _show_plan(found)


@app.command("fetch", epilog=options.EXIT_CODES)
def fetch(
    venue: Venue,
    year: Year,
    papers: Papers = None,
    seed: Seed = None,
    settings: options.SettingsFile = None,
    override: options.Set = None,
    host: Host = None,
    when_paused: Paused = None,
    again: Again = False,
    unverified_venue: options.UnverifiedVenue = False,
    engine: options.Engine = True,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Bring a venue-year's papers and reviews home from OpenReview into a snapshot, within the service's limits.

    Log in with OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD (OPENREVIEW_TOTP_SECRET or OPENREVIEW_MFA_CODE where the
    account asks for a second factor), or OPENREVIEW_TOKEN. Stopped anywhere, the same command goes on from there.
    """
    from gre_bench.pipeline.runs.prefect_engine import perform, settle

    more = [f"fetch.when_paused={when_paused}"] if when_paused else []
    more += ["sources.unverified_venue=true"] if unverified_venue else []
    chosen = _chosen(venue, year, papers, seed, settings, [*(override or []), *more], host)
    settle(state)
    from gre_bench.flows.fetch import FetchJob, bring, take_of
    from gre_bench.flows.fetch import fetch as fetch_flow
    from gre_bench.tasks import steps

    job = FetchJob(chosen, state.resolve(), again)
    with _followed(take_of(job) / "status.json", as_json):
        summary = perform(
            engine,
            lambda: fetch_flow(chosen, job.state, again),
            lambda: bring(job, steps.undecorated(), lambda line: screen.say(line, screen.err)),
        )
    if as_json:
        screen.print_json(summary)
    else:
        _show_fetched(summary, chosen, settings, override or [], state)
    raise typer.Exit(DONE if summary["outcome"] == "done" else INCOMPLETE)


@app.command("verify", epilog=options.EXIT_CODES)
def verify(
    snapshot: Folder,
    against: Against = None,
    public: Public = None,
    in_store: InStore = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Read every file of a snapshot or release again and say whether each is as it was written.

    Of a snapshot also what changed since another, and what of it may be published. Of a release also whether its tables
    are those of the edition's store (--store).
    """
    from gre_bench.release.manifest import is_release

    if is_release(snapshot) and not (against or public):
        return _verify_release(snapshot, state if in_store else None, as_json)
    if in_store:
        raise SettingsError(f"{snapshot} is no release, and --store compares a release with its edition's store")
    from gre_bench.ingest.records.venues import venue_of
    from gre_bench.ingest.snapshot.diff import changes
    from gre_bench.ingest.snapshot.publication import write_public
    from gre_bench.ingest.snapshot.snapshot import Snapshot

    opened = Snapshot.open(snapshot)
    opened.verify()
    manifest = opened.manifest
    found: dict[str, Any] = {"snapshot": str(snapshot), "digest": opened.digest, "files": len(manifest.files)}
    found |= {"counts": manifest.counts, "remarks": manifest.remarks, "source": manifest.source}
    found |= {"changes": changes(Snapshot.open(against), opened)} if against else {}
    if public:
        found |= {"public": write_public(opened, venue_of(manifest.venue, manifest.year), public)}
    if as_json:
        return screen.print_json(found)
    screen.say(f"{snapshot}: {found['files']} files are as they were written; digest {opened.digest}")
    screen.say(f"{manifest.venue} {manifest.year}, {manifest.source}, made {manifest.created_at}")
    _show_counts(manifest.counts)
    for remark in manifest.remarks:
        screen.say(f"note: {remark}")
    if against:
        _show_changes(found["changes"])
    if public:
        screen.say(f"{public}: {found['public']['texts']} texts, {found['public']['withheld']} withheld by licence")


def _verify_release(folder: Path, state: Path | None, as_json: bool) -> None:
    found = releases.verify(folder, state)
    return screen.print_json(found) if as_json else releases.show_verified(folder, found)


def _chosen(
    venue: str, year: int, papers: int | None, seed: int | None, file: Path | None, override: list[str] | None,
    host: str | None,
) -> configuration.Settings:  # fmt: skip
    given = {"edition.venue": f'"{venue}"', "edition.year": year, "edition.papers": papers, "edition.seed": seed}
    more = [f"{key}={value}" for key, value in given.items() if value is not None]
    more += [f'fetch.host="{host}"'] if host else []
    return configuration.load(file, (*more, *(override or [])))


@contextmanager
def _followed(status: Path, quiet: bool) -> Iterator[None]:
    """Draws how far the fetch is, with what the limits known now leave to wait; nothing where nobody looks."""
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
        screen.say(f"requests sent now: {sent}; what came is kept, the same command goes on from there")
        return
    screen.say(f"{summary['venue']}: {summary['snapshot']}; requests sent now: {sent}")
    _show_counts(summary["counts"])
    for remark in summary["remarks"]:
        screen.say(f"note: {remark}")
    if summary["changes"]:
        _show_changes(summary["changes"])
    screen.say(f"next: {_next(chosen, summary['snapshot'], file, override, state)}")


def _next(chosen: configuration.Settings, snapshot: str, file: Path | None, override: list[str], state: Path) -> str:
    """The command that scores what was fetched: the same sample, with the settings *file* and overrides of the fetch.

    Who writes the judgments is named where nobody is, as without any there is nothing to score.
    """
    edition = chosen.edition
    names = [f"sources.snapshot={snapshot}", f"edition.papers={edition.papers}", f"edition.seed={edition.seed}"]
    names += ["sources.unverified_venue=true"] if chosen.sources.unverified_venue else []
    names += [] if chosen.writing.judgments else ["writing.judgments=rule"]
    names += [one for one in override if not one.startswith("fetch.")]
    words = ["gre-bench", "refresh", "--edition", edition.edition.key]
    words += [word for name in names for word in ("--set", name)]
    words += ["--settings", str(file)] if file else []
    return shlex.join([*words, *(["--state", str(state)] if state != Path("state") else [])])


def _show_counts(counts: dict[str, int]) -> None:
    shown = {name.removeprefix("outcome_"): count for name, count in counts.items() if count}
    screen.say(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in shown.items()))


def _show_changes(found: dict[str, Any]) -> None:
    counts = ", ".join(f"{count} {what}" for what, count in found["counts"].items()) or "nothing"
    screen.say(f"changed since {found['since'][:12]}: {counts}")
    for line in found["lines"][:SHOWN]:
        screen.say(line)
    if len(found["lines"]) > SHOWN:
        screen.say(f"and {len(found['lines']) - SHOWN} more; all of them with --json")


def _show_plan(found: dict[str, Any]) -> None:
    have = {name: value for name, value in found["already_there"].items() if value}
    there = ", ".join(f"{len(value) if isinstance(value, list) else value} {name}" for name, value in have.items())
    papers = f"{found['papers']} papers" if found["drawn"] else f"at most {found['papers']} papers"
    screen.say(f"{found['edition']}, {papers}. Already there: {there or 'nothing'}")
    if found["fetch"] is None:
        screen.say("fetch: it is nowhere to be asked for; name a host with --host")
    elif not found["fetch"]["requests"]:
        screen.say(f"fetch: nothing is left to ask {found['fetch']['host']} for")
    else:
        screen.say(f"fetch: from {found['fetch']['host']}")
        for kind, count in found["fetch"]["requests"].items():
            what = "request" if count == 1 else "requests"
            screen.say(f"fetch: {count} {what} for {kind}; allowed: {found['fetch']['limits'][kind]}")
        wait = screen.duration(found["fetch"]["seconds"])
        screen.say(f"fetch: {found['fetch']['pdfs']} PDFs, {wait} at these limits")
    for row in found["writing"]:
        tokens = f"{row['prompt_tokens'] / 1e6:.2f} M tokens read, {row['reply_tokens'] / 1e6:.2f} M written"
        screen.say(f"write: {row['texts']} {row['what']} by {row['model']}: {tokens}, {_usd(row['usd'])}")
        if row["fits"] is False:
            screen.say(f"write: {row['what']} by {row['model']}: a prompt of usual length does not fit its context")
    total = "the sum is not known, as a price is not" if found["usd"] is None else f"{_usd(found['usd'])} in all"
    screen.say(f"write: {total}" if found["writing"] else "write: nothing by an LM")
    for line in found["over_budget"]:
        screen.say(f"write: {line}")
    hours = found["scoring"]["gpu_hours"]
    screen.say(f"score: {found['scoring']['pairs']} pairs" + ("" if hours is None else f", {hours:.2f} hours"))
    for line in found["assumed"]:
        screen.say(f"assumed: {line}")


def _usd(amount: float | None) -> str:
    return "price not known" if amount is None else f"{amount:.2f} USD"
