"""Reads the rating of a paper from an LM's review under a guideline. Replies are hostile input.

The form is that of listings 5, 6 and 13 of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated
Peer Review": ``Overall Rating: (Your Rating)``, an integer from 1 to 10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Problem
from gre_bench.core.replies import without_thinking

LOWEST, HIGHEST = 1, 10
QUESTIONS = 10
"""The number of good questions of a checklist, and of bad ones; each is worth one point."""

_MARKS = r"[*_`\"'\s]{0,8}"
_NUMBER = r"[+\-\u2212]?\d{1,6}(?:\.\d{1,6})?"
_RATING = re.compile(rf"overall[ \t]rating{_MARKS}:{_MARKS}\(?{_MARKS}({_NUMBER})([^\n]{{0,12}})", re.IGNORECASE)
_SAID = re.compile(
    rf"overall[ \t]rating[ \t]is{_MARKS}:?{_MARKS}({_NUMBER})"
    r"(?=[ \t]*(?:[.,;!(*](?!\d)|\n|\Z|/|out of))(?=([^\n]{0,12}))",
    re.IGNORECASE,
)
"""A rating stated in a sentence that ends with it, as small LMs write; read if no line has the form."""
_TEMPORARY = re.compile(
    rf"temporary[ _\t]score{_MARKS}(?:\([^()\n]{{0,40}}\){_MARKS})?[:=]{_MARKS}\(?{_MARKS}({_NUMBER})([^\n]{{0,12}})",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:-|–|—|to\b|or\b)\s*\d")
_OUT_OF = re.compile(r"\s*(?:/|out of)\s*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of a paper by *model* under *condition*, or the problem instead: exactly one of the two.

    *value* is the rating that the model states. *recomputed*: with a rubric, the rating that its rule gives for the
    review's temporary score (None: not stated, or off its scale). *text* is the review.
    """

    paper_id: str
    model: str
    condition: str
    value: int | None
    problem: Problem | None = None
    recomputed: int | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.problem is None):
            raise ValueError(f"a rating has a value or a problem, not both or neither: {self}")


def overall_rating(text: str) -> int:
    """Returns the last ``Overall Rating: n`` of *text*, ignoring thinking; n may stand in parentheses or before "/10".

    Without such a line, it reads the sentences "The overall rating is n.", which must agree. Raises `ReplyError`:
    ``no_rating``, ``rating_not_integer``, ``rating_ambiguous`` (a range, or two ratings), ``rating_off_scale``.
    """
    visible = without_thinking(text)[0]
    if matches := [*_RATING.finditer(visible)]:
        return on_scale(_integer(matches[-1], "rating", HIGHEST))
    ratings = {_integer(match, "rating", HIGHEST) for match in _SAID.finditer(visible)}
    if len(ratings) > 1:
        raise ReplyError(f"rating_ambiguous: {' and '.join(map(str, sorted(ratings)))}")
    if not ratings:
        raise ReplyError("no_rating")
    return on_scale(ratings.pop())


def on_scale(rating: int) -> int:
    """Returns *rating* if it is one of 1 to 10; else raises `ReplyError`."""
    if not LOWEST <= rating <= HIGHEST:
        raise ReplyError(f"rating_off_scale: {rating}")
    return rating


def temporary_score(text: str) -> int:
    """Returns the last ``temporary score: t`` of *text* (listing 13), −10 to 10, ignoring thinking.

    Raises `ReplyError`: ``no_temporary_score``, or ``temporary_score_`` with ``not_integer``, ``ambiguous`` or
    ``off_scale``.
    """
    matches = [*_TEMPORARY.finditer(without_thinking(text)[0])]
    if not matches:
        raise ReplyError("no_temporary_score")
    score = _integer(matches[-1], "temporary_score", QUESTIONS)
    if abs(score) > QUESTIONS:
        raise ReplyError(f"temporary_score_off_scale: {score}")
    return score


def normalised(temporary: int) -> int:
    """Returns the rating, 1 to 10, that listing 13 computes from a *temporary* score t of −10 to 10.

    It is round(((t + 10)/20)·9 + 1) with halves rounded down, because the listing maps 0 to 5. In integers this is
    ⌈(9·(t + 10) + 10)/20⌉. Raises ValueError for a score off the scale.
    """
    if abs(temporary) > QUESTIONS:
        raise ValueError(f"temporary score {temporary} is not between -10 and 10")
    return -(-(9 * (temporary + 10) + 10) // 20)


def _integer(found: re.Match[str], what: str, highest: int) -> int:
    number, after = found[1].replace("\u2212", "-"), found[2]
    if (out_of := _OUT_OF.match(after)) and int(out_of[1]) != highest:
        raise ReplyError(f"{what}_ambiguous: {number} of {out_of[1]}")
    if _RANGE.match(after) or re.match(r"\d", after):
        raise ReplyError(f"{what}_ambiguous: {number}{after}".strip())
    if float(number) != int(float(number)):
        raise ReplyError(f"{what}_not_integer: {number}")
    return int(float(number))
