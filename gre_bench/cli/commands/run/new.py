"""``gre-bench new``: makes an edition of a user's own files and shows its board; ``gre-bench undo`` takes one back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.refresh import run_refresh
from gre_bench.cli.commands.running import BAD_INPUT, confirm, ended, settings_of, stored_edition
from gre_bench.cli.views import board, screen
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import limited
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.columns import Reading, UnsureError, stated
from gre_bench.store import Store
from gre_bench.store.queries import IMPORTS, ImportRow

Papers = Annotated[
    Path,
    typer.Option(
        "--papers",
        metavar="FOLDER|FILE",
        help="Folder of PDFs and texts named by paper; or .csv, .jsonl, .json, .parquet.",
    ),
]
Human = Annotated[
    Path, typer.Option("--human", metavar="FILE", help="Human reviews, two or more a paper: one row or text each.")
]
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidate", "-c", metavar="NAME=FILE",
        help="Reviews by NAME: a file, folder or inspect_ai logs; or FILE alone, if it names its candidates.",
    ),
]  # fmt: skip
Partial = Annotated[bool, typer.Option("--partial", help="Leave out rows that cannot be used, instead of stopping.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what was understood; store nothing.")]
Settings = Annotated[
    str, typer.Option("--settings", "-s", metavar="FILE", help="TOML file of settings, or the name of an included one.")
]

NEXT = (
    "next: gre-bench view   # the board as a page, in a browser",
    "      gre-bench rank REVIEWS.csv --edition {edition} --as NAME   # one more candidate",
    "      gre-bench leaderboard {edition} --all   # the other boards; --details: behind them",
)


def new(
    edition: options.TheEdition,
    papers: Papers,
    human: Human,
    candidate: Candidates = None,
    columns: options.Columns = None,
    writer: options.Writer = None,
    licence: options.Licence = None,
    partial: Partial = False,
    dry_run: DryRun = False,
    settings: Settings = "own",
    override: options.Set = None,
    no_prefect: options.NoPrefect = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Make an edition of your own papers and reviews: import, score, rank.

    Reads all files first and says what it understood; a report has every row. Columns are found by their headers and
    contents, or named by --columns. If a row cannot be used, nothing is stored, unless you say --partial. A paper needs
    two human reviews: one is the human baseline, the others are references.
    """
    from gre_bench.pipeline.intake import stated_licence
    from gre_bench.pipeline.new_edition import described_files, make_edition, understand, write_report

    parts = [f"edition.{key}={value}" for key, value in configuration.edition_parts(edition).items()]
    chosen = configuration.load(Path(settings), (*parts, *(override or ())))
    store, licence = Store(state, edition), stated_licence(licence)
    if store.exists:
        raise SettingsError(
            f"edition {store.key} exists; add a candidate to it with gre-bench rank, or give another name"
        )
    reading = Reading(stated(columns or ()), guess=True)
    with limited(chosen.inputs.memory, chosen.inputs.seconds):
        while True:
            try:
                understood = understand(papers, human, [_named(text) for text in candidate or ()], reading, writer)
                break
            except UnsureError as unsure:
                reading = _asked(unsure, reading)
    chosen = understood.settings(chosen, override or ())
    report = write_report(understood, state / f"new-{store.key}.csv")
    lines = described_files(understood, chosen)
    if not as_json:
        for line in lines:
            screen.say(line)
        screen.say(f"row by row: {report}")
    understood.check()
    if understood.refused and not (partial or dry_run):
        raise SettingsError(
            f"{counted(understood.refused, 'row')} cannot be used, so nothing was stored; correct them (reasons: "
            f"{report}), or leave them out with --partial"
        )
    if dry_run:
        if as_json:
            screen.print_json(
                {"edition": store.key, "understood": lines, "refused": understood.refused, "report": str(report)}
            )
        raise typer.Exit(BAD_INPUT if understood.refused and not partial else 0)
    count = len(understood.papers[1].papers)
    if "papers" not in chosen.edition.model_fields_set:
        chosen = chosen.model_copy(update={"edition": chosen.edition.model_copy(update={"papers": max(count, 2)})})
    make_edition(state, chosen, understood, wait, licence)
    summary = run_refresh(chosen, state, wait=wait, engine=not no_prefect, quiet=as_json)
    if as_json:
        screen.print_json({"understood": lines, "refused": understood.refused, "report": str(report)} | summary)
    else:
        board.summary(summary, Store(state, store.key), brief=True)
        for line in NEXT:
            screen.say(line.format(edition=store.key))
    raise ended(summary)


