"""Writes rows of a board or a query as JSON, CSV, Markdown or Parquet."""

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
"""First characters that make a spreadsheet read a cell as a formula; some accept the full-width forms too."""


KEPT = ("editions", "releases", "snapshots", "replies", "validations", "spending.jsonl")
"""The parts of a state folder that no output may overwrite."""


def write(rows: Sequence[Row], names: Sequence[str], form: Format, out: Path | None, state: Path) -> None:
    """Writes the columns *names* of *rows* in the format *form* to the file *out*; to standard output if *out* is None.

    Raises `SettingsError` for Parquet without a file, and for a file that cannot be written. Also raises it for a file
    in the parts of the state folder *state* that `KEPT` lists.
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


def show_written(files: Sequence[Path], board: str, as_json: bool) -> None:
    """Prints the paths of *files*, one per line; if there are none, it prints why.

    The files are the figures of *board*. If *as_json*, the paths are printed as a JSON list.
    """
    if as_json:
        return print_json([str(path) for path in files])
    for path in files:
        say(str(path))
    if not files:
        say(f"{board}: nothing to draw; figures need two ranked models whose size or knowledge cutoff is known")


def _json(rows: Sequence[Row], names: Sequence[str]) -> str:
    return json.dumps([{name: row[name] for name in names} for row in rows], indent=2, default=str) + "\n"


def _csv(rows: Sequence[Row], names: Sequence[str]) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(map(_harmless, names))
    writer.writerows([_harmless(row[name]) for name in names] for row in rows)
    return file.getvalue()


def _harmless(value: Any) -> Any:
    """Returns *value* so that a spreadsheet can open it safely: without terminal controls, and never a formula.

    A text that a spreadsheet would read as a formula gets an apostrophe before it.
    """
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
    """Returns *values* as an Arrow array; as an array of texts if no other type can hold all of them."""
    import pyarrow as pa

    for kind in (None, pa.uint64()):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
    return pa.array([None if value is None else str(value) for value in values], pa.string())
