"""Finds the fields of a file that someone else made: by stated headers, by usual headers, or by what the cells hold.

An id is matched loosely too: ``papers/P 01.pdf`` is the known paper ``P-01``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.ingest.records.row_files import NOT_IN_A_NAME, Parts, Row, Rows

FIELDS = ("paper_id", "title", "abstract", "text", "review", "review_id", "slot", "rating", "judgments", "candidate",
          "writer", "grade", "row", "point")  # fmt: skip
"""The fields that a header may be stated for."""
JOINED = ("title", "abstract", "text", "review", "judgments")
"""Fields that several headers may make together, each cell under its header; of others the first cell counts."""
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
"""Field → headers that other people's files use for it, in small letters and without other characters."""
_SECTION = re.compile(
    r"summary|strength|weakness|question|limitation|comment|suggestion|concern|pros\b|cons\b|clarity|novelty|soundness"
    r"|significance|review",
    re.IGNORECASE,
)
"""Headers of the parts of a review; a file whose long texts all have such headers holds one review in parts."""
_BEGINS = re.compile(r"\s*[+\-\u2212]?\d+(?![A-Za-z])")
LONG, SURE = 80, 0.5
"""A column holds texts from so many characters a cell on average, and names papers if this share of its cells does."""
_ENDING = re.compile(r"\.(?:pdf|txt|md|markdown|json)$", re.IGNORECASE)
_FORUM = re.compile(r"^https?://[^?]*\?(?:.*&)?id=([^&]+).*$")


class UnsureError(SourceError):
    """Says that several columns, or none, may hold *field*; *choices* are the headers to choose from."""

    def __init__(self, file: str, field: str, choices: Sequence[str], why: str):
        quoted = ", ".join(f'"{choice}"' for choice in choices)
        several = "; repeat it for several parts" if field in JOINED and len(choices) > 1 else ""
        example = choices[0] if choices else "HEADER"
        super().__init__(
            f"{file}: it is unclear which column holds the {field}: {why} ({quoted or 'there are no others'}); "
            f'say which, such as --columns {field}="{example}"{several}'
        )
        self.file, self.field, self.choices = file, field, list(choices)


@dataclass
class ColumnNames:
    """How the columns of files are read: *columns* is field → headers, as the user states them.

    - *guess*: whether fields without a stated header are looked for, and human reviews without a number get one.
    - *used*: receives the (field, header) of *columns* that a file had.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guess: bool = False
    used: set[tuple[str, str]] = field(default_factory=set)

    def check_used(self) -> None:
        """Raises `SettingsError` for a stated header that no file has."""
        for name, headers in self.columns.items():
            for header in headers:
                if (name, header) not in self.used:
                    raise SettingsError(f'--columns {name}="{header}": no file here has a column of that name')


AS_NAMED = ColumnNames()
"""Reads only columns that have the names of fields."""


def stated(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Returns field → headers of *pairs*, each ``FIELD=HEADER``."""
    columns: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, header = pair.partition("=")
        if not (equals and header.strip() and name.strip() in FIELDS):
            raise SettingsError(f'--columns {pair}: write FIELD="HEADER"; fields: {", ".join(FIELDS)}')
        columns.setdefault(name.strip(), []).append(header.strip())
    return columns


class PaperIds:
    """The known papers' ids, to find the one that a cell or a file's name means."""

    def __init__(self, ids: Iterable[str]):
        self.ids = set(ids)
        keys = Counter(_key(name) for name in self.ids)
        self._by_key = {_key(name): name for name in self.ids if keys[_key(name)] == 1}

    def meant(self, value: object, in_part: bool = False) -> str | None:
        """Returns the id that *value* means; None if there is none, or if it is unclear which.

        The name of a file or the address of a forum means the id in it. Case, leading zeros and signs that ids may not
        hold make no difference. *in_part*: whether more may follow it after a sign, as in ``p1-review2``.
        """
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return None
        if value in self.ids:
            return str(value)
        key = _key(str(value))
        if key in self._by_key or not in_part:
            return self._by_key.get(key)
        heads = [key[: sign.start()] for sign in re.finditer(r"[^a-z0-9]", key)]
        return next((self._by_key[head] for head in reversed(heads) if head in self._by_key), None)


