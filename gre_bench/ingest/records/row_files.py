"""Reads rows from users' files; the format is detected from the contents, or else from the file's name.

Formats: CSV with any delimiter, TSV, JSON, JSON lines, Parquet and XLSX. Rows are numbered from 1, without the header.
A row that cannot be read is refused. A CSV or TSV file is read with the delimiter, quoting and encoding that fit the
whole file; if two ways fit, the file is refused.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path
from typing import Any

from gre_bench.core import incoming
from gre_bench.core.errors import SourceError, build_missing_file_error
from gre_bench.core.incoming import (
    LONGEST_ROW,
    FileReadMeter,
    compute_value_count_bound,
    iterate_lines,
    open_decompressed,
    open_zip_archive,
)
from gre_bench.core.strict import load_json
from gre_bench.ingest.records.cells import (
    LARGEST,
    ImportResult,
    RefusedError,
    Row,
    Rows,
    is_blank,
    is_name,
    is_utf8_text,
)
from gre_bench.ingest.records.isolated import read_files_in_child_process

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SEPARATOR = re.compile(r"sep=(.)\r?\n")
"""Matches a first line that states the delimiter of a CSV file for Excel."""
_BOMS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*[\"}]")
_UNSUPPORTED_FORMATS = {
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old or encrypted Excel file; save it as .xlsx, without a password",
}
"""First bytes of a file that cannot be read → what kind of file it is, for messages."""
_PANDAS_INDEX_COLUMN = re.compile(r"__index_level_\d+__")
"""Matches the names of the columns of a .parquet file in which pandas stores an unnamed index."""
_FORUM = re.compile(r"https?://openreview\.net/(?:forum|pdf)\?id=")

Found = list[tuple[int, Row | str]]
"""(row number, cells) for each row; for a refused row, the reason in place of the cells."""
Table = tuple[Found, list[str]]
"""(rows, names of the columns)."""


def parse_json_object(line: bytes) -> Row:
    """Returns the JSON object in *line*; raises `RefusedError` if it is not a JSON object."""
    try:
        row = load_json(line)
    except ValueError as error:
        raise RefusedError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(row, dict):
        raise RefusedError("not a JSON object")
    return row


def read_rows(path: Path, imported: ImportResult, quoted: bool = True) -> tuple[Rows, list[str]]:
    """Returns (rows, column names) of the file *path*. The rows are (row number, cells) pairs, without blank rows.

    Blank cells of CSV, TSV and XLSX files are None. *quoted*: whether quotation marks in a .tsv file may quote cells.
    Refused and blank rows are left out, and recorded in *imported*. Raises `SourceError` for a file that is missing,
    empty, of another format, above a limit (`gre_bench.core.incoming`), or ambiguous.
    """
    if path.is_dir():
        raise SourceError(
            f"{path} is a folder, where a file is expected; a folder of papers is for gre-bench new --papers"
        )
    if not path.is_file():
        raise build_missing_file_error(path)
    kind, columns = _detect_format(path), None
    if kind in ("json", "lines"):
        numbered = _read_json_lines(path) if kind == "lines" else _read_json_rows(path)
    elif kind in ("csv", "tsv"):
        numbered, columns = _read_delimited_file(path, kind, quoted, imported)
    else:
        ((_, table),) = read_files_in_child_process(read_parquet if kind == "parquet" else read_xlsx, [path])
        if isinstance(table, SourceError):
            raise table
        numbered, columns = table["rows"], table["columns"]
    rows: Rows = []
    unit = {"json": "element", "lines": "line"}.get(kind, "row")
    for number, row in numbered:
        if isinstance(row, str):
            imported.refuse(number, f"{unit} {number}", row)
        elif row and all(map(is_blank, row.values())):
            imported.empty += 1
        else:
            rows.append((number, row))
    if columns is None:
        columns = list(dict.fromkeys(name for _, row in rows for name in row))
    if not rows and not imported.refusals:
        raise SourceError(f"{path.name} has columns and no row" if columns else f"{path.name} is empty: no row in it")
    return rows, columns


def _detect_format(path: Path) -> str:
    """Returns the format of the file *path*: parquet, xlsx, lines (JSON lines), json, csv or tsv."""
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    head = b""
    with (
        suppress(OSError, EOFError, zlib.error),
        open_decompressed(path) as file,
    ):  # the reader of the format reports errors
        head = file.read(4096)
    if head.startswith(b"PAR1") or ending == "parquet":
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "xlsx"
    if what := next((what for mark, what in _UNSUPPORTED_FORMATS.items() if head.startswith(mark)), None):
        raise SourceError(f"{path.name} is {what}")
    if ending in ("jsonl", "ndjson"):
        return "lines"
    if ending == "json" or _JSON.match(head):
        return "json"
    if b"\0" in head and not head.startswith(tuple(_BOMS)):
        raise SourceError(f"{path.name} is not a table, JSON, Parquet or .xlsx file")
    return "tsv" if ending in ("tsv", "tab") else "csv"


def read_rows_without_refusals(path: Path, quoted: bool = True) -> tuple[Rows, list[str]]:
    """Returns the result of `read_rows`; raises a `SourceError` that names the row if a row is refused."""
    imported = ImportResult()
    rows, columns = read_rows(path, imported, quoted)
    if imported.refusals:
        raise SourceError(f"{path.name}, {imported.refusals[0].item}: {imported.refusals[0].reason}")
    return rows, columns


def read_notes_file(path: Path) -> list[dict[str, Any]]:
    """Returns the raw notes in the file *path*, one per line; raises `SourceError` for any other content."""
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise SourceError(f"{path.name}: expected .jsonl or .jsonl.gz, a JSON object a line")
    return [row for _, row in read_rows_without_refusals(path)[0]]


def read_paper_texts(path: Path) -> dict[str, str]:
    """Returns {paper id: text} from the columns ``paper_id`` and ``text`` (or ``markdown``) of *path*.

    A paper whose text is null or blank is left out. Raises `SourceError` if a row cannot be used.
    """
    if not path.name.endswith((".parquet", ".csv", ".jsonl", ".jsonl.gz")):
        raise SourceError(f"{path.name}: expected .jsonl or .jsonl.gz, a JSON object a line")
    texts: dict[str, str] = {}
    for number, row in read_rows_without_refusals(path)[0]:
        paper_id, text = row.get("paper_id"), row["text"] if "text" in row else row.get("markdown")
        where = f"{path.name}, row {number}"
        if not isinstance(paper_id, str) or not paper_id:
            raise SourceError(f"{where}: paper_id is missing")
        if "text" not in row and "markdown" not in row:
            raise SourceError(f"{where}: paper {paper_id!a:.60} has neither text nor markdown")
        if text is None:
            continue
        if not is_utf8_text(text) or not is_utf8_text(paper_id):
            raise SourceError(f"{where}: the text of paper {paper_id!a:.60} is not valid text")
        if texts.get(paper_id, text) != text:
            raise SourceError(f"{where}: paper {paper_id!a:.60} occurs twice, with different texts")
        if text.strip():
            texts[paper_id] = text
    return texts


def read_ids(path: Path, kind: str = "paper") -> tuple[str, ...]:
    """Returns the distinct ids in the text file *path*, one per line. *kind*: what the ids name, for messages.

    Blank lines and lines that begin with # are skipped. A line may also hold the address of a paper's forum. Raises
    `SourceError` if there is no id, or if a line holds anything else.
    """
    try:
        listed = incoming.read_text(path, "utf-8-sig").splitlines()
    except FileNotFoundError:
        raise build_missing_file_error(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path.name} cannot be read as a list of {kind} ids: {error}") from None
    ids: dict[str, None] = {}
    for number, line in enumerate(map(str.strip, listed), start=1):
        name = _FORUM.sub("", line)
        if not name or name.startswith("#"):
            continue
        if not is_name(name):
            raise SourceError(f"{path.name}, line {number}: {line!r:.60} is not a {kind} id")
        ids[name] = None
    if not ids:
        raise SourceError(f"{path.name} names no {kind}; write one id a line")
    return tuple(ids)


def _read_json_lines(path: Path) -> Found:
    numbered: Found = []
    for number, _, line in iterate_lines(path):
        if not numbered and line.lstrip().startswith(b"["):
            with suppress(SourceError):
                return _read_json_rows(path)
        try:
            numbered.append((number, parse_json_object(line)))
        except RefusedError as reason:
            numbered.append((number, str(reason)))
    return numbered


def _read_json_rows(path: Path) -> Found:
    """Returns the elements of the JSON array in *path*, or the only object in it, or the objects on its lines."""
    meter, data = FileReadMeter(path), b""
    try:
        with open_decompressed(path) as file:
            data = file.read()
        meter.count_contents(len(data), compute_value_count_bound(data), 1)
        rows = load_json(data)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if "Extra data" in str(error) and data.lstrip().startswith(b"{"):
            return _read_json_lines(path)
        raise SourceError(f"{path.name} cannot be read as JSON: {str(error)[:200]}") from None
    if isinstance(rows, dict) and rows:
        rows = [rows]
    if not isinstance(rows, list):
        raise SourceError(f"{path.name} holds no array: expected an array of objects, or .jsonl, an object a line")
    return [(number, row if isinstance(row, dict) else "not a JSON object") for number, row in enumerate(rows, start=1)]


def _read_delimited_file(path: Path, kind: str, quoted: bool, imported: ImportResult) -> Table:
    """Returns the table in the CSV or TSV file *path*.

    The encoding is UTF-16 or UTF-32 if the file begins with their byte order mark. Else it is UTF-8 if the file is
    valid UTF-8, and Windows-1252 otherwise.
    """
    try:
        with open_decompressed(path) as file:
            head = file.read(4)
        encoding = next((name for mark, name in _BOMS.items() if head.startswith(mark)), "utf-8-sig")
        try:
            return _read_with_detected_delimiter(path, kind, quoted, encoding)
        except UnicodeDecodeError:
            words = _sample_windows_1252_words(path)
        table = _read_with_detected_delimiter(path, kind, quoted, "cp1252")
        imported.notes.append(f"{path.name} is not UTF-8 and was read as Windows-1252, with words such as {words}")
        return table
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise SourceError(f"{path.name} cannot be read as {kind.upper()}: {error}") from None


def _sample_windows_1252_words(path: Path) -> str:
    """Returns some words of the Windows-1252 file *path*; raises `SourceError` if it seems to have another encoding.

    In Western languages, most non-ASCII letters occur singly; in other encodings, several occur together.
    """
    words: dict[str, None] = {}
    alone = together = 0
    for number, _, line in iterate_lines(path, kept=False):
        for run in re.findall(rb"[\x80-\xff]+", line):
            alone, together = alone + (len(run) == 1), together + (len(run) > 1)
        try:
            words |= dict.fromkeys(word for word in re.findall(r"\w+", line.decode("cp1252")) if not word.isascii())
        except UnicodeDecodeError:
            together = alone + 1
        if together > alone:
            raise SourceError(f"{path.name}: line {number} is not UTF-8; save the file as UTF-8")
    return ", ".join(list(words)[:3])


def _read_with_detected_delimiter(path: Path, kind: str, quoted: bool, encoding: str) -> Table:
    """Returns the table in *path*, read with the delimiter that its first line states, or that fits.

    A delimiter fits if it gives every row as many cells as the header. If none does, the usual one is used or, if the
    header lacks it, the first that the header has. Raises `SourceError` if several fit; in a TSV file, tabs take
    precedence.
    """
    csv.field_size_limit(LARGEST)
    first = next(_decode_lines(path, encoding), "")
    if stated := _SEPARATOR.fullmatch(first):
        return _read_with_detected_quoting(path, stated[1], quoted, encoding, skip=1)
    usual = "\t" if kind == "tsv" else ","
    headings = {
        mark: next(filter(None, csv.reader(_decode_lines(path, encoding), delimiter=mark)), []) for mark in DELIMITERS
    }
    marks = [mark for mark, heading in headings.items() if len(heading) > 1]
    if len(marks) < 2 or (kind == "tsv" and usual in marks):
        return _read_with_detected_quoting(path, usual if usual in marks else (marks or [usual])[0], quoted, encoding)
    tables: dict[str, Table] = {}
    for mark in marks:
        with suppress(csv.Error, SourceError):
            tables[mark] = _read_with_detected_quoting(path, mark, quoted, encoding)
    whole = [mark for mark, (numbered, _) in tables.items() if not any(isinstance(row, str) for _, row in numbered)]
    if len(whole) > 1:
        names = " or ".join(DELIMITERS[mark] for mark in whole)
        raise SourceError(f"{path.name}: {names} may separate its columns; write it as .xlsx or .jsonl")
    mark = (whole or [usual if usual in marks else marks[0]])[0]
    return tables[mark] if mark in tables else _read_with_detected_quoting(path, mark, quoted, encoding)


def _read_with_detected_quoting(path: Path, mark: str, quoted: bool, encoding: str, skip: int = 0) -> Table:
    """Returns the table in *path*, with cells separated by *mark*, after the first *skip* lines.

    Quotation marks quote cells. In a TSV file, they are part of the text if only that gives a valid table. If the two
    readings of a TSV file differ and neither is clearly right, raises `SourceError`. *quoted*: False if the marks never
    quote cells in a TSV file.

    pandas, Excel and Python's csv quote a cell that contains line breaks, delimiters or quotation marks, and double
    the quotation marks in it. Databases put a backslash before them. Some programs that write TSV quote nothing.
    """

    def read_table(**how: Any) -> Table:
        return _build_table(path, csv.reader(_decode_lines(path, encoding, mark, skip), delimiter=mark, **how))

    if mark != "\t":
        try:
            return read_table(strict=True)
        except csv.Error:
            with suppress(csv.Error):
                return read_table(strict=True, doublequote=False, escapechar="\\")
            raise
    as_text, as_quotes = read_table(quoting=csv.QUOTE_NONE), None
    if not quoted or (not _list_refused_rows(as_text) and not any('"' in cell for cell in _yield_cell_texts(as_text))):
        return as_text
    with suppress(csv.Error):
        as_quotes = read_table(strict=True)
    if as_quotes is None or as_quotes == as_text or (_list_refused_rows(as_quotes) and not _list_refused_rows(as_text)):
        return as_text
    if not _list_refused_rows(as_quotes) and (
        _list_refused_rows(as_text) or as_text[1] != as_quotes[1]
    ):  # or only a heading is quoted
        return as_quotes
    if bad := _list_refused_rows(as_quotes):
        number, reason = bad[0]
        raise SourceError(f"{path.name}, row {number}: {reason}, with its quotation marks and without them; correct it")
    number = next((text[0] for text, quote in zip(as_text[0], as_quotes[0], strict=False) if text != quote), 1)
    raise SourceError(
        f"{path.name}: its quotation marks may be text, or may quote cells, first in row {number}; write the file as "
        ".csv or .jsonl, where they have one meaning"
    )


def _list_refused_rows(table: Table) -> list[tuple[int, str]]:
    return [(number, row) for number, row in table[0] if isinstance(row, str)]


def _yield_cell_texts(table: Table) -> Iterator[str]:
    for _, row in table[0]:
        if not isinstance(row, str):
            yield from (cell or "" for cell in (*row, *row.values()))


def _build_table(path: Path, rows: Iterable[Sequence[Any]]) -> Table:
    """Returns the table in *rows*; its first non-blank row is the header. Drops blank columns without a name."""
    reader = dropwhile(lambda cells: all(map(is_blank, cells)), rows)
    heading = ["" if is_blank(cell) else str(cell) for cell in next(reader, ())]
    numbered = [(number, cells) for number, cells in enumerate(filter(len, reader), start=1)]
    unnamed = [place for place, name in enumerate(heading) if not name.strip()]
    blank = {
        place for place in unnamed if all(is_blank(cell) for _, cells in numbered for cell in cells[place : place + 1])
    }
    kept = {place: name for place, name in enumerate(heading) if place not in blank}
    if len(set(kept.values())) < len(kept):
        raise SourceError(f"{path.name}: two columns have the same name")
    table: Found = []
    for number, cells in numbered:
        if len(cells) == len(heading):
            table.append((number, {name: None if cells[place] == "" else cells[place] for place, name in kept.items()}))
        elif all(map(is_blank, cells)):
            table.append((number, dict.fromkeys(kept.values())))
        else:
            table.append((number, f"it has {len(cells)} cells, and the heading has {len(heading)}"))
    return table, [*kept.values()]


def _decode_lines(path: Path, encoding: str, mark: str = ",", skip: int = 0) -> Iterator[str]:
    """Yields the lines of *path* after the first *skip* lines; raises `SourceError` if a limit is exceeded.

    *mark*: the delimiter, which is used to count cells.
    """
    meter = FileReadMeter(path)
    with open_decompressed(path) as file:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        while line := text.readline(LONGEST_ROW + 1):
            if len(line) > LONGEST_ROW:
                raise SourceError(f"{path.name}: a line is longer than {LONGEST_ROW // 2**20} MiB")
            meter.count_contents(len(line), 1 + line.count(mark), 1)
            if skip:
                skip -= 1
            else:
                yield line


def read_parquet(path: Path) -> dict[str, Any]:
    """Returns ``columns`` and ``rows`` (a `Found` list) of the Parquet file *path*, for `read_files_in_child_process`.

    pandas' metadata in the file is ignored. A named index becomes a column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    meter, rows = FileReadMeter(path), []
    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if not _PANDAS_INDEX_COLUMN.fullmatch(name)]
            if len(set(columns)) < len(columns):
                raise SourceError(f"{path.name}: two columns have the same name")
            meter.count_contents(0, file.metadata.num_rows * len(columns), file.metadata.num_rows)
            for batch in file.iter_batches(1000, columns=columns, use_threads=False):
                for index in range(len(batch)):
                    try:
                        row = {name: batch[name][index].as_py() for name in columns}
                    except UnicodeDecodeError:
                        row = "it holds text that is not UTF-8"
                    rows.append((len(rows) + 1, row))
    except (OSError, ValueError, NotImplementedError, pa.ArrowException) as error:
        raise SourceError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}") from None
    return {"columns": columns, "rows": rows}


