"""``gre-bench import``: adds papers, reviews, notes or inspect_ai logs to an edition, and takes imports back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.running import BAD_INPUT, DONE, INCOMPLETE, confirm, settings_of, stored_edition
from gre_bench.cli.views import screen
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import limited
from gre_bench.core.records import HUMAN
from gre_bench.core.settings import SourceSettings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.columns import ColumnNames, stated
from gre_bench.ingest.records.row_files import UNFINISHED
from gre_bench.store import Store, no_edition
from gre_bench.store.queries import IMPORTS, ImportRow

app = Commands("Add papers, reviews, notes or graded texts to an edition.")

PapersFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help=".jsonl, .json, .csv or .parquet with paper_id and optional title, abstract, text, row."
    ),
]
ReviewsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=".jsonl, .json, .csv or .parquet with paper_id, candidate, and review and/or judgments; or a folder of "
        "texts, each named by its paper: <paper id>.txt or .md.",
    ),
]
New = Annotated[bool, typer.Option("--new", help="Start the edition if it does not exist yet.")]
By = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Candidate who wrote these reviews, if the file names none."),
]
ByHumans = Annotated[bool, typer.Option("--human", help="These are human reviews, if the file names no candidate.")]
MakePapers = Annotated[bool, typer.Option("--make-papers", help="Make a bare paper for each unknown paper id.")]
InspectLogs = Annotated[
    Path, typer.Argument(metavar="LOGS", help="A log of inspect_ai (.eval or .json), or a folder of logs.")
]
InspectBy = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Name on the board, if the logs are of one model."),
]
Epoch = Annotated[
    int | None,
    typer.Option(
        "--epoch", metavar="N", min=1, help="Use the reviews of this epoch; default: the first epoch that has one."
    ),
]
Texts = Annotated[
    Path | None,
    typer.Option("--texts", metavar="FILE", help="Papers' texts (.parquet, .csv or .jsonl: paper_id, text)."),
]

Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A limit for each file: inputs.memory in MB, or inputs.seconds; repeatable."
    ),
]


@app.callback()
def limits(context: typer.Context, bounds: Bounds = None) -> None:
    """Sets the limits for the files of the command that follows."""
    inputs = configuration.inputs_of(tuple(bounds or ()))
    context.with_resource(limited(inputs.memory, inputs.seconds))


@app.command("papers")
def import_papers(
    file: PapersFile,
    edition: options.IntoEdition,
    new: New = False,
    rows: options.Rows = None,
    columns: options.Columns = None,
    licence: options.Licence = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add papers to an edition.

    Rows are checked one by one; a report says which were refused and why.
    """
    from gre_bench.pipeline import intake

    kept, licence, reading = intake.row_range(rows), intake.stated_licence(licence), ColumnNames(stated(columns or ()))
    import_into(
        "papers", edition, new, state, as_json,
        lambda store, run_id, _: intake.import_papers(store, run_id, file, kept, licence, reading),
    )  # fmt: skip


