"""Imports graded reviews and the reviewed items from one file (Xu et al. 2025, §4.1; RottenReviews).

The file has one row per review. It has the columns of RottenReviews, or these; the last four items are optional:

- ``item_id``: the id of the reviewed item.
- ``review``, or ``strengths``, ``weaknesses`` and ``suggestions``: the text of the review.
- ``grade``: how good the review is: a number, or a name such as A, B, C; blank if it is not graded.
- ``review_id``, or ``reviewer``: the id of the review, or the reviewer's name.
- ``title``, ``abstract``, ``text``: the item's texts. It is enough that one row of the item holds them.
- ``rating``: the reviewer's own rating of the item.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gre_bench.catalogs.domains import Domain, load_domain
from gre_bench.core.errors import SourceError
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.core.replies import parse_number
from gre_bench.ingest.records.cells import (
    LARGEST,
    ImportResult,
    RefusedError,
    Row,
    read_name,
    read_prose,
    read_text,
    shorten_cell,
)
from gre_bench.ingest.records.row_files import read_rows
from gre_bench.ingest.records.tables import PaperMerger, ReviewMerger


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The layout of one kind of file. *columns*: {field: column name}. *domain*: the default domain.

    *sections*: the columns that hold the parts of a review, if no single column holds it. They are in the order of the
    domain's headings.
    """

    name: str
    domain: str
    columns: Mapping[str, str]
    sections: tuple[str, ...] = ()


_OWN = ("review", "grade", "review_id", "reviewer", "title", "abstract", "text", "rating")
OWN = ColumnLayout(
    "graded",
    "proposals",
    {"item": "item_id", **{name: name for name in _OWN}},
    ("strengths", "weaknesses", "suggestions"),
)
ROTTEN = ColumnLayout(
    "rottenreviews",
    "review-quality",
    {"item": "paper_id", "review": "review_text", "grade": "Human_Overall_Quality"}
    | {name: name for name in ("reviewer", "title", "abstract")},
)


def read_grade(row: Row, key: str, names: Sequence[str] = ()) -> float | None:
    """Returns the grade in the cell *key*: a number, or the rank (from 1) of its name in *names*; None if blank.

    *names*: the names of the grades, worst first.
    """
    value = row.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if _is_grade_name(value, names):
        return float(names.index(str(value).strip()) + 1)
    number = _parse_bounded_number(value)
    if number is None:
        known = f", nor one of {', '.join(names)}" if names else "; name such grades, the worst first, with --grades"
        raise RefusedError(f"{key} {shorten_cell(value)} is not a number{known}")
    return number


def _is_grade_name(value: Any, names: Sequence[str]) -> bool:
    return isinstance(value, str) and value.strip() in names


def _parse_bounded_number(value: Any) -> float | None:
    number = parse_number(value)
    return None if number is None or abs(number) > LARGEST else number


@dataclass(slots=True)
class GradedFile:
    """The contents of a file of graded reviews, and how its columns were read."""

    layout: str
    domain: str
    grade_column: str
    imported: ImportResult


