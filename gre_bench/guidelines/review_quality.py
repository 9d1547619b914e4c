"""Gives human reviews points by the five criteria of the guideline paper's appendix A.2, and groups the reviews.

The total of the points is 2 to 17, and decides whether a review belongs to the group good, middle or bad. Points for a
criterion are missing if a field, the date or an LM's verdict is missing. Such a review has no total.

For each criterion NAME there are two more groups, ``good.NAME`` and ``bad.NAME``. They hold the reviews with the most
and the fewest possible points for that criterion alone. Guidelines made from the two groups show whether the criterion
helps.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gre_bench.core.records import Problem
from gre_bench.guidelines.consistency import CRITERIA
from gre_bench.guidelines.review_points import (
    LENGTH_FIELDS,
    FieldedReview,
    characters,
    date_points,
    length_points,
    mean_date,
    median_length,
)

Group = Literal["good", "middle", "bad"]

BY_RULE = ("submission_date", "review_length")
NAMES = (*BY_RULE, *CRITERIA)
"""The five criteria, in the paper's order."""

ENDS = {name: (1, 5) for name in BY_RULE} | {name: (0, criterion.most) for name, criterion in CRITERIA.items()}
"""Criterion → its lowest and its highest points."""
GROUPS = ("good", "middle", "bad", *(f"{side}.{name}" for name in NAMES for side in ("good", "bad")))

LEAST, MOST = 2, 17
SAMPLED = 30
NOT_ASKED = Problem("not_asked", "no LM was asked", final=False)

Points = int | Problem


@dataclass(frozen=True, slots=True)
class Quality:
    """The points of one review.

    - *points*: for each criterion, the number of points, or the problem that replaces it.
    - *length*: the number of the review's characters (see `characters`); None if a field is absent.
    """

    review_id: str
    paper_id: str
    points: Mapping[str, Points]
    length: int | None = None

    @property
    def total(self) -> int | None:
        """The sum of the points for all five criteria; None if a criterion has no points."""
        given = [points for points in self.points.values() if isinstance(points, int)]
        return sum(given) if len(given) == len(NAMES) else None

    @property
    def lacking(self) -> dict[str, Problem]:
        """The problem of each criterion without points, by the criterion's name; empty if there is a total."""
        return {name: points for name, points in self.points.items() if isinstance(points, Problem)}

    @property
    def group(self) -> Group | None:
        """The group to which the total belongs: good for 17, middle for 11, bad for 6 or less.

        It is None for all other totals, and if there is no total.
        """
        return None if self.total is None else group_of(self.total)


def group_of(total: int) -> Group | None:
    """Returns the group to which *total* belongs: good for 17, middle for 11, bad for 6 or less, None for all others.

    Raises ValueError if the total is not between `LEAST` and `MOST`.
    """
    if not LEAST <= total <= MOST:
        raise ValueError(f"a total of {total} is not between {LEAST} and {MOST}")
    return "good" if total == 17 else "middle" if total == 11 else "bad" if total <= 6 else None


def judge(
    reviews: Sequence[FieldedReview], verdicts: Mapping[tuple[str, str], Points], dated: bool = True
) -> list[Quality]:
    """Returns the points of each of *reviews*, which must be all reviews of one conference.

    The points for date and length compare a review with the mean date and the median length of all.

    - *verdicts*: the points that an LM gave, or the problem, by (review id, criterion).
    - *dated*: whether the dates are reliable; if not, no review gets points for its date.
    """
    mean, middle = mean_date(reviews) if dated else None, median_length(reviews)
    qualities = []
    for review in reviews:
        length = characters(review)
        lacks = ", ".join(review.lacking(LENGTH_FIELDS))
        points: dict[str, Points] = {
            "submission_date": date_points(review.written_ms, mean)
            if mean is not None and review.written_ms is not None
            else Problem("no_date", "no date" if dated else "the dates are unreliable"),
            "review_length": length_points(length, middle)
            if length is not None and middle is not None
            else Problem("no_field", f"no {lacks}"),
        }
        for name, criterion in CRITERIA.items():
            absent = review.lacking(criterion.needs)
            verdict = verdicts.get((review.review_id, name), NOT_ASKED)
            points[name] = Problem("no_field", f"no {', '.join(absent)}") if absent else verdict
        qualities.append(Quality(review.review_id, review.paper_id, points, length))
    return qualities


def members(qualities: Sequence[Quality], group: str) -> list[str]:
    """Returns the sorted ids of the reviews that belong to *group*, one of `GROUPS`."""
    side, _, name = group.partition(".")
    if not name:
        return sorted(quality.review_id for quality in qualities if quality.group == group)
    wanted = ENDS[name][side == "good"]
    return sorted(quality.review_id for quality in qualities if quality.points.get(name) == wanted)


def sampled(qualities: Sequence[Quality], size: int = SAMPLED, seed: int = 0) -> dict[str, list[str]]:
    """Returns a sample of *size* reviews from each group: the name of the group → the sorted ids of its reviews.

    The sample depends on *seed*. A smaller group is returned whole.
    """
    drawn = {}
    for group in GROUPS:
        ids = members(qualities, group)
        drawn[group] = sorted(random.Random(f"{group} {seed}").sample(ids, min(size, len(ids))))
    return drawn
