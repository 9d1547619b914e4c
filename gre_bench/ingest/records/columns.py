"""Finds out which column of a user's file holds which field, such as the paper id or the review.

A column is found by the header that the user states, by a usual header, or by the contents of its cells. Ids are
matched loosely: ``papers/P 01.pdf`` refers to the known paper ``P-01``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.known_names import format_name_list
from gre_bench.ingest.records.cells import (
    NOT_IN_A_NAME,
    CellsByHeader,
    ImportResult,
    Row,
    Rows,
    is_blank,
    number_as_text,
    shorten_cell,
)

FIELDS = ("paper_id", "title", "abstract", "text", "review", "review_id", "slot", "rating", "judgments", "candidate",
          "writer", "grade", "row", "point")  # fmt: skip
"""The fields whose headers the user may state."""
JOINED = ("title", "abstract", "text", "review", "judgments")
"""Fields that several columns may form together, with each cell under its header. For any other field with several
columns, only the first cell that is not empty counts."""
USUAL = {
    "paper_id": ("paperid", "paper", "id", "forum", "forumid", "submission", "submissionid", "submissionnumber",
                 "papernumber", "paperno", "itemid"),
    "title": ("title", "papertitle", "submissiontitle"),
    "abstract": ("abstract", "paperabstract"),
    "text": ("text", "fulltext", "papertext", "body", "markdown", "content", "paper"),
    "review": ("review", "reviewtext", "mainreview", "fullreview", "text", "content", "body", "comment", "comments",
               "output", "completion", "commentstoauthors", "commentsfortheauthors"),
    "point": ("point", "item", "claim", "comment", "criticism", "remark"),
    "candidate": ("candidate", "model", "modelname", "llm", "system"),
    "slot": ("slot", "reviewer", "reviewernumber", "reviewerno", "reviewnumber", "reviewno"),
    "rating": ("rating", "score", "overall", "overallscore", "overallrating", "recommendation"),
}  # fmt: skip
"""Field → usual headers for it in users' files, in lower-case letters only."""
CONFIDENTIAL = r"confidential|private|to[ _]?(?:the[ _]?)?(?:s?ac|pc|area[ _]?chair|chair|editor)s?(?![a-z])"
"""Matches headers of comments to the organisers of a venue, which the authors do not see."""
_REVIEW_PART_HEADER = re.compile(
    rf"^(?!.*(?:{CONFIDENTIAL})).*(?:"
    r"summary|strength|weakness|question|limitation|comment|suggestion|concern|pros\b|cons\b|clarity|novelty|soundness"
    r"|significance|review(?!er))",
    re.IGNORECASE,
)
"""Matches headers of parts of a review. If the headers of all long texts in a file match, the texts form one review."""
_BEGINS = re.compile(r"\s*[+\-\u2212]?\d+(?![A-Za-z])")
LONG, SURE = 80, 0.5
"""A column holds texts if its cells have at least LONG characters on average, and paper ids if at least the share SURE
of its cells are ids of known papers."""
_ENDING = re.compile(r"\.(?:pdf|txt|md|markdown|json)$", re.IGNORECASE)
_FORUM = re.compile(r"^https?://[^?]*\?(?:.*&)?id=([^&]+).*$")


@dataclass(frozen=True, slots=True)
class UnclearField:
    """A *field* in *file* for which several columns are possible, or none. *choices*: the headers to choose from.

    *proposed*: the headers of columns that probably form the field together.
    """

    file: str
    field: str
    choices: list[str]
    why: str
    proposed: list[str]


class UnclearColumnsError(SourceError):
    """Raised if the columns of some fields are *unclear*; the message says which fields, and how to state them."""

    def __init__(self, unclear: Sequence[UnclearField]):
        lines, options = [], dict[str, None]()
        for item in unclear:
            quoted = ", ".join(f'"{choice}"' for choice in item.choices)
            lines.append(f"{item.file}: it is unclear which column holds the {item.field}: {item.why}"
                         f" ({quoted or 'there are no others'})")  # fmt: skip
            options |= {f'--columns {item.field}="{header}"': None for header in item.proposed or ["HEADER"]}
        super().__init__(f"{'; '.join(lines)}; use {' '.join(options)}")
        self.unclear = list(unclear)


