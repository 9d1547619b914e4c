"""Reads the rating of a paper from an LM's review under a guideline.

Listings 5, 6 and 13 of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review" define
the form: ``Overall Rating: (Your Rating)``, an integer from 1 to 10. With a rubric, the review also states a temporary
score from −10 to 10, from which a rule computes the rating. Replies are hostile input: they may hold anything.
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
    """The rating of a paper by *model* under *condition*: either a *value* or the *problem* that replaces it.

    - *value*: the rating that the model states, 1 to 10.
    - *recomputed*: the rating that the rubric's rule gives for the review's temporary score; None if there is none.
    - *text*: the review.
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
    """Returns the rating n in the last ``Overall Rating: n`` of *text*; the LM's thinking is ignored.

    n may stand in parentheses or before "/10". If there is no such line, all sentences "The overall rating is n." must
    state the same rating. Raises `ReplyError`: ``no_rating``, ``rating_not_integer``, ``rating_off_scale``, or
    ``rating_ambiguous`` for a range or two ratings.
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
    """Returns *rating* if it is from 1 to 10; raises `ReplyError` otherwise."""
    if not LOWEST <= rating <= HIGHEST:
        raise ReplyError(f"rating_off_scale: {rating}")
    return rating


def temporary_score(text: str) -> int:
    """Returns the score t, −10 to 10, in the last ``temporary score: t`` of *text* (listing 13).

    The LM's thinking is ignored. Raises `ReplyError`: ``no_temporary_score``, ``temporary_score_not_integer``,
    ``temporary_score_ambiguous`` or ``temporary_score_off_scale``.
    """
    matches = [*_TEMPORARY.finditer(without_thinking(text)[0])]
    if not matches:
        raise ReplyError("no_temporary_score")
    score = _integer(matches[-1], "temporary_score", QUESTIONS)
    if abs(score) > QUESTIONS:
        raise ReplyError(f"temporary_score_off_scale: {score}")
    return score


def normalised(temporary: int) -> int:
    """Returns the rating (1 to 10) that listing 13 computes from a *temporary* score t of −10 to 10.

    The rating is round(((t + 10)/20)·9 + 1). Halves are rounded down, because the listing maps t = 0 to 5. In integers,
    the formula is ⌈(9·(t + 10) + 10)/20⌉. Raises ValueError if t is not from −10 to 10.
    """
    if abs(temporary) > QUESTIONS:
        raise ValueError(f"temporary score {temporary} is not between -10 and 10")
    return -(-(9 * (temporary + 10) + 10) // 20)


def _integer(match: re.Match[str], field: str, highest: int) -> int:
    number, after = match[1].replace("\u2212", "-"), match[2]
    if (out_of := _OUT_OF.match(after)) and int(out_of[1]) != highest:
        raise ReplyError(f"{field}_ambiguous: {number} of {out_of[1]}")
    if _RANGE.match(after) or re.match(r"\d", after):
        raise ReplyError(f"{field}_ambiguous: {number}{after}".strip())
    if float(number) != int(float(number)):
        raise ReplyError(f"{field}_not_integer: {number}")
    return int(float(number))