def read_graded_reviews(
    path: Path,
    known_papers: Mapping[str, Paper],
    known_reviews: Mapping[str, Review],
    domain: Domain | None = None,
    grade_column: str | None = None,
    grades: Sequence[str] | None = None,
) -> GradedFile:
    """Returns the items in the file *path* as papers, with their graded reviews.

    *known_papers*, *known_reviews*: the edition's records by id; a row that contradicts them is refused. *domain*,
    *grade_column*: by default, the file's layout decides. *grades*: the names of the grades, worst first; by default,
    the domain decides. Raises `SourceError` if no layout fits, or if the grades mix names and numbers.
    """
    imported = ImportResult()
    rows, present = read_rows(path, imported)
    columns = set(present)
    listed = ", ".join(sorted(columns)) or "none"
    for layout in (OWN, ROTTEN):
        if layout.columns["item"] in columns and {layout.columns["review"], *layout.sections} & columns:
            break
    else:
        raise SourceError(
            f"{path.name}: there is no item_id with a review (or {', '.join(OWN.sections)}), "
            f"nor the columns of RottenReviews; columns there: {listed}"
        )
    column_of = {**layout.columns, "grade": grade_column or layout.columns["grade"]}
    if column_of["grade"] not in columns:
        problem = f"there is no column {column_of['grade']}; name the grades' with --grade-column"
        raise SourceError(f"{path.name}: {problem}: {listed}")
    domain = domain or load_domain(layout.domain)
    graded = GradedFile(layout.name, domain.name, column_of["grade"], imported)
    names = domain.grades if grades is None else tuple(grades)
    cells = [row.get(column_of["grade"]) for _, row in rows]
    named = {
        _is_grade_name(cell, names)
        for cell in cells
        if _is_grade_name(cell, names) or _parse_bounded_number(cell) is not None
    }
    if len(named) > 1:
        raise SourceError(f"{path.name}: some grades are names and some are numbers; write all of them one way")
    imported.ignored_columns = tuple(sorted(columns - {*column_of.values(), *layout.sections}))
    papers, merge_index, numbers = PaperMerger(known_papers), ReviewMerger(known_reviews, {}, known_papers), Counter()
    for number, row in rows:

        def text_of(part: str, row: Row = row) -> str | None:
            return read_prose(row, column_of[part]) if part in column_of else None

        try:
            title, abstract, text = text_of("title"), text_of("abstract"), text_of("text")
            item = read_name(row, column_of["item"])
            numbers[item] += 1
            review_text = _build_review_text(row, layout, domain, imported)
            rating = read_grade(row, column_of["rating"]) if "rating" in column_of else None
            grade = read_grade(row, column_of["grade"], names)
            review_id = _choose_review_id(row, layout, item, f"{item}:{numbers[item]}")
            old = known_reviews.get(review_id)
            if old is not None and None not in (old.grade, grade) and old.grade != grade:
                raise RefusedError(
                    f"review {review_id} has grade {old.grade:g} already; other grades need a separate edition"
                )
            review = merge_index.complete_review(
                Review(review_id, item, HUMAN, review_text, None, rating, grade), named=True
            )
            changed = papers.put(Paper(item, title or "", abstract, text))
            merge_index.papers.add(item)
            imported.count(merge_index.put(imported, review, None, None) or changed)
        except RefusedError as reason:
            imported.refuse(number, f"review {shorten_cell(row.get(column_of['item']))}", reason)
    imported.papers, imported.reviews = list(papers.new.values()), list(merge_index.new_reviews.values())
    imported.paper_ids = papers.accepted
    imported.add_removed_thinking_note()
    return graded


def _build_review_text(row: Row, layout: ColumnLayout, domain: Domain, imported: ImportResult) -> str:
    column = layout.columns["review"]
    text = read_prose(row, column, imported)
    sections = {name: read_prose(row, name, imported) for name in layout.sections}
    if text is not None and any(sections.values()):
        raise RefusedError(f"it has a {column} and {', '.join(layout.sections)}; leave one of them out")
    if text is None:
        usual = ("Strengths", "Weaknesses", "Suggestions")
        headings = domain.headings if len(domain.headings) == len(sections) else usual
        parts = zip(headings, sections.values(), strict=False)
        text = "\n\n".join(f"{heading}:\n{part.strip()}" for heading, part in parts if part)
    if not text:
        raise RefusedError("empty review")
    return text


def _choose_review_id(row: Row, layout: ColumnLayout, item: str, numbered: str) -> str:
    """Returns the id of the review in *row*: the stated id, else *item* and the reviewer's name, else *numbered*."""
    column = layout.columns.get("review_id")
    if column and row.get(column) not in (None, ""):
        return read_name(row, column)
    reviewer = read_text(row, layout.columns["reviewer"])
    if reviewer is None:
        return numbered
    plain = unicodedata.normalize("NFKD", reviewer).encode("ascii", "ignore").decode()
    return read_name({"reviewer": f"{item}:" + re.sub(r"[^A-Za-z0-9_.@+-]+", "-", plain.strip())}, "reviewer")
