"""Finds the fields in a file with unknown columns: by stated headers, by usual headers, or by the cells' contents.

Ids are matched loosely too: ``papers/P 01.pdf`` refers to the known paper ``P-01``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.known_names import format_name_list
from gre_bench.ingest.records.cells import (
    NOT_IN_A_NAME,
    Imported,
    Parts,
    Row,
    Rows,
    is_blank,
    number_as_text,
    shorten_cell,
)

FIELDS = ("paper_id", "title", "abstract", "text", "review", "review_id", "slot", "rating", "judgments", "candidate",
          "writer", "grade", "row", "point")  # fmt: skip
"""The fields for which the user may state a header."""
JOINED = ("title", "abstract", "text", "review", "judgments")
"""Fields that several columns may form together, with each cell under its header. For any other field, only the first
cell counts."""
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
"""Field → headers that other people's files use for it, in lower-case letters only."""
_SECTION = re.compile(
    r"summary|strength|weakness|question|limitation|comment|suggestion|concern|pros\b|cons\b|clarity|novelty|soundness"
    r"|significance|review(?!er)",
    re.IGNORECASE,
)
"""Headers of the parts of a review. If all long texts of a file have such headers, they form one review."""
_BEGINS = re.compile(r"\s*[+\-\u2212]?\d+(?![A-Za-z])")
LONG, SURE = 80, 0.5
"""A column holds texts if its cells have at least this many characters on average, and paper ids if at least this
share of its cells are ids of known papers."""
_ENDING = re.compile(r"\.(?:pdf|txt|md|markdown|json)$", re.IGNORECASE)
_FORUM = re.compile(r"^https?://[^?]*\?(?:.*&)?id=([^&]+).*$")


@dataclass(frozen=True, slots=True)
class UnclearField:
    """A *field* of *file* for which several columns, or none, are possible. *choices*: the headers to choose from.

    *proposed*: the headers that probably form the field together.
    """

    file: str
    field: str
    choices: list[str]
    why: str
    proposed: list[str]


class UnsureError(SourceError):
    """Raised if columns of some files are *unclear*; the message says which, and how to state them."""

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
class ColumnNames:
    """How the columns of files are read. *columns*: field → headers, as the user states them.

    - *guess*: whether to look for fields without a stated header, and to number human reviews that have no number.
    - *where*: header → values; only rows with one of these values for each header are used.
    - *used*: collects what a file has: the (field, header) of *columns*, and (``where``, header) of *where*.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guess: bool = False
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)

    def check_used(self) -> None:
        """Raises `SettingsError` for a stated header that no file has."""
        for name, headers in self.columns.items():
            for header in headers:
                if (name, header) not in self.used:
                    raise SettingsError(f'--columns {name}="{header}": no file here has a column of that name')
        for header, values in self.where.items():
            if ("where", header) not in self.used:
                raise SettingsError(f'--where {header}="{values[0]}": no file here has a column of that name')

    def select_rows(self, rows: Rows, file: str, imported: Imported) -> Rows:
        """Returns the *rows* of the file *file* that *where* selects; a header that the file lacks is ignored.

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


AS_NAMED = ColumnNames()
"""Reads only columns whose names are names of fields."""


def parse_conditions(pairs: Iterable[str]) -> dict[str, list[str]]:
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


class PaperIds:
    """The ids of the known papers, to match cells and file names against."""

    def __init__(self, ids: Iterable[str]):
        self.ids = set(ids)
        keys = Counter(_matching_key(name) for name in self.ids)
        self._by_key = {_matching_key(name): name for name in self.ids if keys[_matching_key(name)] == 1}

    def match_known_id(self, value: object, in_part: bool = False) -> str | None:
        """Returns the known id that *value* refers to; None if there is none, or more than one.

        A file name or the URL of a forum refers to the id in it. Case, leading zeros and characters that ids must not
        contain are ignored. *in_part*: whether *value* may contain more text, as in ``p1-review2`` and ``run3_p1``.
        """
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return None
        if value in self.ids:
            return str(value)
        key = _matching_key(str(value))
        if key in self._by_key or not in_part:
            return self._by_key.get(key)
        signs = list(re.finditer(r"[^a-z0-9]", key))
        parts = [*(key[: sign.start()] for sign in reversed(signs)), *(key[sign.end() :] for sign in signs)]
        return next((self._by_key[part] for part in parts if part in self._by_key), None)


