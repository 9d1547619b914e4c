"""Writes rows of a board or a query as JSON, CSV, Markdown or Parquet."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from gre_bench.cli.views.screen import is_number, say
from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import format_csv_table, format_markdown_cell, format_markdown_table
from gre_bench.store import Row


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


KEPT = ("editions", "releases", "snapshots", "replies", "validations", "spending.jsonl")
"""Folders and files of a state folder that no output may overwrite."""


def write_rows(rows: Sequence[Row], names: Sequence[str], form: Format, out: Path | None, state: Path) -> None:
    """Writes the columns *names* of *rows* in the format *form* to the file *out*; to standard output if *out* is None.

    Raises `SettingsError` if *form* is Parquet and *out* is None, or if *out* cannot be written. It also does if *out*
    is or lies in one of `KEPT` in the state folder *state*.
    """
    if out is not None and any(out.resolve().is_relative_to((state / name).resolve()) for name in KEPT):
        raise SettingsError(f"cannot write {out}: it lies in what {state} keeps; name a file elsewhere")
    if form is Format.parquet:
        return _write_parquet(rows, names, out)
    if form is Format.json:
        text = json.dumps([{name: row[name] for name in names} for row in rows], indent=2, default=str) + "\n"
    elif form is Format.csv:
        text = format_csv_table(names, ([row[name] for name in names] for row in rows), end="\r\n")
    else:
        cells = ([format_markdown_cell(row[name]) for name in names] for row in rows)
        numeric = [any(is_number(row[name]) for row in rows) for name in names]
        text = "".join(
            f"{line}\n" for line in format_markdown_table(list(map(format_markdown_cell, names)), cells, numeric)
        )
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {out}: {error.strerror}") from None


def show_written(files: Sequence[str], board: str) -> None:
    """Prints the paths of *files*, which are pictures of *board*, one per line; if there are none, prints why."""
    for path in files:
        say(path)
    if not files:
        say(f"{board}: nothing to draw; a picture needs two candidates with a score")


def _write_parquet(rows: Sequence[Row], names: Sequence[str], out: Path | None) -> None:
    if out is None:
        raise SettingsError("Parquet is no text: name a file, --out FILE")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.write_table(pa.table({name: _to_arrow_array([row[name] for row in rows]) for name in names}), out)
    except OSError as error:
        raise SettingsError(f"cannot write {out}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise SettingsError(f"these rows cannot be written as Parquet: {str(error).splitlines()[0]}") from None


def _to_arrow_array(values: list[Any]) -> Any:
    """Returns *values* as an Arrow array; as an array of texts if no other type fits all values."""
    import pyarrow as pa

    for kind in (None, pa.uint64()):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
    return pa.array([None if value is None else str(value) for value in values], pa.string())
