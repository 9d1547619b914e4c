"""Imports graded reviews and the items they review from one file (Xu et al. 2025, §4.1; RottenReviews).

The file has one row for each review. Our own layout has these columns; those in the last four lines are optional:

- ``item_id``: the id of the reviewed item.
- ``review``, or ``strengths``, ``weaknesses`` and ``suggestions``: the text of the review.
- ``grade``: a number, or a name such as A, B, C; blank if the review is not graded.
- ``review_id``, or ``reviewer``: the id of the review, or the reviewer's name.
- ``title``, ``abstract``, ``text``: those of the item. They need to be in only one of the item's rows.
- ``rating``: the reviewer's own score of the item.
- ``group``: a name; items with the same name are resampled together.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gre_bench.catalogs.domains import Domain, domain_of
from gre_bench.core.errors import SourceError
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.ingest.records.row_files import (
    LARGEST,
    Imported,
    Refusal,
    RefusedError,
    Row,
    read_name,
    read_rows,
    read_text,
    shown,
)
from gre_bench.ingest.records.tables import MergeIndex, Papers


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The names of the columns in files of one kind; None for a column that such files lack.

    - *name*, *domain*: the name of the layout itself, and the default domain of the files.
    - *item*: the id of the reviewed item.
    - *title*, *abstract*, *text*: those of the item.
    - *review*: the text of a review.
    - *sections*: several columns in place of *review*, in the order of the domain's headings.
    - *grade*: the grade of the review.
    - *review_id*: the id of the review.
    - *reviewer*: the name of the reviewer, from which a missing id is made. Without a name, reviews are numbered by
      item.
    - *rating*: the reviewer's own score of the item.
    - *group*: a name; items with the same name are resampled together.
    """

    name: str
    domain: str
    item: str
    review: str
    grade: str
    sections: tuple[str, ...] = ()
    review_id: str | None = None
    reviewer: str | None = None
    title: str | None = None
    abstract: str | None = None
    text: str | None = None
    rating: str | None = None
    group: str | None = None

    @property
    def columns(self) -> set[str]:
        """The names of all columns that are read."""
        single = (self.item, self.review, self.grade, self.review_id, self.reviewer, self.title, self.abstract)
        return {*single, self.text, self.rating, self.group, *self.sections} - {None}

    def fits(self, columns: Collection[str]) -> bool:
        """Whether the names *columns* include a column for the item and one for the text of a review."""
        return self.item in columns and (self.review in columns or any(name in columns for name in self.sections))


OWN = ColumnLayout(
    "graded",
    "proposals",
    "item_id",
    "review",
    "grade",
    ("strengths", "weaknesses", "suggestions"),
    "review_id",
    "reviewer",
    "title",
    "abstract",
    "text",
    "rating",
    "group",
)
ROTTEN = ColumnLayout(
    "rottenreviews",
    "review-quality",
    "paper_id",
    "review_text",
    "Human_Overall_Quality",
    reviewer="reviewer",
    title="title",
    abstract="abstract",
)
LAYOUTS = (OWN, ROTTEN)


def layout_of(columns: Collection[str], file: str, grade: str | None = None) -> ColumnLayout:
    """Returns the layout of a file that has *columns*.

    *grade*, if given, names the column of grades in place of the layout's own. *file* is the file's name for messages.
    Raises `SourceError` if no layout fits or the column of grades is missing.
    """
    fitting = next((layout for layout in LAYOUTS if layout.fits(columns)), None)
    listed = ", ".join(sorted(columns)) or "none"
    if fitting is None:
        raise SourceError(
            f"{file}: there is no item_id with a review (or {', '.join(OWN.sections)}), "
            f"nor the columns of RottenReviews; columns there: {listed}"
        )
    fitting = replace(fitting, grade=grade) if grade else fitting
    if fitting.grade not in columns:
        raise SourceError(f"{file}: there is no column {fitting.grade}; name the grades' with --grade-column: {listed}")
    return fitting


def read_grade(row: Row, key: str, names: Sequence[str] = ()) -> float | None:
    """Returns the grade in the column *key* of *row*; None if the cell is blank.

    A number is returned as it is. A name becomes its rank in *names*, where the first and worst has rank 1. Raises
    `RefusedError` for any other cell, including a number that is not finite.
    """
    value = row.get(key)
    if _is_blank(value):
        return None
    if _is_name(value, names):
        return float(names.index(str(value).strip()) + 1)
    number = _number(value)
    if number is None:
        known = f" and none of {', '.join(names)}" if names else "; name such grades, the worst first, with --grades"
        raise RefusedError(f"{key} {shown(value)} is no number{known}")
    return number


def are_mixed(values: Iterable[Any], names: Sequence[str]) -> bool:
    """Whether *values* include both names of grades (those in *names*) and numbers, which have no common order."""
    kinds = {_is_name(value, names) for value in values if _is_name(value, names) or _number(value) is not None}
    return len(kinds) == 2


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_name(value: Any, names: Sequence[str]) -> bool:
    return isinstance(value, str) and value.strip() in names


def _number(value: Any) -> float | None:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None


HEADINGS = ("Strengths", "Weaknesses", "Suggestions")
"""Headings of a review's sections, if the domain's form does not have exactly three."""


