"""The command ``gre-bench``. Heavy imports live inside the command that needs them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from gre_bench.cli import stopping
from gre_bench.cli.commands import (
    agreement,
    bench,
    board,
    compare,
    doctor,
    domains,
    examiners,
    fetch,
    guidelines,
    history,
    hygiene,
    known_answers,
    models,
    options,
    own_reviews,
    pdfs,
    releases,
    snapshots,
    sql,
    tune,
    validation,
    why,
)
from gre_bench.cli.commands.options import EXIT_CODES
from gre_bench.cli.views import board as board_screen
from gre_bench.cli.views import screen
from gre_bench.core import settings as configuration
from gre_bench.core.errors import (
    GreBenchError,
    LMError,
    LockedError,
    Paused,
    PromptError,
    ServiceDown,
    SettingsError,
    SourceError,
    Stopped,
    StoreError,
    UnfinishedError,
    fault_of_a_path,
    fault_of_the_machine,
)
from gre_bench.core.records import HUMAN
from gre_bench.core.resources import resource
from gre_bench.pipeline.runs.prefect_engine import perform, settle
from gre_bench.store import Store, find_editions, interrupted, no_edition

DONE, FAULT, BAD_INPUT, INCOMPLETE = 0, 1, 2, 3
OUTCOMES = {"done": DONE, "incomplete": INCOMPLETE, "fault": FAULT}
DEMO = resource("deployments", "demo.toml")
NEXT = (
    "",
    "Next:",
    "  gre-bench leaderboard SAMPLE-2026 --json        # the same numbers for machines",
    "  gre-bench import reviews --help                 # bring reviews of your own candidate",
    "  gre-bench refresh --dry-run --limit 4           # what a pilot would do, and how long it takes",
)

app = typer.Typer(
    help="GRE-bench: how well do language models review research papers? Candidates' reviews are scored by the "
    "information they give about human reviews (GEM, in nats); no gold standard is needed.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
imports = typer.Typer(help="Bring in papers, reviews or judgments that you already have.", no_args_is_help=True)
app.add_typer(imports, name="import")
app.add_typer(tune.app, name="tune")
app.add_typer(bench.app, name="bench")
app.add_typer(guidelines.app, name="guidelines")
app.add_typer(examiners.app, name="examiners")
app.add_typer(models.app, name="models")
board.register(app)
sql.register(app)
why.register(app)
hygiene.register(app)
history.register(app)
pdfs.register(app)
compare.register(app)
known_answers.register(app)
releases.register(app)
app.add_typer(fetch.app)
app.add_typer(snapshots.app)


@app.command(epilog=EXIT_CODES)
def refresh(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    candidate: options.Candidate = None,
    limit: options.Limit = None,
    dry_run: options.DryRun = False,
    retry_failed: options.RetryFailed = False,
    engine: options.Engine = True,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Bring an edition up to date: import, sample, plan, score what is missing, publish the board.

    Without --settings: the settings of the edition's last refresh, or the sample edition if no edition is named.
    A run that was stopped is continued by the same command.
    """
    chosen = _settings(settings, edition, override, state)
    if dry_run:
        found = _estimate(chosen, state, tuple(candidate or ()) or None, limit, retry_failed)
        return screen.print_json(found) if as_json else screen.estimate(found)
    summary = _run(chosen, state, candidate, limit, retry_failed, wait, engine, as_json)
    if as_json:
        screen.print_json(summary)
    else:
        board_screen.summary(summary, Store(state, summary["edition"]))
    raise typer.Exit(OUTCOMES[summary["outcome"]])


@app.command(epilog=EXIT_CODES)
def demo(engine: options.Engine = True, wait: options.Wait = 0.0, state: options.State = Path("state")) -> None:
    """Refresh the sample edition, show its board, and say what to try next. Needs no GPU, key or network."""
    summary = _run(configuration.load(DEMO), state, None, None, False, wait, engine, False)
    board_screen.summary(summary, Store(state, summary["edition"]))
    for line in NEXT:
        screen.say(line)
    raise typer.Exit(OUTCOMES[summary["outcome"]])


