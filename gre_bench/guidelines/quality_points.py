"""Gives human reviews points by five criteria, and groups the reviews.

The rules and prompts are from "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review"
(appendix A.2, listings 2 to 4). Two rules give points for the date and the length of a review. An LM gives points for
the review's references and for two kinds of consistency. A date or length may lie exactly on a limit, where the sign
that the paper prints (< or ≤) decides. The rules therefore compare exact fractions.

The total of the points is 2 to 17. It puts a review into the group good (17), middle (11) or bad (at most 6), or into
no group. A criterion gives no points if the review lacks a field or the date, or if the LM gave no points. The review
then has no total.

For each criterion NAME there are two more groups, ``good.NAME`` and ``bad.NAME``. They contain the reviews with the
most and with the fewest possible points for that criterion alone. Guidelines made from the two groups show whether the
criterion helps.
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
from gre_bench.guidelines.yaml_replies import find_last_fenced_block, parse_yaml_mapping
from gre_bench.prompts.library import fill_prompt, load

Group = Literal["good", "middle", "bad"]
Points = int | Problem

DAY_MS = 86_400_000
DATE_CUTS = ((2, 5), (5, 4), (10, 3), (20, 2))
"""(largest distance from the mean date in days, points), smallest distance first; larger distances get 1 point."""
LENGTH_CUTS = ((Fraction(3, 2), 5), (Fraction(6, 5), 4), (Fraction(4, 5), 3), (Fraction(1, 2), 2))
"""(multiple of the median length, points), highest first: a review gets the points of the first multiple that its
length exceeds; if it exceeds none, 1 point."""
LENGTH_FIELDS = ("summary", "strengths", "weaknesses", "questions")
SCORE_FIELDS = ("soundness", "presentation", "contribution")
LEAST, MOST = 2, 17
SAMPLED = 30
NOT_ASKED = Problem("not_asked", "no LM was asked", final=False)


@dataclass(frozen=True, slots=True)
class FieldedReview:
    """A human review as the fields of its form (table 3 of the guideline paper). *written_ms*: its date (epoch ms).

    A field that the reviewer left empty is an empty text. A field that the form does not have is absent.
    """

    review_id: str
    paper_id: str
    fields: Mapping[str, str] = field(default_factory=dict)
    written_ms: int | None = None

    def lacking(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self.fields]


def compute_date_points(written_ms: int, mean_ms: Fraction) -> int:
    """Returns 1 to 5 points for the distance of a review's date from the mean date (`DATE_CUTS`); both in epoch ms."""
    days = abs(written_ms - mean_ms) / DAY_MS
    return next((points for most, points in DATE_CUTS if days <= most), 1)


def grade_length(characters: int, middle: Fraction) -> int:
    """Returns 1 to 5 points for the length of a review relative to the median length *middle* (`LENGTH_CUTS`)."""
    return next((points for times, points in LENGTH_CUTS if characters > times * middle), 1)


def compute_mean_review_date(reviews: Sequence[FieldedReview]) -> Fraction | None:
    """Returns the exact mean date (epoch ms) of the *reviews* that have a date; None if no review has one."""
    dates = [review.written_ms for review in reviews if review.written_ms is not None]
    return Fraction(sum(dates), len(dates)) if dates else None


def count_field_characters(review: FieldedReview) -> int | None:
    """Returns the total number of characters in the `LENGTH_FIELDS` of *review*; None if a field is absent."""
    return None if review.lacking(LENGTH_FIELDS) else sum(len(review.fields[name]) for name in LENGTH_FIELDS)


