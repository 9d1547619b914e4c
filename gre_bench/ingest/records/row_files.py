"""Reads users' files of rows: .jsonl, .csv or .parquet with one record per row, or a folder of texts.

Rows are numbered from 1, not counting the heading. A row that cannot be read is refused.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from gre_bench.core.errors import SourceError, no_file
from gre_bench.ingest.records.cells import LARGEST, RefusedError, Row
from gre_bench.ingest.records.json_lines import lines, opened, read_object
from gre_bench.ingest.records.merge_index import Imported, Refusal

TEXTS = (".txt", ".md")
"""File endings accepted in a folder of texts."""


def read_rows(path: Path, imported: Imported) -> tuple[list[tuple[int, Row]], list[str]]:
    """Returns (row number, cells) for every row of the file *path*, and the names of its columns.

    Blank cells of a .csv file are None. Refused rows are added to *imported*. Raises `SourceError` for a file that is
    missing, empty or of another format.
    """
    if not path.is_file():
        raise no_file(path)
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if path.suffix == ".parquet":
        rows, columns = _parquet(path)
    elif kind == "csv":
        rows, columns = _csv(path, imported)
    elif kind in ("jsonl", "ndjson"):
        rows = list(_json(path, imported))
        columns = list(dict.fromkeys(name for _, row in rows for name in row))
    else:
        raise SourceError(f"{path.name}: expected a .jsonl, .csv or .parquet file (.jsonl and .csv may be gzipped)")
    if not rows and not imported.refusals:
        raise SourceError(f"{path.name} has columns and no row" if columns else f"{path.name} is empty: no row in it")
    return rows, columns


def read_folder(path: Path, imported: Imported) -> list[tuple[int, Row]]:
    """Returns (number, cells) for each text in the folder *path*, in the order of the files' names.

    The cells are ``paper_id``, the file's name without its ending, and ``review``, the text. Files that start with a
    dot are skipped. Files that are no text are refused, and the refusals are added to *imported*. Raises `SourceError`
    if there is no text.
    """
    files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    rows: list[tuple[int, Row]] = []
    for number, file in enumerate(files, start=1):
        try:
            if file.suffix not in TEXTS or not file.is_file():
                raise RefusedError(f"not a text: expected <paper id>{' or <paper id>'.join(TEXTS)}")
            rows.append((number, {"paper_id": file.stem, "review": file.read_text(encoding="utf-8-sig")}))
        except UnicodeDecodeError:
            imported.refusals.append(Refusal(number, f"file {file.name}", "it is not UTF-8"))
        except OSError as error:
            imported.refusals.append(Refusal(number, f"file {file.name}", f"it cannot be read: {error.strerror}"))
        except RefusedError as reason:
            imported.refusals.append(Refusal(number, f"file {file.name}", str(reason)))
    if not rows:
        raise SourceError(f"no text in folder {path.absolute()}: expected <paper id>{' or <paper id>'.join(TEXTS)}")
    return rows


def _csv(path: Path, imported: Imported) -> tuple[list[tuple[int, Row]], list[str]]:
    csv.field_size_limit(LARGEST)
    rows: list[tuple[int, Row]] = []
    try:
        with opened(path) as file:
            reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
            heading = next(reader, [])
            if len(set(heading)) < len(heading):
                raise SourceError(f"{path.name}: two columns have the same name")
            if len(heading) == 1 and (mark := next((mark for mark in ";\t" if mark in heading[0]), None)):
                raise SourceError(f"{path.name}: its columns are separated by {mark!r}; write it with commas")
            for number, cells in enumerate(filter(None, reader), start=1):
                if len(cells) == len(heading):
                    rows.append((number, {name: cell or None for name, cell in zip(heading, cells, strict=True)}))
                else:
                    reason = f"it has {len(cells)} cells, and the heading has {len(heading)}"
                    imported.refusals.append(Refusal(number, f"row {number}", reason))
    except UnicodeDecodeError:
        raise SourceError(f"{path.name}: line {_not_utf8(path)} is not UTF-8; save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise SourceError(f"{path.name} cannot be read as CSV in UTF-8: {error}") from None
    return rows, heading


def _not_utf8(path: Path) -> int:
    """Returns the number of the first line of *path* that is not UTF-8."""
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0


def _json(path: Path, imported: Imported) -> Iterator[tuple[int, Row]]:
    for number, _, line in lines(path):
        try:
            yield number, read_object(line)
        except RefusedError as reason:
            imported.refusals.append(Refusal(number, f"line {number}", str(reason)))


def _parquet(path: Path) -> tuple[list[tuple[int, Row]], list[str]]:
    import pandas

    try:
        table = pandas.read_parquet(path, dtype_backend="pyarrow")
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own errors derive from these
        raise SourceError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}") from None
    if any(table.index.names):
        table = table.reset_index()
    table.columns = [str(name) for name in table.columns]
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return list(enumerate(rows, start=1)), list(table.columns)
