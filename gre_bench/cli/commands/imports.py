"""``gre-bench import``: adds papers, reviews, notes, points or graded texts to an edition, and undoes imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandApp, CommandResult
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.commands.running import (
    BAD_INPUT,
    DONE,
    INCOMPLETE,
    ask_for_confirmation,
    load_run_settings,
    open_stored_edition,
)
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import use_file_limits
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import HUMAN, parse_edition_key
from gre_bench.core.settings import SourceSettings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.cells import UNFINISHED, UNKNOWN
from gre_bench.ingest.records.columns import ColumnOptions, parse_row_filters, parse_stated_columns
from gre_bench.store import INCLUDED_EDITIONS, Row, Store, missing_edition_error
from gre_bench.store.queries import DRAW, IMPORTS, UNDONE_OF_OTHERS, ImportRow

INCLUDED = " or ".join(INCLUDED_EDITIONS)
SHOWN_REFUSALS = 10
SHOWN_COLUMNS = 12
SHOWN_NAMES = 5
FEW_LINES = 0.5
"""A candidate is flagged if its median number of judgments per review is less than this share of the human number. The
board uses the same share."""
NEXT_COMMANDS = {
    "papers": ("import reviews FILE", "their reviews"),
    "points": ("study points", "compare them with their labels"),
}
"""Kind of import → the command to run next, and what it does. For other kinds, the next command is ``refresh``."""
ROWS = "A table (CSV, TSV, XLSX, JSON or Parquet) with paper_id"

New = Annotated[bool, option("--new", "Start the edition if it does not exist yet.")]

app = CommandApp("Add papers, reviews, notes or graded texts to an edition.")


@app.callback()
def set_input_limits(
    *,
    context: typer.Context,
    bounds: list[str] | None = option(
        "--set KEY=VALUE", "A limit for each file: inputs.memory in MB, or inputs.seconds; repeatable.", None
    ),
) -> None:
    """Sets the limits on the files that the following subcommand reads."""
    inputs = configuration.load_import_limit_settings(tuple(bounds or ()))
    context.with_resource(use_file_limits(inputs.memory, inputs.seconds))


@app.command("papers")
def import_papers(
    *,
    state: Path,
    file: Path = argument("FILE", f"{ROWS} and optional title, abstract, text, row."),
    edition: options.IntoEdition,
    new: New = False,
    rows: options.Rows = None,
    columns: options.Columns = None,
    where: options.Where = None,
    licence: options.Licence = None,
) -> CommandResult:
    """Add papers to an edition.

    Rows are checked one by one; a report says which were refused and why.
    """
    from gre_bench.pipeline import importing

    how = (
        importing.parse_row_range(rows),
        licence,
        ColumnOptions(parse_stated_columns(columns or ()), where=parse_row_filters(where or ())),
    )
    return run_import("papers", edition, new, state, importing.import_papers, file, *how)


@app.command("reviews")
def import_reviews(
    *,
    state: Path,
    file: Path = argument(
        "FILE",
        f"{ROWS}, candidate, and review and/or judgments; a folder of tables, or of texts named by their papers; "
        "or what a known tool writes.",
    ),
    edition: options.IntoEdition,
    by: str | None = option("--as NAME", "Candidate who wrote these reviews, if the file names none.", None),
    human: bool = option("--human", "These are human reviews, if the file names no candidate.", False),
    writer: options.Writer = None,
    new: New = False,
    rows: options.Rows = None,
    make_papers: bool = option("--make-papers", "Make a bare paper for each unknown paper id.", False),
    columns: options.Columns = None,
    where: options.Where = None,
    licence: options.Licence = None,
) -> CommandResult:
    """Add reviews by humans or by a candidate.

    They may come with judgments. Columns: paper_id; review_id (or slot, for human reviews); candidate (or --as,
    --human); review; judgments (text or list of lines); writer; rating; slot (number of the review among the paper's
    human reviews); row (the paper's row number, for --rows). Rows are checked one by one; a report says which were
    refused and why.
    """
    from gre_bench.pipeline import importing

    if by is not None and human:
        raise SettingsError("--as and --human: reviews are either a candidate's or humans'; give one of the two")
    how = (HUMAN if human else by, writer, importing.parse_row_range(rows), make_papers)
    more: dict[str, Any] = {
        "licence": licence,
        "reading": ColumnOptions(parse_stated_columns(columns or ()), where=parse_row_filters(where or ())),
    }
    return run_import("reviews", edition, new, state, importing.import_reviews, file, *how, **more)


@app.command("inspect")
def import_inspect(
    *,
    state: Path,
    logs: Path = argument("LOGS", "A log of inspect_ai (.eval or .json), or a folder of logs."),
    edition: options.IntoEdition,
    by: str | None = option("--as NAME", "Name on the board, if the logs are of one model.", None),
    epoch: int | None = option(
        "--epoch N", "Use the reviews of this epoch; default: the first epoch that has one.", None, min=1
    ),
    licence: options.Licence = None,
) -> CommandResult:
    """Add the reviews in logs of inspect_ai.

    Each sample is a paper, each model a candidate. The paper's id is paper_id in the sample's metadata, else the
    sample's id. The review is the completion of the sample's output. Of several epochs, the first that has a review
    counts; of several logs, the one started last. Samples without a review (error, not run, refused, empty) are
    reported one by one. The exit code is 3 if running them again may help.
    """
    from gre_bench.ingest.records.inspect_logs import list_log_files
    from gre_bench.pipeline import importing
    from gre_bench.pipeline.own_reviews import check_candidate_name

    if by is not None:
        check_candidate_name(by)
    list_log_files(logs)
    how: dict[str, Any] = {"only": by is not None, "epoch": epoch, "licence": licence}
    return run_import("inspect logs", edition, False, state, importing.import_reviews, logs, by, **how)


@app.command("notes")
def import_notes(
    *,
    state: Path,
    file: options.NotesFile,
    edition: options.IntoEdition,
    texts: Path | None = option("--texts FILE", "Papers' texts (.parquet, .csv or .jsonl: paper_id, text).", None),
    pdfs: Path | None = option("--pdfs FOLDER", "Folder with the papers' PDFs, <paper id>.pdf.", None),
    new: New = False,
    unverified_venue: options.UnverifiedVenue = False,
    licence: options.Licence = None,
) -> CommandResult:
    """Add papers and human reviews from a file of OpenReview notes.

    The notes are kept as a snapshot, with the PDFs or texts of the papers.
    """
    from gre_bench.pipeline.reading import import_notes

    named = SourceSettings(notes=file, texts=texts, pdfs=pdfs, unverified_venue=unverified_venue)
    named_edition = parse_edition_key(edition)
    return run_import("notes", edition, new, state, import_notes, named_edition, named, licence)


@app.command("points")
def import_points(
    *,
    state: Path,
    file: Path = argument("FILE", f"{ROWS}, point, review_id or candidate, and columns of labels."),
    edition: options.IntoEdition,
    order: list[str] | None = option(
        "--order LABEL=WORST,...,BEST", "Values of a label, worst first; repeat it for several labels.", None
    ),
    columns: options.Columns = None,
    where: options.Where = None,
) -> CommandResult:
    """Add labelled points of reviews, for study points.

    A point is a single remark of a review. Every other column is a label if it has numbers, true and false, or yes
    and no; higher is better. A column that numbers the points, such as item_number, is not a label. --order makes a
    label from a column of words. Import all points of a review, labelled or not: the study measures what the review
    loses when one point at a time is left out.
    """
    from gre_bench.ingest.records.tables import parse_ordered_labels
    from gre_bench.pipeline import importing

    how = (
        parse_ordered_labels(order or ()),
        ColumnOptions(parse_stated_columns(columns or ()), where=parse_row_filters(where or ())),
    )
    return run_import("points", edition, False, state, importing.import_labelled_points, file, *how)


@app.command("release")
def import_release(
    *, state: Path, release: str = argument("RELEASE", f"Folder of a release, or an included real board: {INCLUDED}.")
) -> CommandResult:
    """Load a published release as a read-only edition.

    leaderboard, compare, history, sql, view and verify work on it as on your own editions. Nothing can be written
    into it. It has the texts that the release includes.
    """
    from gre_bench.release.loading import find_release, load_release

    folder = find_release(release)
    store = load_release(folder, state)
    report = {"edition": store.key, "release": folder.resolve().name, "folder": str(store.folder)}
    return CommandResult(report, lambda report: say(
        f"{report['release']} is edition {store.key} of {state.absolute()}; read it: gre-bench leaderboard {store.key}"
        f"{screen.format_state_option(state)}"
    ))  # fmt: skip


@app.command("submission")
def import_submission(
    *,
    state: Path,
    quiet: bool,
    folder: Path = argument("FOLDER", "Folder of a submission, as gre-bench submit makes it."),
    edition: options.Edition = None,
    add: bool = option("--add", "Add it to the board, if it is not refused.", False),
) -> CommandResult:
    """Check a submission and show the rank that it would get.

    It is scored with the edition's own evaluation LM and writer, in a copy that is deleted. With --add it is added to
    the edition instead. Each finding is one line. A refused submission is not scored, and the exit code is 2.
    """
    from gre_bench.cli.commands.submit import check_submission

    return check_submission(folder, open_stored_edition(edition, state), state, add, quiet)


@app.command("undo")
def undo(
    *,
    state: Path,
    edition: options.TheEdition,
    number: str | None = argument("IMPORT", "Number of the import in the list; without it, the list is shown.", None),
    yes: options.Yes = False,
) -> CommandResult:
    """Undo an import and delete the scores that depend on it.

    Its papers, reviews and judgments are deleted, human reviews too. To replace them, undo their import, then import
    them again. With a paper, all reviews of it are deleted, whatever file they are from. If a paper or a human review
    of the sample is deleted, the next refresh draws the sample again. Published releases do not change.
    """
    from gre_bench.pipeline.own_reviews import undo_import

    store = open_stored_edition(edition, state)
    known = store.read_with_repair(IMPORTS)
    if number is None:
        return CommandResult(known, lambda known: _show_list_of_imports(known, store.key, state))
    row = next((row for row in known if str(row["number"]) == number), None)
    if row is None:
        raise SettingsError(f"{store.key} has no import {number}; its imports: gre-bench import undo {store.key}")
    name, lost = Path(row["file"]).name, _format_record_counts(row)
    if not lost:
        raise SettingsError(f"import {number} of {store.key} has nothing left to take back: {_explain_no_records(row)}")
    settings = load_run_settings(None, edition, None, state)
    others = store.read(UNDONE_OF_OTHERS, run_id=row["run_id"], file=row["file"])
    if others:
        count, by = sum(each["reviews"] for each in others), format_name_list(each["candidate"] for each in others)
        lost += f", {counted(count, 'other review')} of its papers (by {by})"
    if not yes:
        ask_for_confirmation(f"take back {name} from {store.key}: {lost}, and their scores")

    def print_answer(report: Row) -> None:
        say(f"took back {name} from {store.key}: {lost}, and {counted(report['scores'], 'score')}")
        screen.say_nonempty(report["notes"], "note: ")
        if not store.read(DRAW):
            where = screen.format_state_option(state)
            say(f"next: gre-bench refresh --edition {store.key}{where}   # draws the sample and scores it again")

    report = undo_import(store, settings, state.resolve(), row)
    return CommandResult(report | {"of_others": [dict(each) for each in others]}, print_answer)


def _show_list_of_imports(known: list[ImportRow], edition: str, state: Path) -> None:
    for row in known:
        when, name = f"{row['happened_at']:%Y-%m-%d %H:%M}", Path(row["file"]).name
        names = [*row["candidates"][:SHOWN_NAMES], *(["..."] if len(row["candidates"]) > SHOWN_NAMES else [])]
        by = f" by {', '.join(names)}" if names else ""
        say(f"{row['number']:3} {when} {name}: {_format_record_counts(row) or _explain_no_records(row)}{by}")
    undo = f"take one back: gre-bench import undo {edition} NUMBER{screen.format_state_option(state)}"
    say(undo if known else f"{edition}: no import")


def _explain_no_records(row: ImportRow) -> str:
    return "taken back or replaced" if row["added"] else "added nothing"


def _format_record_counts(row: ImportRow) -> str:
    counts = (
        (row["papers"], "paper"), (row["reviews"], "review"), (row["judgments"], "judgment"), (row["points"], "point"),
    )  # fmt: skip
    return ", ".join(counted(number, noun) for number, noun in counts if number)


@app.command("yelp")
def import_yelp(
    *,
    state: Path,
    businesses: Path = argument("BUSINESS", "business.json of the Yelp data set, or its .gz."),
    reviews: Path = argument("REVIEWS", "review.json of the Yelp data set, or its .gz."),
    edition: options.IntoEdition,
    new: New = False,
    restaurants: int = option("--restaurants N", "Restaurants to sample.", 300, min=1),
    reviews_each: int = option("--reviews-each N", "Reviews to sample per restaurant; an edition needs 3.", 3, min=1),
    min_reviews: int = option("--min-reviews N", "Long reviews that a restaurant needs.", 50, min=1),
    min_characters: int = option("--min-characters N", "Characters of a long review.", 1000, min=1),
    licence: options.Licence = None,
) -> CommandResult:
    """Add restaurants of the Yelp data set, with reviews.

    A restaurant becomes a paper, and its categories the synopsis, as in Xu et al. 2025, appendix A.4. The defaults are
    also theirs. The sample depends only on the ids. Files of any size are read line by line.
    """
    from gre_bench.ingest.datasets.yelp import SampleCriteria
    from gre_bench.pipeline import importing

    terms = SampleCriteria(restaurants, reviews_each, min_reviews, min_characters)
    return run_import("yelp", edition, new, state, importing.import_yelp, businesses, reviews, terms, licence)


def _complete_domains(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    from gre_bench.catalogs.domains import load_domains

    return list(load_domains())


@app.command("graded")
def import_graded(
    *,
    state: Path,
    file: Path = argument("FILE", ".csv or .jsonl, also gzipped; one row per review."),
    edition: options.IntoEdition,
    new: New = False,
    domain: str | None = option(
        "--domain NAME",
        "Entry of data/domains.toml; default: by the file's columns.",
        None,
        autocompletion=_complete_domains,
    ),
    grade_column: str | None = option(
        "--grade-column COLUMN", "Column of the grades; default: grade (RottenReviews: overall quality).", None
    ),
    grades: str | None = option(
        "--grades NAMES", 'Names of grades, worst first, such as "C,B,A"; default: the domain\'s.', None
    ),
    licence: options.Licence = None,
) -> CommandResult:
    """Add graded reviews of papers, proposals or other items.

    Columns: item_id; review, or strengths, weaknesses, suggestions; grade (a number or a name; blank: not graded);
    review_id or reviewer; title, abstract, text (in one row of an item); rating; group. The files of RottenReviews need
    no change. Rows are checked one by one; a report says which were refused and why.
    """
    from gre_bench.catalogs.domains import load_domain
    from gre_bench.pipeline import importing

    if domain is not None:
        load_domain(domain)
    names = None if grades is None else tuple(name.strip() for name in grades.split(",") if name.strip())
    how = (domain, grade_column, names, licence)
    return run_import("graded", edition, new, state, importing.import_graded_reviews, file, *how)


def run_import(
    kind: str, edition: str, new: bool, state: Path, work: Callable[..., Any], *given: Any, **more: Any
) -> CommandResult:
    """Runs the import *work* on the store of *edition* under its lock, and returns the answer with its report.

    - *kind*: what is imported, such as ``papers``.
    - *new*: whether the edition may be created.
    - *work*: the function that imports; takes the store, the run's id, *given* and *more*, and returns the report.

    A new edition is deleted if nothing was imported. The exit code is 2 if a row was refused, or 3 if every refused
    row may succeed later. Raises `SettingsError` if the edition does not exist and *new* is False.
    """
    from gre_bench.pipeline.runs.job import record_run

    chosen = configuration.load_recorded_settings({}, parse_edition_key(edition).overrides)
    store = Store(state, edition)
    is_new = not store.exists
    if is_new and not new:
        raise SettingsError(f"{missing_edition_error(state, store.key)} (to start a new edition of that name: --new)")
    report: dict[str, Any] = {}
    try:
        with store.lock(f"import {kind}"), record_run(store, f"import {kind}", chosen, shown=False) as progress:
            report = work(store, progress.run_id, *given, **more)
            progress.end("done")
    finally:
        if is_new and not any(report.get(name) for name in ("papers", "reviews", "synopses")):
            store.discard()
    is_unfinished = {refusal["code"] for refusal in report["refusals"]} == {UNFINISHED}
    code = INCOMPLETE if is_unfinished else BAD_INPUT if report["refused"] else DONE
    return CommandResult(report, lambda report: _show_import_result(report, store.key, state), code)


def _show_import_result(report: Row, edition: str, state: Path) -> None:
    kinds = ("papers", "reviews", "judgments", "synopses", "points")
    added = ", ".join(f"{report[kind]} {kind}" for kind in kinds if report.get(kind) or kind == report["kind"])
    added = added or "nothing"
    counts = f"{report['unchanged']} known already, {report['refused']} refused"
    say(f"{Path(report['file']).name} → {edition}: {added} added, {counts}")
    if report["licence_line"]:
        say(report["licence_line"])
    if "bodies" in report:
        known = counted(report["known_papers"], "paper")
        say(f"PDFs or texts: of {report['bodies']} of {known}; frozen in {report['snapshot']}")
    screen.say_nonempty(report.get("strange", ()), "not understood: ")
    screen.say_nonempty(report.get("notes", ()))
    if judged := report.get("judged"):
        _show_judgment_counts(judged, edition)
    if ignored := report["ignored_columns"]:
        more = f" and {len(ignored) - SHOWN_COLUMNS} more" if len(ignored) > SHOWN_COLUMNS else ""
        say(f"columns not read: {', '.join(ignored[:SHOWN_COLUMNS])}{more}")
    if report["row_counts"]:
        say(report["row_counts"])
    if unknown := report["unknown_papers"]:
        say(unknown["line"], screen.err)
    others = [refusal for refusal in report["refusals"] if refusal["code"] != UNKNOWN]
    for refusal in others[:SHOWN_REFUSALS]:
        say(f"row {refusal['number']}, {refusal['item']}: {refusal['reason']}", screen.err)
    if len(others) > SHOWN_REFUSALS:
        say(f"and {len(others) - SHOWN_REFUSALS} more", screen.err)
    if report["refused"]:
        say(f"all refused rows: {report['refusals_file']}", screen.err)
    if any(report.get(kind) for kind in kinds):
        then, what = NEXT_COMMANDS.get(report["kind"], ("refresh", "score and rank them"))
        say(f"next: gre-bench {then} --edition {edition}{screen.format_state_option(state)}   # {what}")


def _show_judgment_counts(judged: Row, edition: str) -> None:
    if not judged["candidates"]:
        return say(f"judgments: {judged['writer']} writes them when {edition} is refreshed")
    human = next((row["median_lines"] for row in judged["candidates"] if row["candidate_id"] == "human"), None)
    for row in judged["candidates"]:
        if not row["judged"]:
            say(f"{row['candidate_id']}: {judged['writer']} finds no judgment in {counted(row['reviews'], 'review')}")
            continue
        beside = "" if human is None or row["candidate_id"] == "human" else f" (human {human:.0f})"
        covered = "" if row["covered"] is None else f"; words kept: {row['covered']:.0%}"
        say(
            f"{row['candidate_id']}: {judged['writer']} finds judgments in {row['judged']} of {row['reviews']} "
            f"reviews; judgments a review: {row['median_lines']:.0f}{beside}{covered}; such as: {row['example']}"
        )
        if human is not None and row["median_lines"] < FEW_LINES * human:
            say(
                f"{row['candidate_id']}: fewer than half of the humans' judgments a review; look at what "
                f"{judged['writer']} makes of its reviews before you trust its score",
                screen.err,
            )
    screen.say_nonempty(judged["losses"])
