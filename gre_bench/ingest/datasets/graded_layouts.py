"""The column layouts of files of graded reviews: our own, and that of the RottenReviews data set."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from gre_bench.core.errors import SourceError


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
