"""Reads users' files of rows (.jsonl, .json, .csv, .tsv, .parquet), folders of texts, notes and lists of paper ids.

Rows are numbered from 1, not counting the heading. A row that cannot be read is refused. In a .csv file, quotation
marks quote cells. In a .tsv file, they may quote cells or be text: the whole file decides which.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.core import incoming
from gre_bench.core.errors import SourceError, no_file
from gre_bench.core.incoming import LONGEST_ROW, Meter, check_name, irregular, lines, opened, read_bytes, values_in
from gre_bench.core.known_names import is_path
from gre_bench.core.records import Judgments, Paper, Review, Synopsis
from gre_bench.core.replies import without_thinking
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.isolated import read_isolated

LARGEST = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}")
"""Valid ids and candidates' names; some ids of OpenReview begin with a dash or an underscore."""
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.:/@+-]+")
NO_PATH = ", and is no path: without / at its start, and without . or .. between slashes"
TEXTS = (".txt", ".md")
"""File endings accepted in a folder of texts."""
UNKNOWN, CONFLICT, UNFINISHED = "unknown_paper", "conflict", "unfinished"
"""Codes of refusals: the paper is unknown; the store holds another record in that position; the text may still come."""

_OF_AN_INDEX = re.compile(r"__index_level_\d+__")
"""Columns of a .parquet file in which pandas keeps an index without a name."""
_FORUM = re.compile(r"https?://openreview\.net/(?:forum|pdf)\?id=")

Row = dict[str, Any]
Rows = list[tuple[int, Row]]
"""Each row with its number."""


class Parts(dict[str, Any]):
    """Header → cell, for the cells that together make a text (`read_prose`), each under its header."""


class RefusedError(Exception):
    """Says that a row is refused, and why; *code* is the kind of reason, if a caller has to know it."""

    def __init__(self, reason: str, code: str = ""):
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused row, by its *number* in the file (from 1), the *item* that it is about, and the *reason*, for the user.

    *code*: as of `RefusedError`. *paper_id*: the paper of the row; known if there is a *code*.
    """

    number: int
    item: str
    reason: str
    code: str = ""
    paper_id: str | None = None


@dataclass(slots=True)
class Imported:
    """The new records of a file, and what became of its rows.

    - *paper_ids*, *review_ids*: the papers and reviews of all accepted rows, of known ones too.
    - *added*, *unchanged*: how many rows brought new records, and how many were known already.
    - *columns*, *ignored_columns*: the columns of the file, and those of them that are not read.
    - *named*, *unnamed*: the candidates that rows of reviews name, and how many rows name none.
    - *left_out*: {kind: how many records of this kind are outside the requested sample or selection}.
    - *thinking*: the characters of thinking that were removed, of each text that had any.
    """

    papers: list[Paper] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    judgments: list[Judgments] = field(default_factory=list)
    synopses: list[Synopsis] = field(default_factory=list)
    paper_ids: set[str] = field(default_factory=set)
    review_ids: set[str] = field(default_factory=set)
    added: int = 0
    unchanged: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    ignored_columns: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    unnamed: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    thinking: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, changed: bool) -> None:
        self.added += changed
        self.unchanged += not changed

    def note_thinking(self) -> None:
        """Adds a note on the characters of thinking that were removed, if there are any."""
        if self.thinking:
            texts = counted(len(self.thinking), "text")
            self.notes.append(f"thinking removed, which is no review: {sum(self.thinking):,} characters of {texts}")

    def refuse(self, number: int, item: str, reason: object, code: str = "", paper_id: str | None = None) -> None:
        """Adds a `Refusal`; *reason* may be the exception that says why."""
        self.refusals.append(Refusal(number, item, str(reason), code, paper_id))


def is_name(value: str) -> bool:
    """Whether *value* may be an id or a candidate's name: it matches `NAME`, and is no path."""
    return NAME.fullmatch(value) is not None and not is_path(value)