def read_xlsx(path: Path) -> dict[str, Any]:
    """Returns ``columns`` and ``rows`` (a `Found` list) of the only non-empty sheet of the workbook *path*.

    `read_files_in_child_process` calls this. Raises `SourceError` for rows in several sheets, merged cells, formulas
    and errors.
    """
    import openpyxl

    meter = FileReadMeter(path)
    try:
        open_zip_archive(path, meter).close()
        book = openpyxl.load_workbook(incoming.open_regular_file(path), keep_links=False)
        for sheet in book.worksheets:
            meter.count_contents(0, sheet.max_row * sheet.max_column, sheet.max_row)
        sheets = [sheet for sheet in book.worksheets if any(any(row) for row in sheet.iter_rows(values_only=True))]
        cells = [cell for sheet in sheets for row in sheet.iter_rows() for cell in row]
        merged = [str(area) for sheet in sheets for area in sheet.merged_cells.ranges]
    except (MemoryError, SourceError):
        raise
    except Exception as error:  # openpyxl may raise any exception for a damaged file
        raise SourceError(
            f"{path.name} cannot be read as .xlsx: {(str(error).splitlines() or [''])[0][:200]}"
        ) from None
    if len(sheets) > 1:
        names = ", ".join(sheet.title for sheet in sheets)
        raise SourceError(f"{path.name} has rows in {len(sheets)} sheets ({names}); keep one of them")
    if merged:
        raise SourceError(f"{path.name}: cells {merged[0]} are merged; unmerge them, and fill in each cell")
    if odd := next((cell for cell in cells if cell.data_type in "fe"), None):
        what = "a formula" if odd.data_type == "f" else f"the error {odd.value}"
        raise SourceError(f"{path.name}: cell {odd.coordinate} is {what}; put its value there, as text or a number")
    values = sheets[0].iter_rows(values_only=True) if sheets else ()
    numbered, columns = _build_table(path, ([_replace_excel_breaks(cell) for cell in row] for row in values))
    return {"columns": columns, "rows": numbered}


def _replace_excel_breaks(cell: Any) -> Any:
    """Returns *cell*, with a line break in place of Excel's ``_x000D_`` if *cell* is a text."""
    return re.sub(r"_x000D_\n?", "\n", cell) if isinstance(cell, str) else cell
