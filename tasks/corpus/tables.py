"""Papers and reviews from files that users already have, validated row by row.

A row is taken, known already (the same id with the same content), or refused with its reason; a file as a whole
is refused only when nothing in it can be read. Columns are documented in README ("Bring your own reviews").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tasks.controls import CONTROLS
from tasks.corpus.cells import RefusedError, Row, joined, read_integer, read_name, read_number, read_text, shown
from tasks.corpus.json_lines import read_object
from tasks.corpus.shelf import Imported, Papers, Refusal, Shelf
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
    "grade": False,
    "row": False,
}
"""Column name → whether every row needs it."""

RESERVED = tuple(CONTROLS)


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
    writer: str | None = None,
    rows: range | None = None,
    make_papers: bool = False,
) -> Imported:
    """Reviews and judgments of *path* that are not yet *known*.

    *writer* names the writer of judgments where a row does not. A review of a paper that is not among *papers*
    is refused, unless *make_papers* makes a bare paper of its id.
    """
    taken = Imported()
    shelf = Shelf(known, known_judgments, papers)
    for place, row in _rows(path, REVIEW_COLUMNS, rows, taken):
        try:
            review, judgments = shelf.whole(*_review(row, writer), named=row.get("candidate") not in (None, ""))
            shelf.check(review, make_papers)
            taken.count(shelf.put(taken, review, judgments, read_integer(row, "row")))
        except RefusedError as reason:
            item = row.get("review_id") or row.get("paper_id")
            taken.refusals.append(Refusal(place, f"review {shown(item)}", str(reason)))
    taken.papers, taken.reviews = list(shelf.new_papers.values()), list(shelf.new_reviews.values())
    return taken


def _paper(row: Row) -> Paper:
    return Paper(
        read_name(row, "paper_id"),
        read_text(row, "title") or "",
        read_text(row, "abstract"),
        read_text(row, "text"),
        read_integer(row, "row"),
    )


def _review(row: Row, writer: str | None) -> tuple[Review, Judgments | None]:
    paper_id = read_name(row, "paper_id")
    candidate = read_name(row, "candidate") if row.get("candidate") not in (None, "") else HUMAN
    if candidate in RESERVED:
        raise RefusedError(f"candidate name {candidate} belongs to a built-in control")
    slot = read_integer(row, "slot")
    text = read_text(row, "review")
    judgments = read_text({"judgments": joined(row.get("judgments"))}, "judgments")
    if text is None and judgments is None:
        raise RefusedError("empty review: neither review nor judgments has any text")
    if row.get("review_id") not in (None, ""):
        review_id = read_name(row, "review_id")
    elif candidate != HUMAN:
        review_id = f"{paper_id}:{candidate}"
    elif slot is not None:
        review_id = f"{paper_id}:{slot}"
    else:
        raise RefusedError("a human review needs a review_id or a slot")
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
                yield place, read_object(line)
            except RefusedError as reason:
                taken.refusals.append(Refusal(place, f"line {place}", str(reason)))
