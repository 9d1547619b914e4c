"""Points that a rule gives to a human review: for its date and its length.

The rule is that of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review", appendix
A.2. All comparisons are exact, because the printed sign (< or ≤) decides about a review on a cut-off.
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
    """A human review by its fields (table 3), and when it was written (epoch ms).

    A field that the reviewer left empty is present and empty; a field that the venue lacks is absent.
    """

    review_id: str
    paper_id: str
    fields: Mapping[str, str] = field(default_factory=dict)
    written_ms: int | None = None

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Returns those fields in *names* that the review does not have."""
        return [name for name in names if name not in self.fields]


def date_points(written_ms: int, mean_ms: Fraction) -> int:
    """Returns 1 to 5 points by d = |t − mean| in days: 5 for d ≤ 2, 4 for d ≤ 5, 3 for d ≤ 10, 2 for d ≤ 20, else 1."""
    days = abs(written_ms - mean_ms) / DAY_MS
    return next((points for most, points in DATE_CUTS if days <= most), 1)


def length_points(characters: int, middle: Fraction) -> int:
    """Returns 1 to 5 points for a length, compared with the median length *middle*; both are in *characters*.

    For the median M: 5 points above 1.5·M, 4 above 1.2·M, 3 above 0.8·M, 2 above 0.5·M, else 1.
    """
    return next((points for times, points in LENGTH_CUTS if characters > times * middle), 1)


def mean_date(reviews: Sequence[FieldedReview]) -> Fraction | None:
    """Returns the exact mean date of those *reviews* that have one (epoch ms); None if none has."""
    dates = [review.written_ms for review in reviews if review.written_ms is not None]
    return Fraction(sum(dates), len(dates)) if dates else None


def characters(review: FieldedReview) -> int | None:
    """Returns the number of characters of summary, strengths, weaknesses and questions together.

    Returns None if one of these fields is absent.
    """
    if review.lacking(LENGTH_FIELDS):
        return None
    return sum(len(review.fields[name]) for name in LENGTH_FIELDS)


def median_length(reviews: Sequence[FieldedReview]) -> Fraction | None:
    """Returns the median length of *reviews* in `characters`, over those that have a length; None if none has."""
    lengths = [length for review in reviews if (length := characters(review)) is not None]
    return Fraction(median(map(Fraction, lengths))) if lengths else None
