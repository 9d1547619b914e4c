"""Points that a rule gives to a human review for its date and its length.

The rule is that of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review", appendix
A.2. All comparisons use exact fractions, because a review may lie exactly on a limit. The printed sign (< or ≤) then
decides.

Points that an LM gives to a human review, by three criteria: its references and two kinds of consistency.

Prompts and replies have the form of listings 2, 3 and 4 of "Evaluating the Impact of Reviewer Guideline Design on
LLM-Based Automated Peer Review". The reply is YAML with a score and a word that describes the score. A reply is
rejected if the score or the word is missing. It is also rejected if the listing assigns another word to that score.

Gives human reviews points by the five criteria of the guideline paper's appendix A.2, and groups the reviews.

The total of the points is 2 to 17, and decides whether a review belongs to the group good, middle or bad. Points for a
criterion are missing if a field, the date or an LM's verdict is missing. Such a review has no total.

For each criterion NAME there are two more groups, ``good.NAME`` and ``bad.NAME``. They hold the reviews with the most
and the fewest possible points for that criterion alone. Guidelines made from the two groups show whether the criterion
helps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median
from typing import Any, Literal

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Problem
from gre_bench.core.replies import without_thinking
from gre_bench.guidelines.replies import block, mapping
from gre_bench.prompts.library import fill, load

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


_AGREES = {2: "consistent", 1: "somewhat inconsistent", 0: "inconsistent"}


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion by which an LM judges a review.

    - *prompt*: the name of the prompt.
    - *needs*: the fields that a review must have to be judged.
    - *word*: the field of the reply with the word that describes the score.
    - *words*: the right word for each score.
    - *typed*: further fields of the reply, each with a function that tests its value.
    """

    name: str
    prompt: str
    needs: tuple[str, ...]
    word: str
    words: dict[int, str]
    typed: tuple[tuple[str, Callable[[Any], bool]], ...] = ()

    @property
    def most(self) -> int:
        """The highest score that the criterion allows."""
        return max(self.words)

    def chat(self, review: FieldedReview) -> Chat:
        """Returns the chat that asks about *review*, which must have all fields that the prompt shows."""
        return fill(self.prompt, **{name: review.fields[name] for name in load(self.prompt).fields})

    def points(self, text: str) -> int:
        """Returns the score that the reply *text* gives the review.

        Raises `ReplyError`: ``no_yaml``, ``no_score``, ``score_off_scale``, ``contradiction`` (score and word do not
        match) or ``bad_field`` (a field of *typed* fails its test).
        """
        tree = mapping(block(without_thinking(text)[0]))
        score = tree.get("quality_score")
        if isinstance(score, bool) or not isinstance(score, int):
            raise ReplyError(f"no_score: quality_score is {score!r:.40}")
        if score not in self.words:
            raise ReplyError(f"score_off_scale: quality_score is {score}, not 0 to {self.most}")
        if tree.get(self.word) != self.words[score]:
            raise ReplyError(f"contradiction: quality_score {score} but {self.word} {tree.get(self.word)!r:.40}")
        for name, right in self.typed:
            if not right(tree.get(name)):
                raise ReplyError(f"bad_field: {name} is {tree.get(name)!r:.40}")
        return score


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "reference_quality", "guideline_reference_quality", ("summary", "strengths", "weaknesses", "questions"),
            "reference_quality", {3: "high", 2: "high", 1: "medium", 0: "low"},
            (("suggests_references", _truth), ("reference_count", _count), ("points_out_missing_citations", _truth)),
        ),
        Criterion(
            "content_consistency", "guideline_content_consistency", ("rating", "summary", "strengths", "weaknesses"),
            "content_consistency", _AGREES,
        ),
        Criterion(
            "subscore_consistency", "guideline_subscore_consistency", ("rating", *SCORE_FIELDS),
            "subscore_consistency", _AGREES,
        ),
    )
}  # fmt: skip
"""The three criteria by name, with 0-3, 0-2 and 0-2 points (appendix A.2)."""


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
