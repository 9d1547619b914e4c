"""Finds the fields of a file that someone else made: by stated headers, by usual headers, or by what the cells hold.

An id is matched loosely too: ``papers/P 01.pdf`` is the known paper ``P-01``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError

FIELDS = ("paper_id", "title", "abstract", "text", "review", "review_id", "slot", "rating", "judgments", "candidate",
          "writer", "grade", "row")  # fmt: skip
"""The fields that a header may be stated for."""
JOINED = ("title", "abstract", "text", "review", "judgments")
"""Fields that several headers may make together, each cell under its header; of other fields the first cell counts."""
USUAL = {
    "paper_id": ("paperid", "paper", "id", "forum", "forumid", "submission", "submissionid", "submissionnumber",
                 "papernumber", "paperno", "itemid"),
    "title": ("title", "papertitle", "submissiontitle"),
    "abstract": ("abstract", "paperabstract"),
    "text": ("text", "fulltext", "papertext", "body", "markdown", "content", "paper"),
    "review": ("review", "reviewtext", "mainreview", "fullreview", "text", "content", "body", "comment", "comments",
               "output", "completion", "commentstoauthors", "commentsfortheauthors"),
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
LONG = 80
"""A column holds texts, not names or numbers, if its cells have this many characters on average."""
SURE = 0.5
"""A column names papers if this share of its cells does."""
_ENDING = re.compile(r"\.(?:pdf|txt|md|markdown|json)$", re.IGNORECASE)
_FORUM = re.compile(r"^https?://[^?]*\?(?:.*&)?id=([^&]+).*$")
_NOT_ID = re.compile(r"[^A-Za-z0-9_.:/@+-]+")

Row = dict[str, Any]
Rows = list[tuple[int, Row]]


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
class Reading:
    """How the columns of files are read.

    - *columns*: field → headers of the files that hold it, as the user states them.
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


AS_NAMED = Reading()
"""Reads only columns that have the names of fields."""


