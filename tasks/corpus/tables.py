"""Papers and reviews from files that users already have, validated row by row.

A row is taken, known already (the same id with the same content), or refused with its reason; a file as a whole
is refused only when nothing in it can be read. Columns are documented in README ("Bring your own reviews").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from tasks.controls import CONTROLS
from tasks.errors import SourceError
from tasks.records import FIXED_WRITER, HUMAN, Judgments, Paper, Review

PAPER_COLUMNS = {"paper_id": True, "title": False, "abstract": False, "text": False, "row": False}
REVIEW_COLUMNS = {
    "paper_id": True,
    "review_id": False,
    "candidate": False,
    "review": False,
    "judgments": False,
    "writer": False,
    "slot": False,
    "rating": False,
    "row": False,
}
"""Column name → whether every row needs it."""

LARGEST = 2**31 - 1
RESERVED = tuple(CONTROLS)
NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}")
"""What an id or a candidate's name may be; ids of OpenReview open with a dash or an underscore at times."""

Row = dict[str, Any]
Record = TypeVar("Record", Paper, Review)


class _RefusedError(Exception):
    """A row that is not taken, and why."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not taken: its place in the file (from 1), what it is, and why."""

    place: int
    item: str
    reason: str


@dataclass(slots=True)
class Imported:
    """What a file gave: every row was *added* (new records), *unchanged* (known already) or refused."""

    papers: list[Paper] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    judgments: list[Judgments] = field(default_factory=list)
    added: int = 0
    unchanged: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    ignored_columns: tuple[str, ...] = ()


def papers_from(path: Path, known: Mapping[str, Paper], rows: range | None = None) -> Imported:
    """Papers of *path* that are not among the *known* ones; *rows* keeps those with ``row`` in the range."""
    taken = Imported()
    seen, new = dict(known), {}
    for place, row in _rows(path, PAPER_COLUMNS, rows, taken):
        try:
            paper = _paper(row)
            old = seen.get(paper.paper_id)
            whole = paper if old is None else _filled(old, paper)
            if whole is None:
                raise _RefusedError("this paper id is already there with other content")
            taken.added += whole != old
            taken.unchanged += whole == old
            if whole != old:
                seen[whole.paper_id] = new[whole.paper_id] = whole
        except _RefusedError as reason:
            taken.refusals.append(Refusal(place, f"paper {_shown(row.get('paper_id'))}", str(reason)))
    taken.papers = list(new.values())
    return taken


def reviews_from(
    path: Path,
    known: Mapping[str, Review],
    known_judgments: Mapping[tuple[str, str], str],
    papers: Iterable[str],
    *,
    writer: str | None = None,
    rows: range | None = None,
    make_papers: bool = False,
) -> Imported:
    """Reviews and judgments of *path* that are not yet *known*.

    *writer* names the writer of judgments where a row does not. A review of a paper that is not among *papers*
    is refused, unless *make_papers* makes a bare paper of its id.
    """
    taken = Imported()
    shelf = _Shelf(known, known_judgments, papers)
    for place, row in _rows(path, REVIEW_COLUMNS, rows, taken):
        try:
            review, judgments = shelf.whole(*_review(row, writer), named=row.get("candidate") not in (None, ""))
            shelf.check(review, make_papers)
            shelf.put(taken, review, judgments, _integer(row, "row"))
        except _RefusedError as reason:
            item = row.get("review_id") or row.get("paper_id")
            taken.refusals.append(Refusal(place, f"review {_shown(item)}", str(reason)))
    taken.papers, taken.reviews = list(shelf.new_papers.values()), list(shelf.new_reviews.values())
    return taken


