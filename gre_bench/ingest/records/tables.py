"""Imports papers and reviews from users' files, validated row by row.

A row is imported, already known (the same id with the same content), or refused with its reason. A file is refused as a
whole only if nothing in it is readable, or if a required column is missing. The documentation lists the columns ("Bring
your own reviews").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SourceError
from gre_bench.core.records import FIXED_WRITER, HUMAN, Judgments, Paper, Review
from gre_bench.ingest.records.cells import (
    NO_PATH,
    RefusedError,
    Row,
    is_name,
    joined,
    read_integer,
    read_name,
    read_number,
    read_text,
    shown,
)
from gre_bench.ingest.records.columns import PAPER_COLUMNS, REVIEW_COLUMNS, has, likely, rows_of, rows_of_one
from gre_bench.ingest.records.merge_index import Imported, MergeIndex, Papers, Refusal

NOBODY = "it names no candidate; name one, or give --as NAME or --human for all that name none"

RESERVED = tuple(CONTROLS)

UNNAMED = "unnamed"
"""Code of a refusal: the row names no candidate."""


def papers_from(path: Path, known: Mapping[str, Paper], rows: range | None = None) -> Imported:
    """Returns the new papers of the file *path*, compared with the *known* papers by id.

    *rows*, if given, limits the import to rows whose column ``row`` is in this range.
    """
    imported = Imported()
    papers = Papers(known)
    for number, row in rows_of(path, PAPER_COLUMNS, rows, imported):
        try:
            imported.count(papers.put(_paper(row)))
        except RefusedError as reason:
            imported.refusals.append(Refusal(number, f"paper {shown(row.get('paper_id'))}", str(reason)))
    imported.papers, imported.paper_ids = list(papers.new.values()), papers.accepted
    return imported


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
    epoch: int | None = None,
) -> Imported:
    """Returns the new reviews and judgments of *path*: a file, a folder of texts, or logs of inspect_ai.

    - *known*: the known reviews by id.
    - *known_judgments*: the known texts by (review id, writer).
    - *papers*: the ids of the known papers. Reviews of other papers are refused, unless *make_papers* is set.
    - *by*: the candidate of rows that name none. Without *by*, such a row may only complete a known review, so that
      nothing becomes a human review by accident.
    - *only*: if set, only the reviews by *by* are imported, and the file may hold others.
    - *writer*: the writer of judgments in rows that name none.
    - *rows*: limits the import to rows whose column ``row`` is in this range.
    - *make_papers*: adds unknown papers, with nothing but their ids.
    - *epoch*: for logs, the epoch whose reviews are read.

    Raises `SourceError` if the file has no usable form, or if nothing names a candidate.
    """
    imported = Imported()
    merge_index = MergeIndex(known, known_judgments, papers)
    if by is not None and not is_name(by):
        raise SourceError(
            f"a candidate cannot be called {shown(by)}: letters, digits and . _ : / @ + -, at most 200{NO_PATH}"
        )
    table = list(rows_of(path, REVIEW_COLUMNS, rows, imported, epoch))
    imported.named = tuple(sorted({str(row["candidate"]) for _, row in table if has(row, "candidate")}))
    imported.unnamed = sum(not has(row, "candidate") for _, row in table)
    for number, row in rows_of_one(path, table, by) if only and by is not None else table:
        try:
            review, judgments = _review(row, by, writer, merge_index.reviews)
            review, judgments = merge_index.whole(review, judgments, named=by is not None or has(row, "candidate"))
            merge_index.check(review, make_papers)
            imported.count(merge_index.put(imported, review, judgments, read_integer(row, "row")))
        except RefusedError as reason:
            item, paper = row.get("review_id") or row.get("paper_id"), str(row.get("paper_id"))
            imported.refusals.append(Refusal(number, f"review {shown(item)}", str(reason), reason.code, paper))
    if "candidate" not in imported.columns and any(refusal.code == UNNAMED for refusal in imported.refusals):
        meant = likely("candidate", imported.ignored_columns)
        do = f"rename {meant} to candidate" if meant else "add it"
        raise SourceError(
            f"{path.name}: nothing says whose reviews these are: there is no column candidate; {do}, or name one "
            "candidate for all of them: --as NAME, or --human for human reviews"
        )
    imported.papers, imported.reviews = list(merge_index.new_papers.values()), list(merge_index.new_reviews.values())
    return imported


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
    candidate = read_name(row, "candidate") if has(row, "candidate") else by
    if candidate in RESERVED:
        raise RefusedError(f"candidate name {candidate} belongs to a built-in control")
    slot = read_integer(row, "slot")
    text = read_text(row, "review")
    judgments = read_text({"judgments": joined(row.get("judgments"))}, "judgments")
    if text is None and judgments is None:
        raise RefusedError("empty review: neither review nor judgments has any text")
    if has(row, "review_id"):
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