def as_id(value: str) -> str:
    """Returns *value*, such as a file's name, as an id: without a path and an ending, other signs as dashes."""
    text = _FORUM.sub(r"\1", value.strip())
    if _ENDING.search(text):
        text = _ENDING.sub("", text).rpartition("/")[2]
    text = re.sub(r"^(\d+)\.0+$", r"\1", text)
    return NOT_IN_A_NAME.sub("-", text).strip("-")[:200]


def _key(value: str) -> str:
    text = as_id(value).casefold()
    return text.lstrip("0") or "0" if text.isdigit() else text


def with_fields(
    file: str,
    table: Rows,
    headers: Sequence[str],
    wanted: Collection[str],
    reading: ColumnNames,
    papers: PaperIds | None,
) -> tuple[Rows, list[str], str | None]:
    """Returns *table* with its columns named as the fields that they hold, the names of all columns, and a line on it.

    *file*: its name, for messages. *wanted*: the fields to look for. *papers*: those that the paper's id may name.

    A header that differs from a field's name in case or blanks only is that field. The line says which other headers
    were read as which field, if any. Raises `UnsureError` if *reading* guesses, and the paper's id or the review is not
    found for sure.
    """
    headers_of = _named(headers, wanted, reading)
    as_named = {name for name, columns in headers_of.items() if name not in reading.columns or columns == [name]}
    if reading.guess:
        _Search(file, table, headers, wanted, headers_of, papers).all()
    renamed = {name: columns for name, columns in headers_of.items() if columns != [name]}
    if not renamed:
        return table, list(headers), None
    used = {*renamed, *(header for columns in renamed.values() for header in columns)}
    left = [header for header in headers if header not in used]
    rows = [
        (number, {header: row[header] for header in left if header in row}
         | {name: _cell(name, row, columns) for name, columns in renamed.items()})
        for number, row in table
    ]  # fmt: skip
    shown = {name: " + ".join(f'"{column}"' for column in headers_of[name]) for name in renamed if name not in as_named}
    line = "; ".join(f"{name} is {columns}" for name, columns in shown.items()) or None
    return rows, [*left, *renamed], line


def _named(headers: Sequence[str], wanted: Collection[str], reading: ColumnNames) -> dict[str, list[str]]:
    """Returns field → its headers, for the *wanted* fields that the user stated or that a header spells."""
    headers_of: dict[str, list[str]] = {}
    by_plain = {_plain(header): header for header in headers}
    for name in wanted:
        present = [header for header in reading.columns.get(name, ()) if _plain(header) in by_plain]
        reading.used.update((name, header) for header in present)
        spelt = [name] if name in headers else [head for head in headers if _plain(head).replace(" ", "_") == name]
        if present:
            headers_of[name] = [by_plain[_plain(header)] for header in present]
        elif len(spelt) == 1:
            headers_of[name] = spelt
    return headers_of


def suggested(
    file: str, table: Rows, headers: Sequence[str], wanted: Collection[str], papers: PaperIds | None
) -> dict[str, list[str]]:
    """Returns field → headers that probably hold it, for fields that no header names, as for `with_fields`."""
    search = _Search(file, table, headers, wanted, {name: [name] for name in wanted if name in headers}, papers)
    for look in (search.paper_id, search.review):
        with suppress(UnsureError):
            look()
    for name in ("candidate", "point"):
        search.take(name, search.usual(name))
    return {name: columns for name, columns in search.known.items() if columns != [name]}


def _plain(header: str) -> str:
    return " ".join(header.split()).casefold()


def _cell(name: str, row: Row, headers: Sequence[str]) -> Any:
    cells = [(header, row[header]) for header in headers if row.get(header) not in (None, "")]
    if len(headers) == 1 or name not in JOINED:
        return cells[0][1] if cells else None
    return Parts(cells)