class _Shelf:
    """What is there already, so that a row can be told new, known or in conflict."""

    def __init__(self, reviews: Mapping[str, Review], judgments: Mapping[tuple[str, str], str], papers: Iterable[str]):
        self.reviews = dict(reviews)
        self.judgments = dict(judgments)
        self.papers = set(papers)
        self.new_papers: dict[str, Paper] = {}
        self.new_reviews: dict[str, Review] = {}
        self.places = {_place(review): review.review_id for review in reviews.values() if _place(review)}

    def whole(self, review: Review, judgments: Judgments | None, named: bool) -> tuple[Review, Judgments | None]:
        """*review* with what is known of it already; a row that does not name its candidate may be of any."""
        old = self.reviews.get(review.review_id)
        if old is None:
            return review, judgments
        found = _filled(old, review if named else replace(review, candidate=old.candidate))
        if found is None:
            raise _RefusedError(f"review id {review.review_id} is already there with other content")
        return found, judgments

    def check(self, review: Review, make_papers: bool) -> None:
        if review.paper_id not in self.papers and not make_papers:
            raise _RefusedError(f"paper {review.paper_id} is not known; import it first")
        holder = self.places.get(_place(review), review.review_id)
        if _place(review) and holder != review.review_id:
            place = " ".join(str(part) for part in _place(review)[1:])
            raise _RefusedError(f"{place} already has review {holder} of paper {review.paper_id}")

    def put(self, taken: Imported, review: Review, judgments: Judgments | None, source_row: int | None) -> None:
        changed = self.reviews.get(review.review_id) != review
        if judgments is not None:
            old = self.judgments.get((judgments.review_id, judgments.writer))
            if old is not None and old != judgments.text:
                raise _RefusedError(f"judgments of {judgments.writer} for this review are already there, and differ")
            if old is None:
                self.judgments[judgments.review_id, judgments.writer] = judgments.text
                taken.judgments.append(judgments)
                changed = True
        if review.paper_id not in self.papers:
            self.papers.add(review.paper_id)
            self.new_papers[review.paper_id] = Paper(review.paper_id, source_row=source_row)
        if self.reviews.get(review.review_id) != review:
            self.reviews[review.review_id] = self.new_reviews[review.review_id] = review
            self.places[_place(review)] = review.review_id
        taken.added += changed
        taken.unchanged += not changed


def _filled(old: Record, new: Record) -> Record | None:
    """*old* with what only *new* states; None where the two state different things."""
    merged = {}
    for field_ in fields(old):
        before, after = getattr(old, field_.name), getattr(new, field_.name)
        if before not in (None, "") and after not in (None, "") and before != after:
            return None
        merged[field_.name] = after if before in (None, "") else before
    return replace(old, **merged)


def _place(review: Review) -> tuple[str, str, str | int] | tuple[()]:
    """The one place a review can take: a model's only review of a paper, a human's numbered slot."""
    if review.candidate != HUMAN:
        return (review.paper_id, "candidate", review.candidate)
    return () if review.slot is None else (review.paper_id, "slot", review.slot)


def _paper(row: Row) -> Paper:
    return Paper(
        _name(row, "paper_id"),
        _text(row, "title") or "",
        _text(row, "abstract"),
        _text(row, "text"),
        _integer(row, "row"),
    )


def _review(row: Row, writer: str | None) -> tuple[Review, Judgments | None]:
    paper_id = _name(row, "paper_id")
    candidate = _name(row, "candidate") if row.get("candidate") not in (None, "") else HUMAN
    if candidate in RESERVED:
        raise _RefusedError(f"candidate name {candidate} belongs to a built-in control")
    slot = _integer(row, "slot")
    text = _text(row, "review")
    judgments = _text({"judgments": _joined(row.get("judgments"))}, "judgments")
    if text is None and judgments is None:
        raise _RefusedError("empty review: neither review nor judgments has any text")
    if row.get("review_id") not in (None, ""):
        review_id = _name(row, "review_id")
    elif candidate != HUMAN:
        review_id = f"{paper_id}:{candidate}"
    elif slot is not None:
        review_id = f"{paper_id}:{slot}"
    else:
        raise _RefusedError("a human review needs a review_id or a slot")
    review = Review(review_id, paper_id, candidate, text, slot, _number(row, "rating"))
    if judgments is None:
        return review, None
    named = _text(row, "writer") or writer
    if named is not None and (named == FIXED_WRITER or not named.isprintable() or len(named) > 200):
        raise _RefusedError(f"a writer cannot be called {_shown(named)}")
    if named is None:
        raise _RefusedError("its judgments have no writer: add a writer column, or name one with --writer")
    return review, Judgments(review_id, named, judgments)