def clean_id(value: str) -> str:
    """Returns *value*, such as a file name, as an id: without folder and extension, invalid characters as dashes."""
    text = _FORUM.sub(r"\1", value.strip())
    if _ENDING.search(text):
        text = _ENDING.sub("", text).rpartition("/")[2]
    text = re.sub(r"^(\d+)\.0+$", r"\1", text)
    return NOT_IN_A_NAME.sub("-", text).strip("-")[:200]


def _matching_key(value: str) -> str:
    text = clean_id(value).casefold()
    return text.lstrip("0") or "0" if text.isdigit() else text


def rename_to_fields(
    file: str,
    table: Rows,
    headers: Sequence[str],
    wanted: Collection[str],
    reading: ColumnNames,
    papers: PaperIds | None,
) -> tuple[Rows, list[str], str | None]:
    """Returns (*table* with its columns renamed to fields, names of all columns, a line about renamed headers).

    *file*: its name, for messages. *wanted*: the fields to look for. *papers*: the papers that ids may refer to.

    A header that differs from a field's name only in case or blanks is that field. The line says which other headers
    were read as which fields; it is None if none were. Raises `UnsureError` if *reading* may guess, but the column of
    the paper id or of the review remains uncertain.
    """
    headers_of = _match_headers(headers, wanted, reading)
    as_named = {name for name, columns in headers_of.items() if name not in reading.columns or columns == [name]}
    if reading.guess and table:  # an empty table means that each row was refused with its own reason
        search = _Search(file, table, headers, wanted, headers_of, papers)
        search.find_all_fields()
        if search.unclear:
            raise UnsureError(search.unclear)
    renamed = {name: columns for name, columns in headers_of.items() if columns != [name]}
    if not renamed:
        return table, list(headers), None
    used = {*renamed, *(header for columns in renamed.values() for header in columns)}
    left = [header for header in headers if header not in used]
    rows = [
        (number, {header: row[header] for header in left if header in row}
         | {name: _read_cell(name, row, columns) for name, columns in renamed.items()})
        for number, row in table
    ]  # fmt: skip
    shown = {name: " + ".join(f'"{column}"' for column in headers_of[name]) for name in renamed if name not in as_named}
    line = "; ".join(f"{name} is {columns}" for name, columns in shown.items()) or None
    return rows, [*left, *renamed], line


def _match_headers(headers: Sequence[str], wanted: Collection[str], reading: ColumnNames) -> dict[str, list[str]]:
    """Returns field → its headers, for the *wanted* fields that the user stated or that a header names."""
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
    file: str, table: Rows, headers: Sequence[str], wanted: Collection[str], papers: PaperIds | None
) -> dict[str, list[str]]:
    """Returns field → headers that probably hold it, for fields that no header names.

    Parameters: see `rename_to_fields`.
    """
    search = _Search(file, table, headers, wanted, {name: [name] for name in wanted if name in headers}, papers)
    search.paper_id()
    search.review()
    for name in ("candidate", "point"):
        search.assign_headers(name, search.usual(name))
    return {name: columns for name, columns in search.known.items() if columns != [name]}


def header_letters(header: str) -> str:
    """Returns the letters of *header* in lower case, without other characters, as in `USUAL`."""
    return re.sub(r"[^a-z]", "", header.casefold())


def _normalise_header(header: str) -> str:
    return " ".join(header.split()).casefold()


def _read_cell(name: str, row: Row, headers: Sequence[str]) -> Any:
    cells = [(header, row[header]) for header in headers if row.get(header) not in (None, "")]
    if len(headers) == 1 or name not in JOINED:
        return cells[0][1] if cells else None
    return Parts(cells)