def is_text(value: object) -> bool:
    """Whether *value* is a text without a lone surrogate, which JSON may hold and UTF-8 cannot encode."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def shown(value: Any) -> str:
    """Returns a short form of *value*, a cell of a row, for messages."""
    return "?" if value in (None, "") else repr(value)[:60].strip("'\"")


def read_name(row: Row, key: str) -> str:
    """Returns the id in a cell, which may be a whole number; raises `RefusedError`, as the next readers do."""
    value = row.get(key)
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RefusedError(f"{key} is missing")
    if not isinstance(value, str):
        raise RefusedError(f"{key} is {shown(value)}, which is neither text nor a whole number")
    if not is_name(value):
        raise RefusedError(f"{key} may hold letters, digits and . _ : / @ + - (at most 200 characters){NO_PATH}")
    return value


def read_text(row: Row, key: str) -> str | None:
    """Returns the text in a cell; None if it is missing, null or blank."""
    value = row.get(key)
    if value is None:
        return None
    if not is_text(value):
        raise RefusedError(f"{key} is not {'valid Unicode' if isinstance(value, str) else 'text'}")
    return value if value.strip() else None


def read_prose(row: Row, key: str, imported: Imported | None = None) -> str | None:
    """Returns the text in a cell as `read_text` does; a list of texts is one text, an item a line.

    *imported*: given if an LM may have written the text. It counts the characters of thinking, which are removed from
    the text. A text that is thinking alone is refused.
    """
    value = row.get(key)
    if isinstance(value, Parts):
        texts = {header: read_prose({header: _spelt(cell)}, header, imported) for header, cell in value.items()}
        return "\n\n".join(f"{header}:\n{text}" for header, text in texts.items() if text) or None
    if isinstance(value, list) and all(isinstance(item, str | None) for item in value):
        value = "\n".join(item for item in value if item)
    if isinstance(value, list | dict):
        raise RefusedError(f"{key} is not text, nor a list of texts: {shown(value)}")
    text = read_text({key: value}, key)
    if imported is None or text is None:
        return text
    text, thinking = without_thinking(text)
    if not text:
        raise RefusedError(f"{key} is thinking alone: {counted(thinking, 'character')}, and no text besides")
    imported.thinking += [thinking] if thinking else []
    return text


def _spelt(cell: Any) -> Any:
    """Returns the number, true or false that *cell* is as a text, None if it is no number, or else *cell*."""
    return (json.dumps(cell) if cell == cell else None) if isinstance(cell, int | float) else cell


def read_number(row: Row, key: str) -> float | None:
    """Returns the finite number in a cell, at most `LARGEST`; None if it is missing."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        raise RefusedError(f"{key} is not a number: {shown(value)}; write one number, such as 6.5")
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise RefusedError(f"{key} is not a number of at most {LARGEST}")
    return float(value)


def read_integer(row: Row, key: str) -> int | None:
    """Returns the whole number of at least 0 in a cell; None if it is missing."""
    value = read_number(row, key)
    if value is not None and (value != int(value) or value < 0):
        raise RefusedError(f"{key} is {'negative' if value == int(value) else 'not a whole number'}")
    return None if value is None else int(value)


def read_object(line: bytes) -> Row:
    """Returns the JSON object in *line*; raises `RefusedError` if it is none."""
    try:
        row = load_json(line)
    except ValueError as error:
        raise RefusedError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(row, dict):
        raise RefusedError("not a JSON object")
    return row


def read_rows(path: Path, imported: Imported, quoted: bool = True) -> tuple[Rows, list[str]]:
    """Returns (row number, cells) for every row of the file *path*, and the names of its columns.

    Blank cells of a .csv or .tsv file are None. *quoted*: whether quotation marks of a .tsv file may quote cells.
    Refused rows are added to *imported*. Raises `SourceError` for a file that is missing, empty, of another format or
    beyond a limit (`gre_bench.core.incoming`). It is raised too for a .tsv file that can be read in two ways.
    """
    if path.is_dir():
        raise SourceError(
            f"{path} is a folder, where a file is expected; a folder of papers is for gre-bench new --papers"
        )
    if not path.is_file():
        raise no_file(path)
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    rows: Rows = []
    columns: list[str] | None = None
    refused: list[tuple[int, str]] = []
    if path.suffix == ".parquet":
        ((_, table),) = read_isolated("parquet", [path])
        if isinstance(table, SourceError):
            raise table
        columns = [*table["columns"]]
        for number, cells in enumerate(table["rows"], start=1):
            if cells is None:
                imported.refuse(number, f"row {number}", "it holds text that is not UTF-8")
            else:
                rows.append((number, dict(zip(columns, cells, strict=True))))
    elif kind == "csv":
        rows, columns, refused = _table(path, ",", quoted=True)
    elif kind == "tsv":
        rows, columns, refused = _tsv(path) if quoted else _table(path, "\t", quoted=False)
    elif kind in ("jsonl", "ndjson"):
        for number, _, line in lines(path):
            try:
                rows.append((number, read_object(line)))
            except RefusedError as reason:
                imported.refuse(number, f"line {number}", reason)
    elif kind == "json":
        for number, row in enumerate(_array(path), start=1):
            if isinstance(row, dict):
                rows.append((number, row))
            else:
                imported.refuse(number, f"element {number}", "not a JSON object")
    else:
        raise SourceError(
            f"{path.name}: expected a .jsonl, .json, .csv or .parquet file (.jsonl, .json and .csv may be gzipped)"
        )
    for number, reason in refused:
        imported.refuse(number, f"row {number}", reason)
    if columns is None:
        columns = list(dict.fromkeys(name for _, row in rows for name in row))
    if not rows and not imported.refusals:
        raise SourceError(f"{path.name} has columns and no row" if columns else f"{path.name} is empty: no row in it")
    return rows, columns


