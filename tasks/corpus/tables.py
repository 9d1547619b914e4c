"""Papers and reviews from files that users already have, validated row by row.

A row is taken, known already (the same id with the same content), or refused with its reason; a file as a whole
is refused only when nothing in it can be read, or when a column that it needs is missing. Columns are documented in
README ("Bring your own reviews").
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tasks.controls import CONTROLS
from tasks.corpus.cells import NAME, RefusedError, Row, joined, read_integer, read_name, read_number, read_text, shown
from tasks.corpus.row_files import read_folder, read_rows
from tasks.corpus.shelf import Imported, Papers, Refusal, Shelf
from tasks.errors import SourceError
from tasks.known_names import listed
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
    "grade": False,
    "row": False,
}
"""Column name → whether every row needs it."""

NUMBERS = ("slot", "rating", "grade", "row")
"""Columns of numbers; a .csv file has them as text."""

OFTEN_MEANT = {
    "paper_id": ("paper", "id", "forum", "submission", "submission_id", "item_id"),
    "candidate": ("model", "author", "reviewer", "system", "llm", "model_name"),
    "review": ("text", "review_text", "content", "body", "comment", "output"),
}
"""Column → names that files of others have for it."""

SURELY_MEANT = ("model", "model_name", "llm", "system")
"""Of these columns, those that tell candidates apart where there is no column candidate."""

NOBODY = "it names no candidate; name one, or give --as NAME or --human for all that name none"

RESERVED = tuple(CONTROLS)


UNNAMED = "unnamed"
"""Code of a refusal: the row does not say whose review it is."""


def papers_from(path: Path, known: Mapping[str, Paper], rows: range | None = None) -> Imported:
    """Papers of *path* that are not among the *known* ones; *rows* keeps those with ``row`` in the range."""
    taken = Imported()
    papers = Papers(known)
    for place, row in _rows(path, PAPER_COLUMNS, rows, taken):
        try:
            taken.count(papers.put(_paper(row)))
        except RefusedError as reason:
            taken.refusals.append(Refusal(place, f"paper {shown(row.get('paper_id'))}", str(reason)))
    taken.papers = list(papers.new.values())
    return taken


def reviews_from(
    path: Path,
    known: Mapping[str, Review],
    known_judgments: Mapping[tuple[str, str], str],
    papers: Iterable[str],
    *,
    by: str | None = None,
    only: bool = False,
    writer: str | None = None,
    rows: range | None = None,
    make_papers: bool = False,
) -> Imported:
    """Reviews and judgments of *path*, a file or a folder of texts, that are not yet *known*.

    *by* names the candidate, and *writer* the writer of judgments, where a row does not. Without *by* a row that names
    no candidate may only add to a review that is known: nobody's review becomes a human one by accident. With *only*
    every review taken is *by*'s, and the file may hold those of others. A review of a paper that is not among *papers*
    is refused, unless *make_papers* makes a bare paper of its id.
    """
    taken = Imported()
    shelf = Shelf(known, known_judgments, papers)
    if by is not None and not NAME.fullmatch(by):
        raise SourceError(f"a candidate cannot be called {shown(by)}: letters, digits and . _ : / @ + -, at most 200")
    table = list(_rows(path, REVIEW_COLUMNS, rows, taken))
    for place, row in _only(path, table, by) if only and by is not None else table:
        try:
            review, judgments = _review(row, by, writer, shelf.reviews)
            review, judgments = shelf.whole(review, judgments, named=by is not None or _has(row, "candidate"))
            shelf.check(review, make_papers)
            taken.count(shelf.put(taken, review, judgments, read_integer(row, "row")))
        except RefusedError as reason:
            item, paper = row.get("review_id") or row.get("paper_id"), str(row.get("paper_id"))
            taken.refusals.append(Refusal(place, f"review {shown(item)}", str(reason), reason.code, paper))
    if "candidate" not in taken.columns and any(refusal.code == UNNAMED for refusal in taken.refusals):
        hint = _hint("candidate", taken.ignored_columns)
        raise SourceError(
            f"{path.name}: nothing says whose reviews these are: there is no column candidate{hint}; add it, or name "
            "one candidate for all of them: --as NAME, or --human for human reviews"
        )
    taken.papers, taken.reviews = list(shelf.new_papers.values()), list(shelf.new_reviews.values())
    return taken


def _only(path: Path, table: Sequence[tuple[int, Row]], by: str) -> list[tuple[int, Row]]:
    """The rows of *by*, named so: of several candidates those that are called so, of a single one all.

    `SourceError` if the file holds several candidates, by the column or by one that may be meant, and none is *by*.
    """
    column = next((name for name in ("candidate", *SURELY_MEANT) if any(_has(row, name) for _, row in table)), None)
    names = list(dict.fromkeys(str(row[column]) for _, row in table if _has(row, column))) if column else []
    if len(names) > 1 and by not in names:
        raise SourceError(
            f"{path.name} holds reviews of {len(names)} candidates by its column {column}, and none is called {by}; "
            f"name one of them with --as: {listed(names)}"
        )
    kept = [(place, row) for place, row in table if by not in names or str(row.get(column) or by) == by]
    return [(place, row | {"candidate": by}) for place, row in kept]


def _paper(row: Row) -> Paper:
    return Paper(
        read_name(row, "paper_id"),
        read_text(row, "title") or "",
        read_text(row, "abstract"),
        read_text(row, "text"),
        read_integer(row, "row"),
    )


def _review(
    row: Row, by: str | None, writer: str | None, known: Mapping[str, Review]
) -> tuple[Review, Judgments | None]:
    paper_id = read_name(row, "paper_id")
    candidate = read_name(row, "candidate") if _has(row, "candidate") else by
    if candidate in RESERVED:
        raise RefusedError(f"candidate name {candidate} belongs to a built-in control")
    slot = read_integer(row, "slot")
    text = read_text(row, "review")
    judgments = read_text({"judgments": joined(row.get("judgments"))}, "judgments")
    if text is None and judgments is None:
        raise RefusedError("empty review: neither review nor judgments has any text")
    if _has(row, "review_id"):
        review_id = read_name(row, "review_id")
    elif candidate not in (None, HUMAN):
        review_id = f"{paper_id}:{candidate}"
    elif slot is not None:
        review_id = f"{paper_id}:{slot}"
    elif candidate is None:
        raise RefusedError(NOBODY, UNNAMED)
    else:
        raise RefusedError("a human review needs a review_id or a slot")
    if candidate is None and review_id not in known:
        raise RefusedError(NOBODY, UNNAMED)
    candidate = candidate or known[review_id].candidate
    review = Review(review_id, paper_id, candidate, text, slot, read_number(row, "rating"), read_number(row, "grade"))
    if judgments is None:
        return review, None
    named = read_text(row, "writer") or writer
    if named is not None and (named == FIXED_WRITER or not named.isprintable() or len(named) > 200):
        raise RefusedError(f"a writer cannot be called {shown(named)}")
    if named is None:
        raise RefusedError("its judgments have no writer: add a writer column, or name one with --writer")
    return review, Judgments(review_id, named, judgments)


def _rows(path: Path, columns: Mapping[str, bool], keep: range | None, taken: Imported) -> Iterator[tuple[int, Row]]:
    if path.is_dir() and "review" in columns:
        table, found = read_folder(path, taken), {"paper_id", "review"}
    else:
        table, there = read_rows(path, taken)
        found = set(there)
    taken.columns = tuple(sorted(found))
    taken.ignored_columns = tuple(sorted(found - columns.keys()))
    lacking = [name for name, needed in columns.items() if needed and name not in found]
    if "review" in columns and not found & {"review", "judgments"}:
        lacking.append("review")
    if lacking and table:
        hints = "".join(_hint(name, taken.ignored_columns) for name in lacking)
        raise SourceError(
            f"{path.name}: column {', '.join(lacking)} is missing{hints}; columns read: {', '.join(columns)}; "
            f"columns there: {', '.join(sorted(found)) or 'none'}"
        )
    if keep is not None and "row" not in found:
        raise SourceError(f"{path.name}: rows {keep.start}:{keep.stop} were asked for, but there is no column row")
    written = path.name.removesuffix(".gz").endswith(".csv")
    for place, row in table:
        cells = {name: _number(cell) if written and name in NUMBERS else cell for name, cell in row.items()}
        if keep is not None and (not isinstance(cells.get("row"), int) or isinstance(cells["row"], bool)):
            reason = "row is no whole number, so it cannot be told whether the row was asked for"
            taken.refusals.append(Refusal(place, f"row {place}", reason))
        elif keep is None or cells["row"] in keep:
            yield place, cells


def _has(row: Row, name: str) -> bool:
    return row.get(name) not in (None, "")


def _number(cell: str | None) -> int | float | str | None:
    """The number that a cell of a .csv file spells; the cell itself where it spells none."""
    for kind in (int, float):
        try:
            return kind(cell) if cell else None
        except ValueError:
            continue
    return cell


def _hint(name: str, there: Collection[str]) -> str:
    """Which column that is not read may be the one that is missing."""
    meant = [one for one in there if one.strip().lower() in OFTEN_MEANT.get(name, ())]
    meant = meant or difflib.get_close_matches(name, there, n=1, cutoff=0.7)
    return f" (rename {meant[0]} to {name}?)" if meant else ""
