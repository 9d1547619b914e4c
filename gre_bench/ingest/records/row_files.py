"""Reads users' files of rows: .jsonl, .csv, .tsv or .parquet with one record per row, or a folder of texts.

It is the one reader of rows. Rows are numbered from 1, not counting the heading. A row that cannot be read is refused.
In a .tsv file, quotation marks are plain text. In a .csv file, they quote cells.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError, no_file
from gre_bench.core.incoming import LONGEST_ROW, Meter, check_name, irregular, lines, opened, read_bytes
from gre_bench.core.strict import load_json
from gre_bench.ingest.records.cells import LARGEST, RefusedError, Row, shown
from gre_bench.ingest.records.isolated import read_isolated
from gre_bench.ingest.records.merge_index import Imported, Refusal

TEXTS = (".txt", ".md")
"""File endings accepted in a folder of texts."""


_OF_AN_INDEX = re.compile(r"__index_level_\d+__")
"""Columns of a .parquet file in which pandas keeps an index without a name."""


def read_rows(path: Path, imported: Imported) -> tuple[list[tuple[int, Row]], list[str]]:
    """Returns (row number, cells) for every row of the file *path*, and the names of its columns.

    Blank cells of a .csv or .tsv file are None. Refused rows are added to *imported*. Raises `SourceError` for a file
    that is missing, empty, of another format or beyond a limit (`gre_bench.core.incoming`).
    """
    if not path.is_file():
        raise no_file(path)
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if path.suffix == ".parquet":
        rows, columns = _parquet(path, imported)
    elif kind in ("csv", "tsv"):
        rows, columns = _csv(path, imported, kind)
    elif kind in ("jsonl", "ndjson"):
        rows = list(_json(path, imported))
        columns = list(dict.fromkeys(name for _, row in rows for name in row))
    else:
        raise SourceError(f"{path.name}: expected a .jsonl, .csv or .parquet file (.jsonl and .csv may be gzipped)")
    if not rows and not imported.refusals:
        raise SourceError(f"{path.name} has columns and no row" if columns else f"{path.name} is empty: no row in it")
    return rows, columns


def read_all_rows(path: Path) -> tuple[list[tuple[int, Row]], list[str]]:
    """Returns what `read_rows` returns; raises `SourceError`, which names the row, if a row is refused."""
    imported = Imported()
    rows, columns = read_rows(path, imported)
    if imported.refusals:
        raise SourceError(f"{path.name}, {imported.refusals[0].item}: {imported.refusals[0].reason}")
    return rows, columns


def read_object(line: bytes) -> Row:
    """Returns the JSON object in *line*; raises `RefusedError` if the line is no JSON object."""
    try:
        row = load_json(line)
    except ValueError as error:
        raise RefusedError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(row, dict):
        raise RefusedError("not a JSON object")
    return row


def read_folder(path: Path, imported: Imported) -> list[tuple[int, Row]]:
    """Returns (number, cells) for each text in the folder *path*, in the order of the files' names.

    The cells are ``paper_id``, the file's name without its ending, and ``review``, the text. Files that start with a
    dot are skipped. Files that are no text are refused, and so are links, which are never followed; the refusals are
    added to *imported*. Raises `SourceError` if there is no text, or if all together are beyond a limit of one file.
    """
    files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    rows: list[tuple[int, Row]] = []
    meter = Meter(path)
    for number, file in enumerate(files, start=1):
        meter.tick()
        try:
            check_name(file)
            if (reason := irregular(file)) and reason != "it is a folder":
                raise RefusedError(reason)
            if file.suffix not in TEXTS or reason:
                raise RefusedError(f"not a text: expected <paper id>{' or <paper id>'.join(TEXTS)}")
            text = read_bytes(file, LONGEST_ROW).decode("utf-8-sig")
            rows.append((number, {"paper_id": file.stem, "review": text}))
        except UnicodeDecodeError:
            imported.refusals.append(Refusal(number, f"file {file.name}", "it is not UTF-8"))
        except OSError as error:
            imported.refusals.append(Refusal(number, f"file {file.name}", f"it cannot be read: {error.strerror}"))
        except (RefusedError, SourceError) as reason:
            imported.refusals.append(Refusal(number, f"file {shown(file.name)}", str(reason)))
        else:
            meter.take(2 * len(text), 2, 1)  # what is read is kept, and copied once into the edition
    if not rows:
        raise SourceError(f"no text in folder {path.absolute()}: expected <paper id>{' or <paper id>'.join(TEXTS)}")
    return rows


def _csv(path: Path, imported: Imported, kind: str) -> tuple[list[tuple[int, Row]], list[str]]:
    csv.field_size_limit(LARGEST)
    how: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == "tsv" else {"strict": True}
    rows: list[tuple[int, Row]] = []
    try:
        reader = csv.reader(_lines_of_text(path, how.get("delimiter", ",")), **how)
        heading = next(reader, [])
        if len(set(heading)) < len(heading):
            raise SourceError(f"{path.name}: two columns have the same name")
        marks = ";\t" if kind == "csv" else ",;"
        if len(heading) == 1 and (mark := next((mark for mark in marks if mark in heading[0]), None)):
            with_what = "commas" if kind == "csv" else "tabs"
            raise SourceError(f"{path.name}: its columns are separated by {mark!r}; write it with {with_what}")
        for number, cells in enumerate(filter(None, reader), start=1):
            if len(cells) == len(heading):
                rows.append((number, {name: cell or None for name, cell in zip(heading, cells, strict=True)}))
            else:
                reason = f"it has {len(cells)} cells, and the heading has {len(heading)}"
                imported.refusals.append(Refusal(number, f"row {number}", reason))
    except UnicodeDecodeError:
        raise SourceError(f"{path.name}: line {_not_utf8(path)} is not UTF-8; save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise SourceError(f"{path.name} cannot be read as {kind.upper()} in UTF-8: {error}") from None
    return rows, heading


def _lines_of_text(path: Path, delimiter: str) -> Iterator[str]:
    meter = Meter(path)
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        while line := text.readline(LONGEST_ROW + 1):
            if len(line) > LONGEST_ROW:
                raise SourceError(f"{path.name}: a line is longer than {LONGEST_ROW // 2**20} MiB")
            meter.take(len(line), 1 + line.count(delimiter), 1)
            yield line


def _not_utf8(path: Path) -> int:
    """Returns the number of the first line of *path* that is not UTF-8."""
    for number, _, line in lines(path):
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


def _parquet(path: Path, imported: Imported) -> tuple[list[tuple[int, Row]], list[str]]:
    ((_, table),) = read_isolated("parquet", [path])
    if isinstance(table, SourceError):
        raise table
    rows: list[tuple[int, Row]] = []
    for number, cells in enumerate(table["rows"], start=1):
        if cells is None:
            imported.refusals.append(Refusal(number, f"row {number}", "it holds text that is not UTF-8"))
        else:
            rows.append((number, dict(zip(table["columns"], cells, strict=True))))
    return rows, table["columns"]


def read_parquet(path: Path) -> dict[str, Any]:
    """Returns ``columns`` and ``rows`` of the file *path*, for `read_isolated`; None for a row that is not UTF-8.

    What pandas notes in the file is not read, except that an index with a name is a column. Raises `SourceError` if the
    file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    meter, rows = Meter(path), []
    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if not _OF_AN_INDEX.fullmatch(name)]
            if len(set(columns)) < len(columns):
                raise SourceError(f"{path.name}: two columns have the same name")
            meter.take(0, file.metadata.num_rows * len(columns), file.metadata.num_rows)
            for batch in file.iter_batches(1000, columns=columns, use_threads=False):
                for index in range(len(batch)):
                    try:
                        rows.append([column[index].as_py() for column in batch.columns])
                    except UnicodeDecodeError:
                        rows.append(None)
    except (OSError, ValueError, NotImplementedError, pa.ArrowException) as error:
        raise SourceError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}") from None
    return {"columns": columns, "rows": rows}
