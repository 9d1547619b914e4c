"""Reads the cells of a row of any file format, and records the outcome of every row."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.known_names import leaves_parent_folder
from gre_bench.core.records import Judgments, Paper, Review, Synopsis
from gre_bench.core.replies import without_thinking
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import counted

LARGEST = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}")
"""Matches valid ids and candidate names; some OpenReview ids begin with a dash or an underscore."""
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.:/@+-]+")
_LIST = re.compile(r"""\s*\[\s*["'].*["']\s*,?\s*\]\s*""", re.DOTALL)
_MISSING = {"nan", "none", "null", "n/a", "#n/a", "<na>"}
"""What programs write for a missing text, in lower case."""
LONGEST_LIST = 1_000_000
"""A cell with more characters than this is not read as a list."""
NO_PATH = ", and is not a path: without / at its start, and without . or .. between slashes"
UNKNOWN, CONFLICT, UNFINISHED, SECOND, EMPTY = "unknown_paper", "conflict", "unfinished", "second", "empty"
"""Codes of refusals, for callers that treat them differently. UNKNOWN: the edition does not have the paper. CONFLICT:
another record is already in its place, such as a different review by the candidate or judgments with other text.
UNFINISHED: a retry may produce the review. SECOND: an earlier row of the file has another review in its place. EMPTY:
there is no text."""
SHOWN_ROWS = 5
"""`ImportResult.row_counts` lists at most this many refused rows."""

Row = dict[str, Any]
Rows = list[tuple[int, Row]]
"""(row number, row) pairs."""


class CellsByHeader(dict[str, Any]):
    """Header → cell, for cells that `read_prose` joins into one text, each under its header."""


class RefusedError(Exception):
    """Raised if a row is refused; the message is the reason. *code*: the kind of reason (see `UNKNOWN`), or empty."""

    def __init__(self, reason: str, code: str = ""):
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A refused row: its *number* in the file (from 1), its *item*, such as a review, and the *reason* for the user.

    *code*: as in `RefusedError`. *paper_id*: the id of the row's paper; set if there is a *code*.
    """

    number: int
    item: str
    reason: str
    code: str = ""
    paper_id: str | None = None

    def format_line(self) -> str:
        """Returns the row number and the reason, in a short form."""
        short = {
            UNKNOWN: f"unknown paper {shorten_cell(self.paper_id)}",
            EMPTY: f"empty ({shorten_cell(self.paper_id)})",
            SECOND: f"second review of {shorten_cell(self.paper_id)}, first kept",
        }
        item = "" if self.item.endswith(f" {self.number}") else f" {self.item}"
        return (
            f"row {self.number} {short[self.code]}"
            if self.code in short
            else f"row {self.number}{item}: {self.reason.partition(';')[0]}"
        )


@dataclass(slots=True)
class ImportResult:
    """The new records of a file, and the outcome of its rows.

    - *paper_ids*, *review_ids*: the papers and reviews of all accepted rows, including those already stored.
    - *added*, *unchanged*: how many rows contained new records, and how many only records that are already stored.
    - *empty*, *not_chosen*: how many rows were blank, and how many the user did not select.
    - *columns*, *ignored_columns*: all columns of the file, and the columns that are not read.
    - *named*, *unnamed*: the candidates that rows of reviews name, and how many rows name none.
    - *left_out*: {kind of record: how many records of this kind are outside the requested sample or selection}.
    - *thinking*: for each text that contained an LM's thinking, how many characters of thinking were removed.
    """

    papers: list[Paper] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    judgments: list[Judgments] = field(default_factory=list)
    synopses: list[Synopsis] = field(default_factory=list)
    paper_ids: set[str] = field(default_factory=set)
    review_ids: set[str] = field(default_factory=set)
    added: int = 0
    unchanged: int = 0
    empty: int = 0
    not_chosen: int = 0
    refusals: list[RefusedRow] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    ignored_columns: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    unnamed: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    thinking: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def row_counts(self) -> str:
        """One line that says how many rows had each outcome; empty if every row was used."""
        used, refused = self.added + self.unchanged, len(self.refusals)
        others = {"blank": self.empty, "not chosen": self.not_chosen, **self.left_out}
        parts = [f"{count:,} {what}" for what, count in others.items() if count]
        parts += [refusal.format_line() for refusal in self.refusals[:SHOWN_ROWS]]
        parts += [f"{refused - SHOWN_ROWS:,} more refused"] if refused > SHOWN_ROWS else []
        rows = counted(used + refused + sum(others.values()), "row")
        return f"{rows}: {' · '.join([f'{used:,} used', *parts])}" if parts else ""

    def count(self, changed: bool) -> None:
        self.added += changed
        self.unchanged += not changed

    def add_removed_thinking_note(self) -> None:
        """Adds a note that says how many characters of an LM's thinking were removed, if any."""
        if self.thinking:
            texts = counted(len(self.thinking), "text")
            self.notes.append(
                f"thinking removed, which is not part of a review: {sum(self.thinking):,} characters of {texts}"
            )

    def refuse(self, number: int, item: str, reason: object, code: str = "", paper_id: str | None = None) -> None:
        """Adds a `RefusedRow`. *reason*: a text, or the exception that states the reason."""
        self.refusals.append(RefusedRow(number, item, str(reason), code, paper_id))


def is_blank(cell: object) -> bool:
    """Whether *cell* is empty: None, a text of blanks only, or NaN."""
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def is_name(value: str) -> bool:
    """Whether *value* is valid as an id or a candidate's name: it matches `NAME`, and is not a path."""
    return NAME.fullmatch(value) is not None and not leaves_parent_folder(value)


def is_utf8_text(value: object) -> bool:
    """Whether *value* is a text without lone surrogates, which JSON allows but UTF-8 cannot encode."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def shorten_cell(value: Any) -> str:
    """Returns a short form of *value*, a cell of a row, for messages."""
    if value in (None, ""):
        return "?"
    text = repr(value)[1:-1] if isinstance(value, str) else repr(value)
    return text[:60]


def read_name(row: Row, key: str) -> str:
    """Returns the id or name in the cell *key*, which may be a whole number; raises `RefusedError` if it is invalid."""
    value = row.get(key)
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RefusedError(f"{key} is missing")
    if not isinstance(value, str):
        raise RefusedError(f"{key} is {shorten_cell(value)}, which is neither text nor a whole number")
    if not is_name(value):
        raise RefusedError(f"{key} may hold letters, digits and . _ : / @ + - (at most 200 characters){NO_PATH}")
    return value


def read_text(row: Row, key: str) -> str | None:
    """Returns the text in the cell *key*; None if it is missing or blank. Raises `RefusedError` for other values."""
    value = row.get(key)
    if value is None:
        return None
    if not is_utf8_text(value):
        raise RefusedError(f"{key} is not {'valid Unicode' if isinstance(value, str) else 'text'}")
    return value if value.strip() else None


def _parse_text_list(text: str) -> Any:
    """Returns the list of texts that *text* holds, in JSON or in Python's syntax; *text* itself if it holds none."""
    if len(text) > LONGEST_LIST or not _LIST.fullmatch(text):
        return text
    for parse in (load_json, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            items = parse(text.strip())
            return items if all(isinstance(item, str) for item in items) else text
    return text


def read_prose(row: Row, key: str, imported: ImportResult | None = None) -> str | None:
    """Returns the text in the cell *key*, as `read_text` does. A list of texts becomes one text, one line per item.

    A list may also be written as text, as in a CSV file. A cell such as ``nan`` or ``None`` counts as missing.

    *imported*: None if no LM can have written the text. Otherwise, an LM's thinking is removed, and *imported* records
    how many characters that were. A text that consists only of thinking is then refused.
    """
    value = row.get(key)
    return None if isinstance(value, str) and value.strip().casefold() in _MISSING else _read_cell(value, key, imported)


def _read_cell(value: Any, key: str, imported: ImportResult | None) -> str | None:
    if isinstance(value, CellsByHeader):
        texts = {header: _read_cell(number_as_text(cell), header, imported) for header, cell in value.items()}
        return "\n\n".join(f"{header}:\n{text}" for header, text in texts.items() if text) or None
    value = _parse_text_list(value) if isinstance(value, str) else value
    if isinstance(value, list) and all(isinstance(item, str | None) for item in value):
        value = "\n".join(item for item in value if item)
    if isinstance(value, list | dict):
        raise RefusedError(f"{key} is not text, nor a list of texts: {shorten_cell(value)}")
    text = read_text({key: value}, key)
    if imported is None or text is None:
        return text
    text, thinking = without_thinking(text)
    if not text:
        raise RefusedError(f"{key} is thinking alone: {counted(thinking, 'character')}, and no text besides")
    imported.thinking += [thinking] if thinking else []
    return text


def number_as_text(cell: Any) -> Any:
    """Returns *cell* as a JSON text if it is a number or boolean; None if it is NaN; else *cell* itself."""
    return (json.dumps(cell) if cell == cell else None) if isinstance(cell, int | float) else cell


def read_number(row: Row, key: str) -> float | None:
    """Returns the number in the cell *key*; None if it is missing.

    Raises `RefusedError` if it is not a finite number, or if its absolute value exceeds `LARGEST`.
    """
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        raise RefusedError(f"{key} is not a number: {shorten_cell(value)}; write one number, such as 6.5")
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise RefusedError(f"{key} is not a number of at most {LARGEST}")
    return float(value)


def read_integer(row: Row, key: str) -> int | None:
    """Returns the non-negative whole number in the cell *key*; None if it is missing.

    Raises `RefusedError` for any other value.
    """
    value = read_number(row, key)
    if value is not None and (value != int(value) or value < 0):
        raise RefusedError(f"{key} is {'negative' if value == int(value) else 'not a whole number'}")
    return None if value is None else int(value)