@dataclass(slots=True)
class Graded:
    """The contents of a file of graded reviews, and how its columns were read.

    - *layout*: the name of the file's column layout.
    - *domain*: the name of the domain of its items.
    - *grade_column*: the name of the column of grades.
    - *imported*: the records that the file brings.
    - *groups*: {item id: group} for the items that have a group.
    """

    layout: str
    domain: str
    grade_column: str
    imported: Imported
    groups: dict[str, str] = field(default_factory=dict)


def graded_from(
    path: Path,
    known_papers: Mapping[str, Paper],
    known_reviews: Mapping[str, Review],
    domain: Domain | None = None,
    grade_column: str | None = None,
    grades: Sequence[str] | None = None,
) -> Graded:
    """Returns the items of the file *path* as papers, and their graded reviews.

    Each row is compared with the known papers and reviews by id. It is added, counted as unchanged, or refused with its
    reason.

    - *domain*, *grade_column*: if None, the file's layout decides.
    - *grades*: the names of grades, the worst first; if None, those of the domain.

    Raises `SourceError` if no layout fits, or if some rows name a grade and others give a number.
    """
    imported = Imported()
    rows, present = read_rows(path, imported)
    columns = set(present)
    layout = layout_of(columns, path.name, grade_column)
    domain = domain or domain_of(layout.domain)
    graded = Graded(layout.name, domain.name, layout.grade, imported)
    names = domain.grades if grades is None else tuple(grades)
    if are_mixed((row.get(layout.grade) for _, row in rows), names):
        raise SourceError(f"{path.name}: some grades are names and some are numbers; write all of them one way")
    imported.ignored_columns = tuple(sorted(columns - layout.columns))
    papers, merge_index, numbers = Papers(known_papers), MergeIndex(known_reviews, {}, known_papers), Counter()
    for number, row in rows:
        try:
            paper = _item(row, layout)
            numbers[paper.paper_id] += 1
            review = _review(row, layout, domain, names, f"{paper.paper_id}:{numbers[paper.paper_id]}")
            _check_grade(known_reviews.get(review.review_id), review)
            review, _ = merge_index.whole(review, None, named=True)
            group = _group(row, layout, paper.paper_id, graded.groups)
            changed = papers.put(paper)
            merge_index.papers.add(paper.paper_id)
            imported.count(merge_index.put(imported, review, None, None) or changed)
            graded.groups |= group
        except RefusedError as reason:
            imported.refusals.append(Refusal(number, f"review {shown(row.get(layout.item))}", str(reason)))
    imported.papers, imported.reviews = list(papers.new.values()), list(merge_index.new_reviews.values())
    imported.paper_ids = papers.accepted
    return graded


def _item(row: Row, layout: ColumnLayout) -> Paper:
    title, abstract, text = (
        read_text(row, name) if name else None for name in (layout.title, layout.abstract, layout.text)
    )
    return Paper(read_name(row, layout.item), title or "", abstract, text)


def _review(row: Row, layout: ColumnLayout, domain: Domain, names: Sequence[str], numbered: str) -> Review:
    item = read_name(row, layout.item)
    text = read_text(row, layout.review)
    sections = {name: read_text(row, name) for name in layout.sections}
    if text is not None and any(sections.values()):
        raise RefusedError(f"it has a {layout.review} and {', '.join(layout.sections)}; leave one of them out")
    if text is None:
        headings = domain.headings if len(domain.headings) == len(sections) else HEADINGS
        parts = zip(headings, sections.values(), strict=False)
        text = "\n\n".join(f"{heading}:\n{part.strip()}" for heading, part in parts if part)
    if not text:
        raise RefusedError("empty review")
    rating = read_grade(row, layout.rating) if layout.rating else None
    grade = read_grade(row, layout.grade, names)
    return Review(_review_id(row, layout, item, numbered), item, HUMAN, text, None, rating, grade)


def _review_id(row: Row, layout: ColumnLayout, item: str, numbered: str) -> str:
    """Returns the id of the review in *row*.

    If the row states no id, the id is made of *item* and the reviewer's name, with invalid characters replaced. If the
    row states no reviewer either, the id is *numbered*, which is made of the item and a running number.
    """
    if layout.review_id and row.get(layout.review_id) not in (None, ""):
        return read_name(row, layout.review_id)
    reviewer = read_text(row, layout.reviewer) if layout.reviewer else None
    if reviewer is None:
        return numbered
    plain = unicodedata.normalize("NFKD", reviewer).encode("ascii", "ignore").decode()
    return read_name({"reviewer": f"{item}:" + re.sub(r"[^A-Za-z0-9_.@+-]+", "-", plain.strip())}, "reviewer")


def _group(row: Row, layout: ColumnLayout, item: str, groups: Mapping[str, str]) -> dict[str, str]:
    group = read_text(row, layout.group) if layout.group else None
    if group is not None and groups.get(item, group) != group:
        raise RefusedError(f"its item is in group {shown(groups[item])} already")
    return {} if group is None else {item: group}


def _check_grade(old: Review | None, new: Review) -> None:
    if old is not None and None not in (old.grade, new.grade) and old.grade != new.grade:
        raise RefusedError(
            f"review {old.review_id} has grade {old.grade:g} already; other grades need a separate edition"
        )
