"""Points that a rule gives to a human review for its date and its length.

The rule is that of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review", appendix
A.2. All comparisons use exact fractions, because a review may lie exactly on a limit. The printed sign (< or ≤) then
decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

DAY_MS = 86_400_000

DATE_CUTS = ((2, 5), (5, 4), (10, 3), (20, 2))
"""(largest distance from the mean date in days, points), smallest distance first; a larger distance has 1 point."""

LENGTH_CUTS = ((Fraction(3, 2), 5), (Fraction(6, 5), 4), (Fraction(4, 5), 3), (Fraction(1, 2), 2))
"""(multiple of the median to exceed, points), highest first; 1 point if none is exceeded."""

LENGTH_FIELDS = ("summary", "strengths", "weaknesses", "questions")
SCORE_FIELDS = ("soundness", "presentation", "contribution")


@dataclass(frozen=True, slots=True)
class FieldedReview:
    """A human review as the fields of its form (table 3 of the guideline paper).

    - *fields*: the text of each field. A field that the reviewer left empty is an empty text. A field that the form
      does not have is absent.
    - *written_ms*: the time when the review was written (epoch ms), None if unknown.
    """

    review_id: str
    paper_id: str
    fields: Mapping[str, str] = field(default_factory=dict)
    written_ms: int | None = None

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Returns the *names* of fields that the review does not have."""
        return [name for name in names if name not in self.fields]


def date_points(written_ms: int, mean_ms: Fraction) -> int:
    """Returns 1 to 5 points for the distance d = |written − mean| between a review's date and the mean date, in days.

    It gives 5 points for d ≤ 2, 4 for d ≤ 5, 3 for d ≤ 10, 2 for d ≤ 20, else 1. *written_ms* and *mean_ms* are epoch
    milliseconds.
    """
    days = abs(written_ms - mean_ms) / DAY_MS
    return next((points for most, points in DATE_CUTS if days <= most), 1)


def length_points(characters: int, middle: Fraction) -> int:
    """Returns 1 to 5 points for the length of a review, compared with the median length *middle*.

    It gives 5 points above 1.5 medians, 4 above 1.2, 3 above 0.8, 2 above 0.5, else 1. Both lengths are in characters.
    """
    return next((points for times, points in LENGTH_CUTS if characters > times * middle), 1)


def mean_date(reviews: Sequence[FieldedReview]) -> Fraction | None:
    """Returns the exact mean date (epoch ms) of the *reviews* that have a date; None if no review has one."""
    dates = [review.written_ms for review in reviews if review.written_ms is not None]
    return Fraction(sum(dates), len(dates)) if dates else None


def characters(review: FieldedReview) -> int | None:
    """Returns the length of *review*: the characters of its summary, strengths, weaknesses and questions together.

    Returns None if one of these fields is absent.
    """
    if review.lacking(LENGTH_FIELDS):
        return None
    return sum(len(review.fields[name]) for name in LENGTH_FIELDS)


def median_length(reviews: Sequence[FieldedReview]) -> Fraction | None:
    """Returns the median of the lengths (`characters`) of *reviews*; None if no review has a length."""
    lengths = [length for review in reviews if (length := characters(review)) is not None]
    return Fraction(median(map(Fraction, lengths))) if lengths else None