def _named(text: str) -> tuple[str | None, Path]:
    """Returns name and path of ``NAME=FILE``; of a path alone, no name."""
    name, equals, file = text.partition("=")
    if not equals or Path(text).exists():
        return None, Path(text)
    if not (name and file):
        raise SettingsError(f"--candidate {text}: write it as NAME=FILE, or FILE if it names its candidates")
    return name, Path(file)


def _asked(unsure: UnsureError, reading: Reading) -> Reading:
    """Asks the user which column holds a field; raises *unsure* again where nobody can be asked."""
    if not (sys.stdin and sys.stdin.isatty()) or not unsure.choices:
        raise unsure
    for number, choice in enumerate(unsure.choices, start=1):
        screen.say(f"{number:3} {choice}", screen.err)
    answer: Any = typer.prompt(f"{unsure.file}: which of these holds the {unsure.field}? Numbers, by commas", err=True)
    numbers = [int(part) for part in answer.replace(",", " ").split() if part.isdigit()]
    chosen = [unsure.choices[number - 1] for number in numbers if 1 <= number <= len(unsure.choices)]
    if not chosen:
        raise unsure
    before = {name: list(headers) for name, headers in reading.columns.items()}
    before[unsure.field] = [*before.get(unsure.field, ()), *chosen]
    return Reading(before, reading.guess)


TheRun = Annotated[
    str | None,
    typer.Argument(metavar="IMPORT", help="Number of the import in the list; without it, the list is shown."),
]


def undo(
    edition: options.TheEdition,
    number: TheRun = None,
    yes: options.Yes = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Take back an import: its papers, reviews and judgments, and their scores.

    Human reviews too: to replace them, undo their import, then import them again. If a paper or a human review of the
    sample goes, the next refresh draws the sample anew. Published releases do not change.
    """
    from gre_bench.pipeline.undo import undo_import

    store = stored_edition(edition, state)
    known = store.read_mended(IMPORTS)
    if number is None:
        if as_json:
            return screen.print_json(known)
        for row in known:
            when, name = f"{row['happened_at']:%Y-%m-%d %H:%M}", Path(row["file"]).name
            screen.say(f"{row['number']:3} {when} {name}: {_records(row) or 'nothing that is still there'}")
        return screen.say(f"take one back: gre-bench undo {store.key} NUMBER" if known else f"{store.key}: no import")
    row = next((row for row in known if str(row["number"]) == number), None)
    if row is None:
        raise SettingsError(f"{store.key} has no import {number}; its imports: gre-bench undo {store.key}")
    lost = _records(row)
    if not lost:
        raise SettingsError(f"import {number} of {store.key} has nothing left to take back")
    if not yes:
        confirm(f"take back {Path(row['file']).name} from {store.key}: {lost}, and their scores")
    report = undo_import(store, settings_of(None, edition, None, state), state.resolve(), row, wait)
    if as_json:
        return screen.print_json(report)
    screen.say(f"took back {Path(row['file']).name} from {store.key}: {lost}, and {counted(report['scores'], 'score')}")
    for note in report["notes"]:
        screen.say(f"note: {note}")


def _records(row: ImportRow) -> str:
    counts = ((row["papers"], "paper"), (row["reviews"], "review"), (row["judgments"], "judgment"))
    return ", ".join(counted(number, noun) for number, noun in counts if number)
