"""``gre-bench new``: makes an edition from a user's own files and shows its board."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import option
from gre_bench.cli.commands.refresh import build_new_board_result, run_refresh
from gre_bench.cli.commands.running import BAD_INPUT, DONE
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import use_file_limits
from gre_bench.core.records import parse_edition_key
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.columns import ColumnOptions, UnclearColumnsError, parse_row_filters, parse_stated_columns
from gre_bench.ingest.records.opening import resolve_local_path
from gre_bench.store import Store


def new(
    *,
    state: Path,
    quiet: bool,
    edition: options.TheEdition,
    papers: Path = option(
        "--papers FOLDER|FILE", "Folder of PDFs and texts named by paper; or a table (CSV, XLSX, JSON, Parquet)."
    ),
    human: Path = option("--human FILE", "Human reviews, best two or more a paper: one row or text each."),
    candidate: list[str] | None = option(
        "--candidate NAME=FILE",
        "Reviews by NAME: a file, folder or inspect_ai logs; or FILE alone, if it names its candidates.",
        None,
    ),
    columns: options.Columns = None,
    where: options.Where = None,
    writer: options.Writer = None,
    licence: options.Licence = None,
    partial: bool = option("--partial", "Leave out rows that cannot be used, instead of stopping.", False),
    dry_run: bool = option("--dry-run", "Only say what was understood; store nothing.", False),
    settings: options.SettingsFile = Path("own"),
    override: options.Set = None,
) -> CommandResult:
    """Make an edition of your own papers and reviews.

    Imports, scores and ranks them. Reads all files first and says what it understood; a report has every row.
    Columns are found by their headers and contents, or named by --columns. If a row cannot be used, nothing is
    stored, unless you give --partial. If the command is stopped, the same command continues it. Of two or more human
    reviews of a paper, one is the human baseline. A paper's only human review is its reference.
    """
    from gre_bench.pipeline.new_edition import (
        describe_parsed_files,
        is_unfinished_edition,
        make_edition,
        parse_files,
        write_report,
    )

    chosen = configuration.load(settings, (*parse_edition_key(edition).overrides, *(override or ())))
    store, named = (
        Store(state, edition),
        [(name, resolve_local_path(file)) for name, file in map(_parse_named_file, candidate or ())],
    )
    papers, human = resolve_local_path(papers), resolve_local_path(human)
    begun = store.exists and is_unfinished_edition(store, [papers, human, *(file for _, file in named)])
    if store.exists and not begun:
        store.refuse_if_from_release()
        finish = f"gre-bench refresh --edition {store.key}{screen.format_state_option(state)}"
        raise SettingsError(
            f"edition {store.key} exists; finish it ({finish}), add a candidate to it with gre-bench rank, or give "
            "another name"
        )
    reading = ColumnOptions(parse_stated_columns(columns or ()), guess=True, where=parse_row_filters(where or ()))
    with use_file_limits(chosen.inputs.memory, chosen.inputs.seconds):
        while True:
            try:
                understood = parse_files(papers, human, named, reading, writer)
                break
            except UnclearColumnsError as unsure:
                reading = _ask_for_columns(unsure, reading)
    chosen = understood.settings(chosen, override or ())
    folder = Path(mkdtemp(prefix="gre-bench-")) if dry_run else state
    report = write_report(understood, folder / f"new-{store.key}.csv")
    lines = describe_parsed_files(understood, chosen)
    if not quiet:
        screen.say_nonempty(lines)
        say(f"row by row: {report}")
    understood.check(chosen)
    if understood.refused and not (partial or dry_run):
        raise SettingsError(
            f"{counted(understood.refused, 'row')} cannot be used, so nothing was stored; correct them (reasons: "
            f"{report}), or leave them out with --partial"
        )
    if dry_run:
        code = BAD_INPUT if understood.refused and not partial else DONE
        outline = {"edition": store.key, "understood": lines, "refused": understood.refused, "report": str(report)}
        return CommandResult(outline, lambda _: None, code)
    count = len(understood.papers[1].papers)
    if "papers" not in chosen.edition.model_fields_set:
        chosen = chosen.model_copy(update={"edition": chosen.edition.model_copy(update={"papers": max(count, 2)})})
    if not begun:
        make_edition(state, chosen, understood, licence)
    summary = run_refresh(chosen, state, engine=False, quiet=quiet)
    more = {"understood": lines, "refused": understood.refused, "report": str(report)}
    return build_new_board_result(summary, state, more)


def _parse_named_file(text: str) -> tuple[str | None, Path]:
    """Returns the name and the path in ``NAME=FILE``; the name is None if *text* is only a path."""
    name, equals, file = text.partition("=")
    if not equals or Path(text).exists():
        return None, Path(text)
    if not (name and file):
        raise SettingsError(f"--candidate {text}: write it as NAME=FILE, or FILE if it names its candidates")
    return name, Path(file)


def _ask_for_columns(unsure: UnclearColumnsError, reading: ColumnOptions) -> ColumnOptions:
    """Asks the user for the columns of each field in *unsure*; returns *reading* with the answers.

    Raises *unsure* again if there is no terminal, or if one of the fields has no column to choose from.
    """
    if not (sys.stdin and sys.stdin.isatty()) or not all(item.choices for item in unsure.unclear):
        raise unsure
    columns = {name: list(headers) for name, headers in reading.columns.items()}
    for item in unsure.unclear:
        for number, choice in enumerate(item.choices, start=1):
            say(f"{number:3} {choice}", screen.err)
        numbers: list[int] = []
        while not numbers or not all(1 <= number <= len(item.choices) for number in numbers):
            text: Any = typer.prompt(
                f"{item.file}: which of these holds the {item.field}? Numbers, by commas", err=True
            )
            numbers = [int(part) if part.isdigit() else 0 for part in text.replace(",", " ").split()]
        columns[item.field] = [*columns.get(item.field, ()), *(item.choices[number - 1] for number in numbers)]
    return replace(reading, columns=columns, used=set())
