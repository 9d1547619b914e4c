"""Rows of a board or of a query as text or file for other programs: JSON, CSV, Markdown, Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from gre_bench.cli.views.screen import plain, print_json, say
from gre_bench.core.errors import SettingsError
from gre_bench.store import Row


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet take a cell for a formula; some read the wide forms as the narrow ones."""


KEPT = ("editions", "releases", "snapshots", "replies", "validations", "spending.jsonl")
"""What of a state folder no output may be written over."""


def write(rows: Sequence[Row], names: Sequence[str], form: Format, out: Path | None, state: Path) -> None:
    """*rows* in the columns *names*, to the file *out* or to standard output; Parquet needs a file.

    `SettingsError` for a file that belongs to what *state* keeps, or cannot be written.
    """
    if out is not None and any(out.resolve().is_relative_to((state / name).resolve()) for name in KEPT):
        raise SettingsError(f"cannot write {out}: it lies in what {state} keeps; name a file elsewhere")
    if form is Format.parquet:
        return _parquet(rows, names, out)
    text = {Format.json: _json, Format.csv: _csv, Format.markdown: _markdown}[form](rows, names)
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {out}: {error.strerror}") from None


def show_written(files: Sequence[Path], drawn: str, as_json: bool) -> None:
    """The figures of the board *drawn* that were written, one a line; or why there is none."""
    if as_json:
        return print_json([str(path) for path in files])
    for path in files:
        say(str(path))
    if not files:
        say(f"{drawn}: nothing to draw; figures need two ranked models whose size or knowledge cutoff is known")


def _json(rows: Sequence[Row], names: Sequence[str]) -> str:
    return json.dumps([{name: row[name] for name in names} for row in rows], indent=2, default=str) + "\n"


def _csv(rows: Sequence[Row], names: Sequence[str]) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(map(_harmless, names))
    writer.writerows([_harmless(row[name]) for name in names] for row in rows)
    return file.getvalue()


def _harmless(value: Any) -> Any:
    """*value*; of a text what steers no terminal, and behind an apostrophe what a spreadsheet would run."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _markdown(rows: Sequence[Row], names: Sequence[str]) -> str:
    lines = [list(map(_cell, names)), ["---:" if _numeric(rows, name) else "---" for name in names]]
    lines += [[_cell(row[name]) for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _numeric(rows: Sequence[Row], name: str) -> bool:
    return any(isinstance(row[name], int | float) and not isinstance(row[name], bool) for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else plain(value).replace("\n", " ")
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return text


def _parquet(rows: Sequence[Row], names: Sequence[str], out: Path | None) -> None:
    if out is None:
        raise SettingsError("Parquet is no text: name a file, --out FILE")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.write_table(pa.table({name: _array([row[name] for row in rows]) for name in names}), out)
    except OSError as error:
        raise SettingsError(f"cannot write {out}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise SettingsError(f"these rows cannot be written as Parquet: {str(error).splitlines()[0]}") from None


def _array(values: list[Any]) -> Any:
    """*values* as a column; text where Parquet has no form that holds them all."""
    import pyarrow as pa

    for kind in (None, pa.uint64()):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
    return pa.array([None if value is None else str(value) for value in values], pa.string())
