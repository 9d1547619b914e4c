"""Rates human reviews by the five criteria of the guideline paper's appendix A.2, and groups them by the total.

A total is 2 to 17. If a criterion has no points, because a field, a date or an LM's verdict is missing, there is no
total.

Beside the paper's three groups there are two for each criterion alone, ``good.NAME`` and ``bad.NAME``: the reviews with
the highest and the lowest possible points for it. A guideline made from these shows whether the criterion helps.
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

ENDS = {name: (1, 5) for name in BY_RULE} | {name: (0, one.most) for name, one in CRITERIA.items()}
"""Criterion → its lowest and its highest points."""
GROUPS = ("good", "middle", "bad", *(f"{side}.{name}" for name in NAMES for side in ("good", "bad")))

LEAST, MOST = 2, 17
SAMPLED = 30
NOT_ASKED = Problem("not_asked", "no LM was asked", final=False)

Points = int | Problem


@dataclass(frozen=True, slots=True)
class Quality:
    """The *points* of one review by criterion, each a number or the problem why there is none.

    *length* is the number of its characters (see `characters`; None: a field is absent).
    """

    review_id: str
    paper_id: str
    points: Mapping[str, Points]
    length: int | None = None

    @property
    def total(self) -> int | None:
        """The sum of the points for all five criteria; None if there are none for one of them."""
        given = [points for points in self.points.values() if isinstance(points, int)]
        return sum(given) if len(given) == len(NAMES) else None

    @property
    def lacking(self) -> dict[str, Problem]:
        """The problems of the criteria without points, by criterion; empty if there is a total."""
        return {name: points for name, points in self.points.items() if isinstance(points, Problem)}

    @property
    def group(self) -> Group | None:
        """The group by total: good for 17, middle for 11, bad for 6 or less; None for any other or no total."""
        return None if self.total is None else group_of(self.total)


def group_of(total: int) -> Group | None:
    """Returns the group of a *total*: good for 17, middle for 11, bad for 6 or less; None for any other.

    Raises ValueError if the total is not between `LEAST` and `MOST`.
    """
    if not LEAST <= total <= MOST:
        raise ValueError(f"a total of {total} is not between {LEAST} and {MOST}")
    return "good" if total == 17 else "middle" if total == 11 else "bad" if total <= 6 else None


def judge(
    reviews: Sequence[FieldedReview], verdicts: Mapping[tuple[str, str], Points], dated: bool = True
) -> list[Quality]:
    """Returns the quality of each of *reviews*, which must be all reviews of one conference.

    Points for the date depend on their mean date, points for the length on their median length. *verdicts*: an LM's
    points by (review id, criterion). *dated*: False if the dates are unreliable; then no review has points for them.
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
    """Returns the sorted ids of the reviews in *group*, which is one of `GROUPS`."""
    side, _, name = group.partition(".")
    if not name:
        return sorted(quality.review_id for quality in qualities if quality.group == group)
    wanted = ENDS[name][side == "good"]
    return sorted(quality.review_id for quality in qualities if quality.points.get(name) == wanted)


def sampled(qualities: Sequence[Quality], size: int = SAMPLED, seed: int = 0) -> dict[str, list[str]]:
    """Returns the sorted ids of *size* reviews of each group, sampled with *seed*, by group.

    Of a smaller group, all reviews are returned.
    """
    drawn = {}
    for group in GROUPS:
        ids = members(qualities, group)
        drawn[group] = sorted(random.Random(f"{group} {seed}").sample(ids, min(size, len(ids))))
    return drawn