def stated(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Returns field → headers of *pairs*, each ``FIELD=HEADER``; raises `SettingsError` for another form or field."""
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

        An id is also meant by the name of its file or the address of its forum, in any case, with leading zeros, or
        with signs that ids may not hold. *in_part*: whether more may follow it after a sign, as in ``p1-review2``.
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
    return _NOT_ID.sub("-", text).strip("-")[:200]


def _key(value: str) -> str:
    text = as_id(value).casefold()
    return text.lstrip("0") or "0" if text.isdigit() else text


def with_fields(
    file: str, table: Rows, headers: Sequence[str], wanted: Collection[str], reading: Reading, papers: PaperIds | None
) -> tuple[Rows, list[str], str | None]:
    """Returns *table* with its columns named as the fields that they hold, the names of all columns, and a line on it.

    - *file*: its name, for messages. *headers*: its columns. *wanted*: the fields to look for.
    - *papers*: the known papers, if there are any; the column that names them is the paper's id.

    A header that differs from a field's name in case or blanks only is that field. The line says which other headers
    were read as which field; None if there are none. Raises `UnsureError` if
    *reading* guesses, and the paper's id or the review is not found, or not for sure.
    """
    found: dict[str, list[str]] = {}
    by_plain = {_plain(header): header for header in headers}
    for name in wanted:
        here = [header for header in reading.columns.get(name, ()) if _plain(header) in by_plain]
        spelt = [header for header in headers if _plain(header).replace(" ", "_") == name]
        reading.used.update((name, header) for header in here)
        if here:
            found[name] = [by_plain[_plain(header)] for header in here]
        elif name in headers:
            found[name] = [name]
        elif len(spelt) == 1:
            found[name] = spelt
    as_named = {name for name, columns in found.items() if name not in reading.columns or columns == [name]}
    if reading.guess:
        _guess(file, table, headers, wanted, found, papers)
    renamed = {name: columns for name, columns in found.items() if columns != [name]}
    if not renamed:
        return table, list(headers), None
    taken = {header for columns in renamed.values() for header in columns}
    rows = []
    for number, row in table:
        cells = {header: cell for header, cell in row.items() if header not in taken and header not in renamed}
        rows.append((number, cells | {name: _cell(name, row, columns) for name, columns in renamed.items()}))
    shown = {name: " + ".join(f'"{column}"' for column in found[name]) for name in renamed if name not in as_named}
    line = "; ".join(f"{name} is {columns}" for name, columns in shown.items()) or None
    return rows, [*(header for header in headers if header not in taken and header not in renamed), *renamed], line


def suggested(
    file: str, table: Rows, headers: Sequence[str], wanted: Collection[str], papers: PaperIds | None
) -> dict[str, list[str]]:
    """Returns field → headers that probably hold it, for fields that no header names; arguments as in `with_fields`."""
    found = {name: [name] for name in wanted if name in headers}
    for name in ("paper_id", "review"):
        try:
            _guess(file, table, headers, {*wanted} & {name, "candidate"}, found, papers)
        except UnsureError:
            found.setdefault("paper_id", [])
    return {name: columns for name, columns in found.items() if columns and columns != [name]}


def _plain(header: str) -> str:
    """Returns *header* in small letters and with single blanks."""
    return " ".join(header.split()).casefold()


def _cell(name: str, row: Row, headers: Sequence[str]) -> Any:
    cells = [(header, row[header]) for header in headers if row.get(header) not in (None, "")]
    if len(headers) == 1 or name not in JOINED:
        value = cells[0][1] if cells else None
        return _leading_number(value) if name == "rating" else value
    parts = [f"{header}:\n{cell}" for header, cell in cells if isinstance(cell, str) and cell.strip()]
    return "\n\n".join(parts) or None


def _leading_number(cell: Any) -> Any:
    """Returns the number that *cell* begins with, as in ``6: weak accept``; else *cell*."""
    match = re.match(r"\s*(-?\d+(?:\.\d+)?)\b", cell) if isinstance(cell, str) else None
    return (float(match[1]) if "." in match[1] else int(match[1])) if match else cell


def _guess(
    file: str, table: Rows, headers: Sequence[str], wanted: Collection[str], found: dict[str, list[str]],
    papers: PaperIds | None,
) -> None:  # fmt: skip
    """Adds to *found* the fields among *wanted* that are found by headers and cells; the rest is as `with_fields`."""
    free = [header for header in headers if header not in {taken for columns in found.values() for taken in columns}]
    cells = {header: [row[header] for _, row in table if row.get(header) not in (None, "")] for header in free}

    def usual(name: str) -> list[str]:
        return [header for known in USUAL[name] for header in free if re.sub(r"[^a-z]", "", header.casefold()) == known]

    def take(name: str, columns: list[str]) -> None:
        found[name] = columns
        free[:] = [header for header in free if header not in columns]

    if "paper_id" not in found:
        if papers and papers.ids:
            hits = {header: sum(papers.meant(cell) is not None for cell in cells[header]) for header in free}
            best = max(hits.values(), default=0)
            named = [header for header in free if hits[header] == best and best >= SURE * len(table)]
            why = f"{len(named)} columns name papers" if named else "no column names the papers that are known"
        else:
            named, why = usual("paper_id")[:1], "no column is called like a paper's id"
        if len(named) > 1:
            named = [header for header in usual("paper_id") if header in named][:1] or named
        if len(named) != 1:
            raise UnsureError(file, "paper_id", free, why)
        take("paper_id", named)
    for name in ("title", "abstract", "candidate"):
        if name in wanted and name not in found and (columns := usual(name)):
            take(name, columns[:1])
    of_paper = {*usual("title"), *usual("abstract")} if "review" in wanted else set()
    texts = [header for header in free if _is_text(cells[header]) and header not in of_paper]
    if (
        "text" in wanted
        and "text" not in found
        and (columns := [header for header in usual("text") if header in texts])
    ):
        take("text", columns[:1])
    if "review" in wanted and not found.keys() & {"review", "judgments"}:
        plain = [header for header in usual("review") if header in texts or not texts]
        parts = texts if all(_SECTION.search(header) for header in texts) else []
        if len(texts) == 1 or parts:
            take("review", texts)
        elif plain:
            take("review", plain[:1])
        else:
            why = f"{len(texts)} columns hold long texts" if texts else "no column holds long texts"
            raise UnsureError(file, "review", texts or free, why)
    if "slot" in wanted and not found.keys() & {"slot", "review_id"}:
        for header in usual("slot")[:1]:
            places = [(str(_cell("paper_id", row, found["paper_id"])), str(row.get(header))) for _, row in table]
            if len(set(places)) == len(table) and all(re.fullmatch(r"\d{1,4}", place) for _, place in places):
                take("slot", [header])
    if "rating" in wanted and "rating" not in found:
        for header in usual("rating")[:1]:
            if cells[header] and all(isinstance(_leading_number(cell), int | float) for cell in cells[header]):
                take("rating", [header])


def _is_text(cells: Sequence[Any]) -> bool:
    texts = [cell for cell in cells if isinstance(cell, str)]
    return bool(texts) and len(texts) == len(cells) and sum(map(len, texts)) >= LONG * len(texts)