@dataclass
class ColumnOptions:
    """How the user wants the columns of files to be read. *columns*: field → headers, as the user states them.

    - *guess*: whether to look for fields without a stated header, and to number human reviews that have no number.
    - *where*: header → values; only rows that have one of these values in each of these columns are used.
    - *used*: the stated headers that occurred so far: (field, header) for *columns*, (``where``, header) for *where*.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guess: bool = False
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)

    def require_all_headers_used(self) -> None:
        """Raises `SettingsError` for a stated header that no file had."""
        for name, headers in self.columns.items():
            for header in headers:
                if (name, header) not in self.used:
                    raise SettingsError(f'--columns {name}="{header}": no file here has a column of that name')
        for header, values in self.where.items():
            if ("where", header) not in self.used:
                raise SettingsError(f'--where {header}="{values[0]}": no file here has a column of that name')

    def select_rows(self, rows: Rows, file: str, imported: ImportResult) -> Rows:
        """Returns those of *rows* that *where* selects; headers that the file lacks are ignored. *file*: its name.

        Raises `SettingsError` if a column has none of the stated values.
        """
        for header, values in self.where.items():
            named = {
                name for _, row in rows[:1000] for name in row if _normalise_header(name) == _normalise_header(header)
            }
            if not named:
                continue
            self.used.add(("where", header))
            cells = [next((row[name] for name in named if name in row), None) for _, row in rows]
            wanted = {_normalise_header(value) for value in values}
            kept = [
                row
                for row, cell in zip(rows, cells, strict=True)
                if _normalise_header(str(number_as_text(cell))) in wanted
            ]
            if not kept:
                known = format_name_list(dict.fromkeys(shorten_cell(cell) for cell in cells if not is_blank(cell)))
                raise SettingsError(f'--where {header}="{values[0]}": no row of {file} has that; its values: {known}')
            imported.not_chosen += len(rows) - len(kept)
            rows = kept
        return rows


AS_NAMED = ColumnOptions()
"""Uses only columns that have the name of a field as their header."""


def parse_row_filters(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Returns header → values from *pairs*, each ``COLUMN=VALUE``."""
    where: dict[str, list[str]] = {}
    for pair in pairs:
        header, equals, value = pair.partition("=")
        if not (equals and header.strip() and value.strip()):
            raise SettingsError(f"--where {pair}: write COLUMN=VALUE, such as reviewer_type=human")
        where.setdefault(header.strip(), []).append(value.strip())
    return where