@imports.command("papers", epilog=EXIT_CODES)
def import_papers(
    file: options.PapersFile,
    edition: options.IntoEdition,
    new: options.New = False,
    rows: options.Rows = None,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add papers to an edition. Rows are checked one by one; a report says which were refused and why."""
    from gre_bench.pipeline import intake

    kept = intake.row_range(rows)
    _import(
        "papers",
        edition,
        new,
        state,
        wait,
        as_json,
        lambda store, run_id, _: intake.import_papers(store, run_id, file, kept),
    )


@imports.command("reviews", epilog=EXIT_CODES)
def import_reviews(
    file: options.ReviewsFile,
    edition: options.IntoEdition,
    by: options.By = None,
    human: options.ByHumans = False,
    writer: options.JudgmentsBy = None,
    new: options.New = False,
    rows: options.Rows = None,
    make_papers: options.MakePapers = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add reviews, by humans (candidate "human") or by any candidate, with or without judgments.

    Columns: paper_id; review_id (or slot, for human reviews); candidate (or --as, --human); review; judgments (text or
    list of lines); writer; slot; rating; row. Rows are checked one by one; a report says which were refused and why.
    """
    from gre_bench.pipeline import intake

    if by is not None and human:
        raise SettingsError("--as and --human: reviews are either a candidate's or humans'; give one of the two")
    how = (HUMAN if human else by, writer, intake.row_range(rows), make_papers)
    _import(
        "reviews",
        edition,
        new,
        state,
        wait,
        as_json,
        lambda store, run_id, _: intake.import_reviews(store, run_id, file, *how),
    )


@imports.command("notes", epilog=EXIT_CODES)
def import_notes(
    file: options.NotesFile,
    edition: options.IntoEdition,
    text: options.Texts = None,
    pdfs: options.Pdfs = None,
    new: options.New = False,
    unverified_venue: options.UnverifiedVenue = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add the papers and human reviews of a venue-year's OpenReview notes, frozen with their PDFs or texts."""
    from gre_bench.core.settings import SourceSettings
    from gre_bench.pipeline.reading import import_notes

    named = SourceSettings(notes=file, texts=text, pdfs=pdfs, unverified_venue=unverified_venue)
    _import(
        "notes",
        edition,
        new,
        state,
        wait,
        as_json,
        lambda store, run_id, chosen: import_notes(store, run_id, chosen.edition.edition, named),
    )


@app.command(epilog=EXIT_CODES)
def status(
    edition: options.AnyEdition = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Say what is done, running, missing, spent and left of the budget in each edition and study. Never waits."""
    from gre_bench.cli.views.studies import show_study
    from gre_bench.pipeline.runs import spending, studies

    found = []
    for key in [edition] if edition else find_editions(state):
        store = Store(state, key)
        if not store.exists:
            raise no_edition(state, key)
        current = store.status() or {"edition": key, "state": "new", "metrics": [], "message": "nothing was run yet"}
        if current["state"] == "running" and not store.is_being_written():
            current |= {"state": "cut short", "message": f"run it again: gre-bench refresh --edition {key}"}
        found.append(current | {"edition": store.key} | spending.account(store))
    asked = [] if edition else studies.study_rows(state)
    if as_json:
        return screen.print_json([*found, *asked])
    if not found:
        screen.say(f"no editions in {state.absolute()}; try: gre-bench refresh")
    for current in found:
        screen.status(current)
    for row in asked:
        show_study(row)


domains.register(imports, lambda *asked: _import(*asked))
doctor.register(app, lambda *asked: _settings(*asked))
for _more in (validation, agreement, own_reviews):
    _more.register(app, lambda *asked: _settings(*asked), lambda *asked: _progress_bar(*asked), OUTCOMES)


@stopping.listening()
def main() -> None:
    """Runs the command; an expected failure is one line on standard error and an exit code."""
    try:
        screen.settle_encoding()
        try:
            app()
        finally:
            # A disk that is full is found when what was said is written out.
            if sys.stdout:
                sys.stdout.flush()
    except GreBenchError as error:
        screen.error(str(error))
        sys.exit(exit_code(error))
    except BrokenPipeError:
        # Who reads has enough. What is left is thrown away, or Python would try once more to write it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        given, machine = fault_of_a_path(error), fault_of_the_machine(error)
        if not (line := given or machine):
            raise
        screen.error(line)
        sys.exit(BAD_INPUT if given else FAULT)
    except (KeyboardInterrupt, Stopped, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not interrupted(error):
            raise
        stopping.end()


def exit_code(error: GreBenchError) -> int:
    """2 for what the user must mend, 3 for what can be done later (a busy edition, a pause, half a board), 1 else."""
    if isinstance(error, LockedError | Paused | ServiceDown | UnfinishedError):
        return INCOMPLETE
    return BAD_INPUT if isinstance(error, SettingsError | SourceError | PromptError | LMError) else FAULT


def _settings(
    file: Path | None, edition: str | None, overrides: list[str] | None, state: Path
) -> configuration.Settings:
    overrides = list(overrides or [])
    if edition is not None:
        overrides += [f"edition.{key}={value}" for key, value in configuration.edition_parts(edition).items()]
    if file is None and edition is not None:
        last = _last_settings(Store(state, edition))
        return configuration.load_over(json.loads(last) if last else {}, tuple(overrides))
    return configuration.load(file or DEMO, tuple(overrides))


def _last_settings(store: Store) -> str | None:
    """Settings of the edition's last refresh, from the store itself where the read copy cannot tell."""
    if not store.exists:
        return None
    try:
        rows = store.read("last_settings")
    except StoreError:
        with store.lock("look at the last settings"):
            rows = store.rows("last_settings")
    return rows[0]["settings"] if rows else None


def _estimate(
    chosen: configuration.Settings, state: Path, candidates: tuple[str, ...] | None, limit: int | None, retry: bool
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        settle(Path(folder))
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.preflight.dry_run import estimate

        return estimate(Job(chosen, state, candidates, limit, retry), Path(folder))


def _run(
    chosen: configuration.Settings,
    state: Path,
    candidate: list[str] | None,
    limit: int | None,
    retry_failed: bool,
    wait: float,
    engine: bool,
    quiet: bool,
) -> dict[str, Any]:
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.pipeline.runs.unchanged import unchanged

    store = Store(state, chosen.edition.edition)
    job = Job(chosen, state.resolve(), tuple(candidate or ()) or None, limit, retry_failed, wait)
    if found := unchanged(store, job):
        return found
    settle(state)
    with _progress_bar(store, quiet):
        from gre_bench.flows.annual_refresh import annual_refresh, refresh, usable
        from gre_bench.tasks import steps

        usable(job)
        return perform(
            engine,
            lambda: annual_refresh(chosen, state.resolve(), candidate, limit, retry_failed, wait),
            lambda: refresh(job, steps.undecorated()),
        )


@contextmanager
def _progress_bar(store: Store, quiet: bool) -> Iterator[None]:
    """Draws the run's own status while it works; nothing where nobody looks."""
    if quiet or not screen.err.is_terminal:
        yield
        return
    from gre_bench.cli.views.bar import drawn

    with drawn(store):
        yield


def _import(
    kind: str, edition: str, new: bool, state: Path, wait: float, as_json: bool, work: Callable[..., Any]
) -> None:
    """Runs *work* on the locked store and shows its report; exit code 2 if a row was refused.

    `SettingsError` for an edition that is not there, unless it is a *new* one.
    """
    from gre_bench.pipeline.runs.job import recorded

    parts = tuple(f"edition.{key}={value}" for key, value in configuration.edition_parts(edition).items())
    chosen = configuration.load_over({}, parts)
    store = Store(state, edition)
    if not (new or store.exists):
        raise SettingsError(f"{no_edition(state, store.key)} (to start a new edition of that name: --new)")
    with store.lock(f"import {kind}", wait), recorded(store, f"import {kind}", chosen, shown=False) as progress:
        report = work(store, progress.status["run_id"], chosen)
        progress.end("done")
    if as_json:
        screen.print_json(report)
    else:
        screen.imported(report, store.key)
    raise typer.Exit(BAD_INPUT if report["refused"] else DONE)


if __name__ == "__main__":
    main()