def read_all_rows(path: Path, quoted: bool = True) -> tuple[Rows, list[str]]:
    """Returns what `read_rows` returns; raises `SourceError`, which names the row, if a row is refused."""
    imported = Imported()
    rows, columns = read_rows(path, imported, quoted)
    if imported.refusals:
        raise SourceError(f"{path.name}, {imported.refusals[0].item}: {imported.refusals[0].reason}")
    return rows, columns


def read_notes_file(path: Path) -> list[dict[str, Any]]:
    """Returns the raw notes of *path*, one a line; raises `SourceError` for anything else."""
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise SourceError(f"{path.name}: expected .jsonl or .jsonl.gz, a JSON object a line")
    return [row for _, row in read_all_rows(path)[0]]


def read_texts(path: Path) -> dict[str, str]:
    """Returns {paper id: text} from the columns ``paper_id`` and ``text`` (or ``markdown``) of *path*.

    A paper whose text is null or blank is left out. Raises `SourceError` for a row that cannot be used.
    """
    if not path.name.endswith((".parquet", ".csv", ".jsonl", ".jsonl.gz")):
        raise SourceError(f"{path.name}: expected .jsonl or .jsonl.gz, a JSON object a line")
    texts: dict[str, str] = {}
    for number, row in read_all_rows(path)[0]:
        paper_id, text = row.get("paper_id"), row["text"] if "text" in row else row.get("markdown")
        where = f"{path.name}, row {number}"
        if not isinstance(paper_id, str) or not paper_id:
            raise SourceError(f"{where}: paper_id is missing")
        if "text" not in row and "markdown" not in row:
            raise SourceError(f"{where}: paper {paper_id!a:.60} has neither text nor markdown")
        if text is None:
            continue
        if not is_text(text) or not is_text(paper_id):
            raise SourceError(f"{where}: the text of paper {paper_id!a:.60} is not valid text")
        if texts.get(paper_id, text) != text:
            raise SourceError(f"{where}: paper {paper_id!a:.60} occurs twice, with different texts")
        if text.strip():
            texts[paper_id] = text
    return texts


def read_ids(path: Path, kind: str = "paper") -> tuple[str, ...]:
    """Returns the distinct ids of the text file *path*, one per line; *kind*: what they name, for messages.

    Blank lines and lines that begin with # are skipped. A line may also hold the address of a paper's forum. Raises
    `SourceError` if there is no id, or for any other line.
    """
    try:
        listed = incoming.read_text(path, "utf-8-sig").splitlines()
    except FileNotFoundError:
        raise no_file(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path.name} cannot be read as a list of {kind} ids: {error}") from None
    ids: dict[str, None] = {}
    for number, line in enumerate(map(str.strip, listed), start=1):
        name = _FORUM.sub("", line)
        if not name or name.startswith("#"):
            continue
        if not is_name(name):
            raise SourceError(f"{path.name}, line {number}: {line!r:.60} is no {kind} id")
        ids[name] = None
    if not ids:
        raise SourceError(f"{path.name} names no {kind}; write one id a line")
    return tuple(ids)


def read_folder(path: Path, imported: Imported) -> Rows:
    """Returns (number, cells) for each text in the folder *path*, in the order of the files' names.

    The cells are ``paper_id``, the file's name without its ending, and ``review``, the text. Files that start with a
    dot are skipped. Files that are no text are refused, and so are links, which are never followed. All together must
    keep to the limits of one file.
    """
    expected = f"expected <paper id>{' or <paper id>'.join(TEXTS)}"
    rows: Rows = []
    meter = Meter(path)
    for number, file in enumerate(sorted(file for file in path.iterdir() if not file.name.startswith(".")), start=1):
        meter.tick()
        try:
            check_name(file)
            if (reason := irregular(file)) and reason != "it is a folder":
                raise RefusedError(reason)
            if file.suffix not in TEXTS or reason:
                raise RefusedError(f"not a text: {expected}")
            text = read_bytes(file, LONGEST_ROW).decode("utf-8-sig")
            rows.append((number, {"paper_id": file.stem, "review": text}))
        except UnicodeDecodeError:
            imported.refuse(number, f"file {file.name}", "it is not UTF-8")
        except OSError as error:
            imported.refuse(number, f"file {file.name}", f"it cannot be read: {error.strerror}")
        except (RefusedError, SourceError) as reason:
            imported.refuse(number, f"file {shown(file.name)}", reason)
        else:
            meter.take(2 * len(text), 2, 1)  # what is read is kept, and copied once into the edition
    if not rows:
        raise SourceError(f"no text in folder {path.absolute()}: {expected}")
    return rows