def parse_stated_columns(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Returns field → headers from *pairs*, each ``FIELD=HEADER``."""
    columns: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, header = pair.partition("=")
        if not (equals and header.strip() and name.strip() in FIELDS):
            raise SettingsError(f'--columns {pair}: write FIELD="HEADER"; fields: {", ".join(FIELDS)}')
        columns.setdefault(name.strip(), []).append(header.strip())
    return columns


class PaperIdMatcher:
    """Finds which of *ids*, the ids of the known papers, a cell or file name refers to."""

    def __init__(self, ids: Iterable[str]):
        self.ids = set(ids)
        keys = Counter(_build_matching_key(name) for name in self.ids)
        self._by_key = {_build_matching_key(name): name for name in self.ids if keys[_build_matching_key(name)] == 1}

    def match_known_id(self, value: object, in_part: bool = False) -> str | None:
        """Returns the known id that *value* refers to; None if there is none, or if it may refer to several.

        A file name or the URL of a forum refers to the id in it. Case, leading zeros and characters that ids must not
        contain are ignored. *in_part*: whether *value* may contain more text, as in ``p1-review2`` and ``run3_p1``. An
        id at its start is then preferred.
        """
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return None
        if value in self.ids:
            return str(value)
        key = _build_matching_key(str(value))
        if key in self._by_key or not in_part:
            return self._by_key.get(key)
        signs = list(re.finditer(r"[^a-z0-9]", key))
        parts = [*(key[: sign.start()] for sign in reversed(signs)), *(key[sign.end() :] for sign in signs)]
        return next((self._by_key[part] for part in parts if part in self._by_key), None)


def make_valid_id(value: str) -> str:
    """Returns an id made from *value*, such as a file name: without folder and extension, dashes for invalid signs.

    A letter outside ASCII becomes ``u`` and its code point, so that two ids stay two.
    """
    text = _FORUM.sub(r"\1", unicodedata.normalize("NFKC", value.strip()))
    if _ENDING.search(text):
        text = _ENDING.sub("", text).rpartition("/")[2]
    text = re.sub(r"^(\d+)\.0+$", r"\1", text)
    text = re.sub(r"[^\W_]", lambda sign: sign[0] if sign[0].isascii() else f"u{ord(sign[0]):x}", text)
    return NOT_IN_A_NAME.sub("-", text).strip("-")[:200]


def _build_matching_key(value: str) -> str:
    text = make_valid_id(value).casefold()
    return text.lstrip("0") or "0" if text.isdigit() else text


def rename_to_fields(
    file: str,
    table: Rows,
    headers: Sequence[str],
    wanted: Collection[str],
    reading: ColumnOptions,
    papers: PaperIdMatcher | None,
) -> tuple[Rows, list[str], str | None]:
    """Returns (*table* with its columns renamed to fields, names of all columns, a line about renamed columns).

    *file*: the file's name, for messages. *wanted*: the fields to look for. *papers*: the papers that ids may refer to.

    A header that differs from a field's name only in case or blanks names that field. The line lists the other headers
    that were read as fields; it is None if there are none. Raises `UnclearColumnsError` if *reading* allows guesses,
    but the column of the paper id or of the review remains uncertain.
    """
    headers_of = _match_headers(headers, wanted, reading)
    as_named = {name for name, columns in headers_of.items() if name not in reading.columns or columns == [name]}
    if reading.guess and table:  # an empty table means that each row was refused with its own reason
        search = _FieldSearch(file, table, headers, wanted, headers_of, papers)
        search.find_all_fields()
        if search.unclear:
            raise UnclearColumnsError(search.unclear)
    renamed = {name: columns for name, columns in headers_of.items() if columns != [name]}
    if not renamed:
        return table, list(headers), None
    used = {*renamed, *(header for columns in renamed.values() for header in columns)}
    left = [header for header in headers if header not in used]
    rows = [
        (number, {header: row[header] for header in left if header in row}
         | {name: _read_joined_cells(name, row, columns) for name, columns in renamed.items()})
        for number, row in table
    ]  # fmt: skip
    shown = {name: " + ".join(f'"{column}"' for column in headers_of[name]) for name in renamed if name not in as_named}
    line = "; ".join(f"{name} is {columns}" for name, columns in shown.items()) or None
    return rows, [*left, *renamed], line


def _match_headers(headers: Sequence[str], wanted: Collection[str], reading: ColumnOptions) -> dict[str, list[str]]:
    """Returns *wanted* field → its headers: those that the user stated, or else the one with the field's name."""
    headers_of: dict[str, list[str]] = {}
    by_plain = {_normalise_header(header): header for header in headers}
    for name in wanted:
        present = [header for header in reading.columns.get(name, ()) if _normalise_header(header) in by_plain]
        reading.used.update((name, header) for header in present)
        spelt = (
            [name]
            if name in headers
            else [head for head in headers if _normalise_header(head).replace(" ", "_") == name]
        )
        if present:
            headers_of[name] = [by_plain[_normalise_header(header)] for header in present]
        elif len(spelt) == 1:
            headers_of[name] = spelt
    return headers_of


def suggest_fields(
    file: str, table: Rows, headers: Sequence[str], wanted: Collection[str], papers: PaperIdMatcher | None
) -> dict[str, list[str]]:
    """Returns field → headers of the columns that probably hold it, for fields that no header names.

    For the parameters, see `rename_to_fields`.
    """
    search = _FieldSearch(file, table, headers, wanted, {name: [name] for name in wanted if name in headers}, papers)
    search.find_paper_id_column()
    search.find_review_columns()
    for name in ("candidate", "point"):
        search.assign_headers(name, search.list_usual_headers(name))
    return {name: columns for name, columns in search.known.items() if columns != [name]}


def header_letters(header: str) -> str:
    """Returns the letters a to z of *header* in lower case, without other characters, as in `USUAL`."""
    return re.sub(r"[^a-z]", "", header.casefold())


def _normalise_header(header: str) -> str:
    return " ".join(header.split()).casefold()


def _read_joined_cells(name: str, row: Row, headers: Sequence[str]) -> Any:
    cells = [(header, row[header]) for header in headers if row.get(header) not in (None, "")]
    if len(headers) == 1 or name not in JOINED:
        return cells[0][1] if cells else None
    return CellsByHeader(cells)


@dataclass
class _FieldSearch:
    """Looks for columns of the *wanted* fields that are not in *known* (field → headers), and adds them to *known*."""

    file: str
    table: Rows
    headers: Sequence[str]
    wanted: Collection[str]
    known: dict[str, list[str]]
    papers: PaperIdMatcher | None

    def __post_init__(self) -> None:
        used = {header for columns in self.known.values() for header in columns}
        self.free = [header for header in self.headers if header not in used]
        self.cells = {
            header: [row[header] for _, row in self.table if not is_blank(row.get(header))] for header in self.free
        }
        self.unclear: list[UnclearField] = []

    def find_all_fields(self) -> None:
        self.find_paper_id_column()
        for name in ("title", "abstract", "candidate"):
            self.assign_headers(name, self.list_usual_headers(name))
        self.assign_headers(
            "text", [header for header in self.list_usual_headers("text") if _are_long_texts(self.cells[header])]
        )
        self.find_review_columns()
        self.assign_headers(
            "slot", [header for header in self.list_usual_headers("slot") if self.has_distinct_review_numbers(header)]
        )
        self.assign_headers(
            "rating", [header for header in self.list_usual_headers("rating") if self.has_numbers(header)]
        )

    def lacks(self, name: str) -> bool:
        """Whether the field *name* is wanted, and its column is not found yet.

        If ``judgments`` has a column, ``review`` needs none; if ``review_id`` has one, ``slot`` needs none.
        """
        instead = {"review": "judgments", "slot": "review_id"}.get(name)
        return name in self.wanted and name not in self.known and instead not in self.known

    def list_usual_headers(self, name: str) -> list[str]:
        """Returns the unassigned headers that are `USUAL` for the field *name*, most usual first."""
        return [header for usual in USUAL[name] for header in self.free if header_letters(header) == usual]

    def assign_headers(self, name: str, headers: Sequence[str], most: int = 1) -> None:
        """Assigns the first *most* of *headers*, if there are any, to the field *name*, if `lacks` holds for it."""
        if headers and self.lacks(name):
            self.known[name] = list(headers[:most])
            self.free = [header for header in self.free if header not in self.known[name]]

    def find_paper_id_column(self) -> None:
        """Looks for the column with the ids of known papers; if no paper is known yet, for a usual header."""
        if not self.lacks("paper_id"):
            return
        named, why = self.list_usual_headers("paper_id")[:1], "no column is called like a paper's id"
        if self.papers and self.papers.ids:
            meant = self.papers.match_known_id
            hits = {header: sum(meant(cell) is not None for cell in self.cells[header]) for header in self.free}
            best = max(hits.values(), default=0)
            several = [header for header in self.free if hits[header] == best >= SURE * len(self.table)]
            named = [header for header in self.list_usual_headers("paper_id") if header in several][:1] or several
            why = f"{len(named)} columns name papers" if named else "no column names the papers that are known"
        if len(named) == 1:
            self.assign_headers("paper_id", named)
        else:
            self.unclear.append(UnclearField(self.file, "paper_id", self.free, why, []))

    def find_review_columns(self) -> None:
        """Looks for one column with long texts, for columns that together form a review, or for a usual header."""
        if not self.lacks("review"):
            return
        of_paper = {*self.list_usual_headers("title"), *self.list_usual_headers("abstract")}
        private = [header for header in self.free if re.search(CONFIDENTIAL, header, re.IGNORECASE)]
        texts = [
            header for header in self.free
            if _are_long_texts(self.cells[header]) and header not in of_paper and header not in private
        ]  # fmt: skip
        plain = [header for header in self.list_usual_headers("review") if header in texts or not texts]
        lists = [
            header for header in self.free if _REVIEW_PART_HEADER.search(header) and _are_text_lists(self.cells[header])
        ]
        parts = [header for header in self.free if header in texts or header in lists]
        if parts and (len(parts) == 1 or all(_REVIEW_PART_HEADER.search(header) for header in parts)):
            if all(_REVIEW_PART_HEADER.search(header) for header in parts):
                parts = [header for header in self.free if header in parts or self.is_short_part(header)]
            self.assign_headers("review", parts, most=len(parts))
        elif plain:
            self.assign_headers("review", plain)
        else:
            why = f"{len(texts)} columns hold long texts" if texts else "no column holds long texts"
            self.unclear.append(UnclearField(self.file, "review", texts or self.free, why, texts))

    def is_short_part(self, header: str) -> bool:
        """Whether the column *header* holds a part of a review, even if its cells have only a few words."""
        texts = [cell for cell in self.cells[header] if isinstance(cell, str) and cell.count(" ") > 1]
        return bool(_REVIEW_PART_HEADER.search(header)) and 2 * len(texts) > len(self.cells[header])

    def has_distinct_review_numbers(self, header: str) -> bool:
        """Whether the column *header* numbers the reviews of each paper: no paper has the same number twice."""
        id_of = self.known.get("paper_id", ())
        places = {(str(_read_joined_cells("paper_id", row, id_of)), str(row.get(header))) for _, row in self.table}
        return len(places) == len(self.table) and all(re.fullmatch(r"\d{1,4}", place) for _, place in places)

    def has_numbers(self, header: str) -> bool:
        """Whether each cell of the column *header* begins with a number; text may follow."""
        cells = [cell for cell in self.cells[header] if not isinstance(cell, str) or cell.strip()]
        return bool(cells) and all(isinstance(cell, int | float) or _BEGINS.match(str(cell)) for cell in cells)


def _are_long_texts(cells: Sequence[Any]) -> bool:
    """Whether all *cells* are texts, or lists of texts, and are long on average."""
    texts = [cell for cell in cells if isinstance(cell, str) or _are_text_lists([cell])]
    size = sum(len(part) for text in texts for part in ([text] if isinstance(text, str) else text))
    return bool(texts) and len(texts) == len(cells) and size >= LONG * len(texts)


def _are_text_lists(cells: Sequence[Any]) -> bool:
    return bool(cells) and all(isinstance(cell, list) and all(isinstance(item, str) for item in cell) for cell in cells)