def _rows(path: Path, columns: Mapping[str, bool], keep: range | None, taken: Imported) -> Iterator[tuple[int, Row]]:
    if not path.is_file():
        raise SourceError(f"no file {path}")
    if path.suffix == ".parquet":
        read, columns_there = _parquet(path)
        rows = enumerate(read, start=1)
    elif path.suffix in (".jsonl", ".ndjson"):
        rows, columns_there = _json_lines(path, taken), []
    else:
        raise SourceError(f"{path.name}: expected a .jsonl or .parquet file")
    table = list(rows)
    found = set(columns_there).union(*(row.keys() for _, row in table))
    lacking = [name for name, needed in columns.items() if needed and name not in found]
    if lacking and (table or not taken.refusals):
        raise SourceError(
            f"{path.name}: column {', '.join(lacking)} is missing; columns read: {', '.join(columns)}; "
            f"columns there: {', '.join(sorted(found)) or 'none'}"
        )
    if keep is not None and "row" not in found:
        raise SourceError(f"{path.name}: rows {keep.start}:{keep.stop} were asked for, but there is no column row")
    taken.ignored_columns = tuple(sorted(found - columns.keys()))
    for place, row in table:
        if keep is not None and (not isinstance(row.get("row"), int) or isinstance(row["row"], bool)):
            reason = "row is no whole number, so it cannot be told whether the row was asked for"
            taken.refusals.append(Refusal(place, f"row {place}", reason))
        elif keep is None or row["row"] in keep:
            yield place, row


def _parquet(path: Path) -> tuple[list[Row], list[str]]:
    import pandas

    try:
        table = pandas.read_parquet(path, dtype_backend="pyarrow")
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own errors derive from these
        raise SourceError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}") from None
    if any(table.index.names):
        table = table.reset_index()
    table.columns = [str(name) for name in table.columns]
    return table.astype(object).where(table.notna(), None).to_dict("records"), list(table.columns)


def _json_lines(path: Path, taken: Imported) -> Iterator[tuple[int, Row]]:
    with path.open("rb") as lines:
        for place, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                taken.refusals.append(Refusal(place, f"line {place}", f"not JSON: {str(error)[:200]}"))
                continue
            if isinstance(row, dict):
                yield place, row
            else:
                taken.refusals.append(Refusal(place, f"line {place}", "not a JSON object"))


def _name(row: Row, key: str) -> str:
    value = row.get(key)
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, str) or not value.strip():
        raise _RefusedError(f"{key} is missing")
    if not NAME.fullmatch(value):
        raise _RefusedError(f"{key} may hold letters, digits and . _ : / @ + - (at most 200 characters)")
    return value


def _text(row: Row, key: str) -> str | None:
    """The text of a column; None where it is missing, null or blank."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _RefusedError(f"{key} is not text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _RefusedError(f"{key} is not valid Unicode") from None
    return value if value.strip() else None


def _joined(value: Any) -> Any:
    """A list of judgments as one text, one a line; anything else unchanged."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value


def _number(row: Row, key: str) -> float | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise _RefusedError(f"{key} is not a number of at most {LARGEST}")
    return float(value)


def _integer(row: Row, key: str) -> int | None:
    value = _number(row, key)
    if value is None:
        return None
    if value != int(value):
        raise _RefusedError(f"{key} is not a whole number")
    return int(value)


def _shown(value: Any) -> str:
    return "?" if value in (None, "") else repr(value)[:60].strip("'\"")