def compute_median_length(reviews: Sequence[FieldedReview]) -> Fraction | None:
    """Returns the median of the lengths (`count_field_characters`) of *reviews*; None if no review has a length."""
    lengths = [Fraction(length) for review in reviews if (length := count_field_characters(review)) is not None]
    return Fraction(median(lengths)) if lengths else None


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion by which an LM judges a review. The reply is YAML with a score and a word for it, such as ``high``.

    - *needs*: the fields that a review must have to be judged.
    - *word*: the name of the reply's field with the word. *words*: score → the word that belongs to it.
    - *typed*: further fields of the reply, each with a function that checks its value.
    """

    name: str
    prompt: str
    needs: tuple[str, ...]
    word: str
    words: dict[int, str]
    typed: tuple[tuple[str, Callable[[Any], bool]], ...] = ()

    @property
    def most(self) -> int:
        return max(self.words)

    def chat(self, review: FieldedReview) -> Chat:
        """Returns the chat about *review*, which must have all fields that the prompt shows."""
        return fill_prompt(self.prompt, **{name: review.fields[name] for name in load(self.prompt).fields})

    def points(self, text: str) -> int:
        """Returns the score that the reply *text* gives the review.

        Raises `ReplyError`: ``no_yaml``, ``no_score``, ``score_off_scale``, ``contradiction`` or ``bad_field``.
        """
        tree = parse_yaml_mapping(find_last_fenced_block(without_thinking(text)[0]))
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


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_non_negative_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_AGREES = {2: "consistent", 1: "somewhat inconsistent", 0: "inconsistent"}
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "reference_quality",
            "guideline_reference_quality",
            LENGTH_FIELDS,
            "reference_quality",
            {3: "high", 2: "high", 1: "medium", 0: "low"},
            (
                ("suggests_references", _is_bool),
                ("reference_count", _is_non_negative_int),
                ("points_out_missing_citations", _is_bool),
            ),
        ),
        Criterion(
            "content_consistency",
            "guideline_content_consistency",
            ("rating", "summary", "strengths", "weaknesses"),
            "content_consistency",
            _AGREES,
        ),
        Criterion(
            "subscore_consistency",
            "guideline_subscore_consistency",
            ("rating", *SCORE_FIELDS),
            "subscore_consistency",
            _AGREES,
        ),
    )
}
"""The three criteria that an LM judges, by name; they give 0-3, 0-2 and 0-2 points."""

BY_RULE = ("submission_date", "review_length")
NAMES = (*BY_RULE, *CRITERIA)
"""The five criteria, in the paper's order."""
ENDS = {name: (1, 5) for name in BY_RULE} | {name: (0, criterion.most) for name, criterion in CRITERIA.items()}
"""Criterion → its lowest and its highest points."""
GROUPS = ("good", "middle", "bad", *(f"{side}.{name}" for name in NAMES for side in ("good", "bad")))


@dataclass(frozen=True, slots=True)
class ReviewQuality:
    """The quality of one review.

    *points*: criterion → points, or the problem instead. *length*: see `count_field_characters`.
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
        return {name: points for name, points in self.points.items() if isinstance(points, Problem)}

    @property
    def group(self) -> Group | None:
        return None if self.total is None else choose_quality_group(self.total)


def choose_quality_group(total: int) -> Group | None:
    """Returns the group of a review with the points *total*; None if it belongs to no group.

    Raises ValueError if *total* is not between `LEAST` and `MOST`.
    """
    if not LEAST <= total <= MOST:
        raise ValueError(f"a total of {total} is not between {LEAST} and {MOST}")
    return "good" if total == 17 else "middle" if total == 11 else "bad" if total <= 6 else None


def compute_review_qualities(
    reviews: Sequence[FieldedReview], verdicts: Mapping[tuple[str, str], Points]
) -> list[ReviewQuality]:
    """Returns the quality of each of *reviews*, which must all be from one conference.

    The points for date and length depend on the mean date and the median length of *reviews*. *verdicts*: (review id,
    criterion) → the points that an LM gave, or the problem.
    """
    mean, middle = compute_mean_review_date(reviews), compute_median_length(reviews)
    qualities = []
    for review in reviews:
        points: dict[str, Points] = {
            "submission_date": Problem("no_date", "no date"),
            "review_length": Problem("no_field", f"no {', '.join(review.lacking(LENGTH_FIELDS))}"),
        }
        if mean is not None and review.written_ms is not None:
            points["submission_date"] = compute_date_points(review.written_ms, mean)
        if (length := count_field_characters(review)) is not None and middle is not None:
            points["review_length"] = grade_length(length, middle)
        for name, criterion in CRITERIA.items():
            absent = review.lacking(criterion.needs)
            verdict = verdicts.get((review.review_id, name), NOT_ASKED)
            points[name] = Problem("no_field", f"no {', '.join(absent)}") if absent else verdict
        qualities.append(ReviewQuality(review.review_id, review.paper_id, points, length))
    return qualities


def select_group_members(qualities: Sequence[ReviewQuality], group: str) -> list[str]:
    side, _, name = group.partition(".")
    if not name:
        return sorted(quality.review_id for quality in qualities if quality.group == group)
    wanted = ENDS[name][side == "good"]
    return sorted(quality.review_id for quality in qualities if quality.points.get(name) == wanted)


def sample_review_ids_by_group(
    qualities: Sequence[ReviewQuality], size: int = SAMPLED, seed: int = 0
) -> dict[str, list[str]]:
    """Returns group → sorted ids of *size* of its reviews, sampled with *seed*; all ids if a group is smaller."""
    drawn = {}
    for group in GROUPS:
        ids = select_group_members(qualities, group)
        drawn[group] = sorted(random.Random(f"{group} {seed}").sample(ids, min(size, len(ids))))
    return drawn