def _array(path: Path) -> list[Any]:
    meter = Meter(path)
    try:
        with opened(path) as file:
            data = file.read()
        meter.take(len(data), values_in(data), 1)
        rows = load_json(data)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise SourceError(f"{path.name} cannot be read as JSON: {str(error)[:200]}") from None
    if not isinstance(rows, list):
        raise SourceError(f"{path.name} holds no array: expected an array of objects, or .jsonl, an object a line")
    return rows


Table = tuple[Rows, list[str], list[tuple[int, str]]]
"""Rows, the names of columns, and (number, reason) of each refused row."""


def _tsv(path: Path) -> Table:
    """Returns the rows of a .tsv file, in which quotation marks quote cells or are text, whichever fits every row.

    pandas, Excel and Python's csv quote a cell with line breaks, tabs or quotation marks; other programs quote nothing.
    """
    as_text, as_quotes = _table(path, "\t", quoted=False), None
    if not any('"' in (cell or "") for _, row in as_text[0] for cell in (*row, *row.values())) and not as_text[2]:
        return as_text
    with suppress(_NotQuotedError):
        as_quotes = _table(path, "\t", quoted=True)
    if as_quotes is None or as_quotes == as_text or (as_quotes[2] and not as_text[2]):
        return as_text
    if not as_quotes[2] and (as_text[2] or as_text[1] != as_quotes[1]):  # a heading has quotes only around it
        return as_quotes
    if as_quotes[2]:
        number, reason = as_quotes[2][0]
        raise SourceError(f"{path.name}, row {number}: {reason}, with its quotation marks and without them; correct it")
    pairs = zip(as_text[0], as_quotes[0], strict=False)
    number = next((number for (number, text), (_, quoted) in pairs if text != quoted), 1)
    raise SourceError(
        f"{path.name}: its quotation marks may be text, or may quote cells, first in row {number}; write the file as "
        ".csv or .jsonl, where they have one meaning"
    )


class _NotQuotedError(SourceError):
    """Says that the quotation marks of a table do not quote its cells."""


def _table(path: Path, delimiter: str, quoted: bool) -> Table:
    csv.field_size_limit(LARGEST)
    kind = "csv" if delimiter == "," else "tsv"
    how: dict[str, Any] = {"strict": True} if quoted else {"quoting": csv.QUOTE_NONE}
    rows: Rows = []
    refused: list[tuple[int, str]] = []
    try:
        reader = csv.reader(_lines_of_text(path, delimiter), delimiter=delimiter, **how)
        heading = next(reader, [])
        if len(set(heading)) < len(heading):
            raise SourceError(f"{path.name}: two columns have the same name")
        marks, with_what = (";\t", "commas") if kind == "csv" else (",;", "tabs")
        if len(heading) == 1 and (mark := next((mark for mark in marks if mark in heading[0]), None)):
            raise SourceError(f"{path.name}: its columns are separated by {mark!r}; write it with {with_what}")
        for number, cells in enumerate(filter(None, reader), start=1):
            if len(cells) == len(heading):
                rows.append((number, {name: cell or None for name, cell in zip(heading, cells, strict=True)}))
            else:
                refused.append((number, f"it has {len(cells)} cells, and the heading has {len(heading)}"))
    except UnicodeDecodeError:
        bad = next((number for number, _, line in lines(path) if line.decode("utf-8", "ignore").encode() != line), 0)
        raise SourceError(f"{path.name}: line {bad} is not UTF-8; save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        kind_of = _NotQuotedError if isinstance(error, csv.Error) else SourceError
        raise kind_of(f"{path.name} cannot be read as {kind.upper()} in UTF-8: {error}") from None
    return rows, heading, refused


def _lines_of_text(path: Path, delimiter: str) -> Iterator[str]:
    meter = Meter(path)
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        while line := text.readline(LONGEST_ROW + 1):
            if len(line) > LONGEST_ROW:
                raise SourceError(f"{path.name}: a line is longer than {LONGEST_ROW // 2**20} MiB")
            meter.take(len(line), 1 + line.count(delimiter), 1)
            yield line


def read_parquet(path: Path) -> dict[str, Any]:
    """Returns ``columns`` and ``rows`` of the file *path*, for `read_isolated`; None for a row that is not UTF-8.

    What pandas notes in the file is not read, except that an index with a name is a column.
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