@dataclass
class _Search:
    """Looks for the *wanted* fields that are not yet *known*, and adds them there."""

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
            header: [row[header] for _, row in self.table if row.get(header) not in (None, "", [])]
            for header in self.free
        }

    def all(self) -> None:
        self.paper_id()
        for name in ("title", "abstract", "candidate"):
            self.take(name, self.usual(name))
        self.take("text", [header for header in self.usual("text") if _is_text(self.cells[header])])
        self.review()
        self.take("slot", [header for header in self.usual("slot") if self.tells_reviews_apart(header)])
        self.take("rating", [header for header in self.usual("rating") if self.has_numbers(header)])

    def lacks(self, name: str) -> bool:
        """Whether the field *name* is wanted and not known; judgments or an id stand for a review or its slot."""
        instead = {"review": "judgments", "slot": "review_id"}.get(name)
        return name in self.wanted and name not in self.known and instead not in self.known

    def usual(self, name: str) -> list[str]:
        """Returns the free headers that are `USUAL` for the field *name*, the most usual first."""
        plain = {header: re.sub(r"[^a-z]", "", header.casefold()) for header in self.free}
        return [header for usual in USUAL[name] for header in self.free if plain[header] == usual]

    def take(self, name: str, headers: Sequence[str], most: int = 1) -> None:
        """Makes the first *most* of *headers* the field *name*, if it is lacking and there are any."""
        if headers and self.lacks(name):
            self.known[name] = list(headers[:most])
            self.free = [header for header in self.free if header not in self.known[name]]

    def paper_id(self) -> None:
        """Looks for the column whose cells are known papers; without known papers, for one with a usual header."""
        if not self.lacks("paper_id"):
            return
        named, why = self.usual("paper_id")[:1], "no column is called like a paper's id"
        if self.papers and self.papers.ids:
            meant = self.papers.meant
            hits = {header: sum(meant(cell) is not None for cell in self.cells[header]) for header in self.free}
            best = max(hits.values(), default=0)
            several = [header for header in self.free if hits[header] == best >= SURE * len(self.table)]
            named = [header for header in self.usual("paper_id") if header in several][:1] or several
            why = f"{len(named)} columns name papers" if named else "no column names the papers that are known"
        if len(named) != 1:
            raise UnsureError(self.file, "paper_id", self.free, why)
        self.take("paper_id", named)

    def review(self) -> None:
        """Looks for the only column of long texts, for several that are parts of a review, or for a usual header."""
        if not self.lacks("review"):
            return
        of_paper = {*self.usual("title"), *self.usual("abstract")}
        texts = [header for header in self.free if _is_text(self.cells[header]) and header not in of_paper]
        plain = [header for header in self.usual("review") if header in texts or not texts]
        lists = [header for header in self.free if _SECTION.search(header) and _is_list(self.cells[header])]
        parts = [header for header in self.free if header in texts or header in lists]
        if parts and (len(parts) == 1 or all(_SECTION.search(header) for header in parts)):
            self.take("review", parts, most=len(parts))
        elif plain:
            self.take("review", plain)
        else:
            why = f"{len(texts)} columns hold long texts" if texts else "no column holds long texts"
            raise UnsureError(self.file, "review", texts or self.free, why)

    def tells_reviews_apart(self, header: str) -> bool:
        """Whether the column *header* holds a number that differs among the reviews of each paper."""
        id_of = self.known.get("paper_id", ())
        places = {(str(_cell("paper_id", row, id_of)), str(row.get(header))) for _, row in self.table}
        return len(places) == len(self.table) and all(re.fullmatch(r"\d{1,4}", place) for _, place in places)

    def has_numbers(self, header: str) -> bool:
        """Whether each cell of the column *header* begins with a number, even if it is an ambiguous one."""
        cells = [cell for cell in self.cells[header] if not isinstance(cell, str) or cell.strip()]
        return bool(cells) and all(isinstance(cell, int | float) or _BEGINS.match(str(cell)) for cell in cells)


def _is_text(cells: Sequence[Any]) -> bool:
    """Whether *cells* hold texts or lists of texts, long ones on average."""
    texts = [cell for cell in cells if isinstance(cell, str) or _is_list([cell])]
    size = sum(len(part) for text in texts for part in ([text] if isinstance(text, str) else text))
    return bool(texts) and len(texts) == len(cells) and size >= LONG * len(texts)


def _is_list(cells: Sequence[Any]) -> bool:
    return bool(cells) and all(isinstance(cell, list) and all(isinstance(item, str) for item in cell) for cell in cells)