@app.command("reviews")
def import_reviews(
    file: ReviewsFile,
    edition: options.IntoEdition,
    by: By = None,
    human: ByHumans = False,
    writer: options.Writer = None,
    new: New = False,
    rows: options.Rows = None,
    make_papers: MakePapers = False,
    columns: options.Columns = None,
    licence: options.Licence = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add reviews by humans or by a candidate.

    They may come with judgments. Columns: paper_id; review_id (or slot, for human reviews); candidate (or --as,
    --human); review; judgments (text or list of lines); writer; slot; rating; row. Rows are checked one by one; a
    report says which were refused and why.
    """
    from gre_bench.pipeline import intake

    if by is not None and human:
        raise SettingsError("--as and --human: reviews are either a candidate's or humans'; give one of the two")
    how = (HUMAN if human else by, writer, intake.row_range(rows), make_papers)
    licence, reading = intake.stated_licence(licence), ColumnNames(stated(columns or ()))
    import_into(
        "reviews", edition, new, state, as_json,
        lambda store, run_id, _: intake.import_reviews(store, run_id, file, *how, licence=licence, reading=reading),
    )  # fmt: skip


@app.command("inspect")
def import_inspect(
    logs: InspectLogs,
    edition: options.IntoEdition,
    by: InspectBy = None,
    epoch: Epoch = None,
    licence: options.Licence = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add the reviews in logs of inspect_ai.

    Each sample is a paper, each model a candidate. The paper's id is paper_id in the sample's metadata, else the
    sample's id. The review is the completion of the sample's output. Of several epochs, the first that has a review
    counts; of several logs, the one started last. Samples without a review (error, not run, refused, empty) are
    reported one by one. The exit code is 3 if running them again may help.
    """
    from gre_bench.ingest.records.inspect_logs import logs_in
    from gre_bench.pipeline import intake
    from gre_bench.pipeline.own_reviews import own_name

    if by is not None:
        own_name(by)
    logs_in(logs)
    how: dict[str, Any] = {"only": by is not None, "epoch": epoch, "licence": intake.stated_licence(licence)}
    import_into(
        "inspect logs", edition, False, state, as_json,
        lambda store, run_id, _: intake.import_reviews(store, run_id, logs, by, **how),
    )  # fmt: skip


@app.command("notes")
def import_notes(
    file: options.NotesFile,
    edition: options.IntoEdition,
    texts: Texts = None,
    pdfs: options.Pdfs = None,
    new: New = False,
    unverified_venue: options.UnverifiedVenue = False,
    licence: options.Licence = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add papers and human reviews from a file of OpenReview notes.

    The notes are kept as a snapshot, with the PDFs or texts of the papers.
    """
    from gre_bench.pipeline.intake import stated_licence
    from gre_bench.pipeline.reading import import_notes

    licence = stated_licence(licence)
    named = SourceSettings(notes=file, texts=texts, pdfs=pdfs, unverified_venue=unverified_venue)
    import_into(
        "notes", edition, new, state, as_json,
        lambda store, run_id, chosen: import_notes(store, run_id, chosen.edition.edition, named, licence),
    )  # fmt: skip


PointsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=".jsonl, .json, .csv or .parquet with paper_id, point, review_id or candidate, and columns of labels.",
    ),
]
Order = Annotated[
    list[str] | None,
    typer.Option(
        "--order", metavar="LABEL=WORST,...,BEST", help="Values of a label, worst first; repeat it for several labels."
    ),
]


@app.command("points")
def import_points(
    file: PointsFile,
    edition: options.IntoEdition,
    order: Order = None,
    columns: options.Columns = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add points of reviews that people judged, for study points.

    A point is a single remark of a review. Every further column is a label if it holds numbers, true and false, or yes
    and no, where higher is better; --order makes a column of words a label. Give all points of a review, labelled or
    not: what the review loses without a point is measured on them.
    """
    from gre_bench.ingest.records.points import ordered_labels
    from gre_bench.pipeline import intake

    orders, reading = ordered_labels(order or ()), ColumnNames(stated(columns or ()))
    import_into(
        "points", edition, False, state, as_json,
        lambda store, run_id, _: intake.import_points(store, run_id, file, orders, reading),
    )  # fmt: skip


TheRun = Annotated[
    str | None,
    typer.Argument(metavar="IMPORT", help="Number of the import in the list; without it, the list is shown."),
]


@app.command("undo")
def undo(
    edition: options.TheEdition,
    number: TheRun = None,
    yes: options.Yes = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Take back an import, with the scores that it was part of.

    Its papers, reviews and judgments go, human reviews too. To replace them, undo their import, then import them
    again. If a paper or a human review of the sample goes, the next refresh draws the sample again. Published
    releases do not change.
    """
    from gre_bench.pipeline.own_reviews import undo_import

    store = stored_edition(edition, state)
    known = store.read_mended(IMPORTS)
    if number is None:
        if as_json:
            return screen.print_json(known)
        for row in known:
            when, name = f"{row['happened_at']:%Y-%m-%d %H:%M}", Path(row["file"]).name
            screen.say(f"{row['number']:3} {when} {name}: {_records(row) or 'nothing that is still there'}")
        return screen.say(
            f"take one back: gre-bench import undo {store.key} NUMBER" if known else f"{store.key}: no import"
        )
    row = next((row for row in known if str(row["number"]) == number), None)
    if row is None:
        raise SettingsError(f"{store.key} has no import {number}; its imports: gre-bench import undo {store.key}")
    lost = _records(row)
    if not lost:
        raise SettingsError(f"import {number} of {store.key} has nothing left to take back")
    if not yes:
        confirm(f"take back {Path(row['file']).name} from {store.key}: {lost}, and their scores")
    report = undo_import(store, settings_of(None, edition, None, state), state.resolve(), row)
    if as_json:
        return screen.print_json(report)
    screen.say(f"took back {Path(row['file']).name} from {store.key}: {lost}, and {counted(report['scores'], 'score')}")
    for note in report["notes"]:
        screen.say(f"note: {note}")


def _records(row: ImportRow) -> str:
    counts = (
        (row["papers"], "paper"), (row["reviews"], "review"), (row["judgments"], "judgment"), (row["points"], "point"),
    )  # fmt: skip
    return ", ".join(counted(number, noun) for number, noun in counts if number)


def import_into(kind: str, edition: str, new: bool, state: Path, as_json: bool, work: Callable[..., Any]) -> None:
    """Imports something into the store of *edition* under its lock, prints the report, and exits.

    - *kind*: what is imported, such as ``papers``.
    - *new*: whether the edition may be created.
    - *work*: the function that imports; takes the store, the run's id and the settings, and returns the report.

    A new edition into which nothing came is not kept. The exit code is 2 if a row was refused, or 3 if every refused
    row may succeed later. Raises `SettingsError` if the edition does not exist and *new* is False.
    """
    from gre_bench.pipeline.runs.job import recorded

    parts = tuple(f"edition.{key}={value}" for key, value in configuration.edition_parts(edition).items())
    chosen = configuration.load_over({}, parts)
    store = Store(state, edition)
    is_new = not store.exists
    if is_new and not new:
        raise SettingsError(f"{no_edition(state, store.key)} (to start a new edition of that name: --new)")
    report: dict[str, Any] = {}
    try:
        with store.lock(f"import {kind}"), recorded(store, f"import {kind}", chosen, shown=False) as progress:
            report = work(store, progress.run_id, chosen)
            progress.end("done")
    finally:
        if is_new and not any(report.get(name) for name in ("papers", "reviews", "synopses")):
            store.discard()
    if as_json:
        screen.print_json(report)
    else:
        screen.imported(report, store.key)
    is_unfinished = {refusal["code"] for refusal in report["refusals"]} == {UNFINISHED}
    raise typer.Exit(INCOMPLETE if is_unfinished else BAD_INPUT if report["refused"] else DONE)