@dataclass
class _Search:
    """Looks for the *wanted* fields that are not yet *known*, and adds them to *known*."""

    file: str
    table: Rows
    headers: Sequence[str]
    wanted: Collection[str]
    known: dict[str, list[str]]
    papers: PaperIds | None

    def __post_init__(self) -> None:
        used = {header for columns in self.known.values() for header in columns}
        self.free = [header for header in self.headers if header not in used]
        self.cells = {
            header: [row[header] for _, row in self.table if not is_blank(row.get(header))] for header in self.free
        }
        self.unclear: list[UnclearField] = []

    def find_all_fields(self) -> None:
        self.paper_id()
        for name in ("title", "abstract", "candidate"):
            self.assign_headers(name, self.usual(name))
        self.assign_headers("text", [header for header in self.usual("text") if _is_text(self.cells[header])])
        self.review()
        self.assign_headers("slot", [header for header in self.usual("slot") if self.tells_reviews_apart(header)])
        self.assign_headers("rating", [header for header in self.usual("rating") if self.has_numbers(header)])

    def lacks(self, name: str) -> bool:
        """Whether the field *name* is wanted and not known.

        A review is not lacking if judgments are known, and a slot is not lacking if review ids are known.
        """
        instead = {"review": "judgments", "slot": "review_id"}.get(name)
        return name in self.wanted and name not in self.known and instead not in self.known

    def usual(self, name: str) -> list[str]:
        """Returns the unassigned headers that are `USUAL` for the field *name*, most usual first."""
        return [header for usual in USUAL[name] for header in self.free if header_letters(header) == usual]

    def assign_headers(self, name: str, headers: Sequence[str], most: int = 1) -> None:
        """Assigns the first *most* of *headers*, if there are any, to the field *name* if it is lacking."""
        if headers and self.lacks(name):
            self.known[name] = list(headers[:most])
            self.free = [header for header in self.free if header not in self.known[name]]

    def paper_id(self) -> None:
        """Looks for the column whose cells are known papers; without known papers, for a column with a usual header."""
        if not self.lacks("paper_id"):
            return
        named, why = self.usual("paper_id")[:1], "no column is called like a paper's id"
        if self.papers and self.papers.ids:
            meant = self.papers.match_known_id
            hits = {header: sum(meant(cell) is not None for cell in self.cells[header]) for header in self.free}
            best = max(hits.values(), default=0)
            several = [header for header in self.free if hits[header] == best >= SURE * len(self.table)]
            named = [header for header in self.usual("paper_id") if header in several][:1] or several
            why = f"{len(named)} columns name papers" if named else "no column names the papers that are known"
        if len(named) == 1:
            self.assign_headers("paper_id", named)
        else:
            self.unclear.append(UnclearField(self.file, "paper_id", self.free, why, []))

    def review(self) -> None:
        """Looks for the only column of long texts, for several columns with parts of a review, or for usual headers."""
        if not self.lacks("review"):
            return
        of_paper = {*self.usual("title"), *self.usual("abstract")}
        texts = [header for header in self.free if _is_text(self.cells[header]) and header not in of_paper]
        plain = [header for header in self.usual("review") if header in texts or not texts]
        lists = [header for header in self.free if _SECTION.search(header) and _is_list(self.cells[header])]
        parts = [header for header in self.free if header in texts or header in lists]
        if parts and (len(parts) == 1 or all(_SECTION.search(header) for header in parts)):
            if all(_SECTION.search(header) for header in parts):
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
        return bool(_SECTION.search(header)) and 2 * len(texts) > len(self.cells[header])

    def tells_reviews_apart(self, header: str) -> bool:
        """Whether the column *header* numbers the reviews of each paper: no number occurs twice for one paper."""
        id_of = self.known.get("paper_id", ())
        places = {(str(_read_cell("paper_id", row, id_of)), str(row.get(header))) for _, row in self.table}
        return len(places) == len(self.table) and all(re.fullmatch(r"\d{1,4}", place) for _, place in places)

    def has_numbers(self, header: str) -> bool:
        """Whether each cell of the column *header* begins with a number, even if that number is ambiguous."""
        cells = [cell for cell in self.cells[header] if not isinstance(cell, str) or cell.strip()]
        return bool(cells) and all(isinstance(cell, int | float) or _BEGINS.match(str(cell)) for cell in cells)


def _is_text(cells: Sequence[Any]) -> bool:
    """Whether *cells* hold texts or lists of texts that are long on average."""
    texts = [cell for cell in cells if isinstance(cell, str) or _is_list([cell])]
    size = sum(len(part) for text in texts for part in ([text] if isinstance(text, str) else text))
    return bool(texts) and len(texts) == len(cells) and size >= LONG * len(texts)


def _is_list(cells: Sequence[Any]) -> bool:
    return bool(cells) and all(isinstance(cell, list) and all(isinstance(item, str) for item in cell) for cell in cells)
