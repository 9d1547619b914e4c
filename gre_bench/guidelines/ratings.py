"""What a review under a guideline rates its paper, read from an LM's reply. Replies are hostile input.

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
"""Questions on either side of a checklist, each worth one point."""

_MARKS = r"[*_`\"'\s]{0,8}"
_NUMBER = r"[+\-\u2212]?\d{1,6}(?:\.\d{1,6})?"
_RATING = re.compile(rf"overall[ \t]rating{_MARKS}:{_MARKS}\(?{_MARKS}({_NUMBER})([^\n]{{0,12}})", re.IGNORECASE)
_SAID = re.compile(
    rf"overall[ \t]rating[ \t]is{_MARKS}:?{_MARKS}({_NUMBER})"
    r"(?=[ \t]*(?:[.,;!(*](?!\d)|\n|\Z|/|out of))(?=([^\n]{0,12}))",
    re.IGNORECASE,
)
"""A rating told in a sentence that ends with it, as small LMs do; read where no line has the form."""
_TEMPORARY = re.compile(
    rf"temporary[ _\t]score{_MARKS}(?:\([^()\n]{{0,40}}\){_MARKS})?[:=]{_MARKS}\(?{_MARKS}({_NUMBER})([^\n]{{0,12}})",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:-|–|—|to\b|or\b)\s*\d")
_OUT_OF = re.compile(r"\s*(?:/|out of)\s*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rating:
    """What *model* under *condition* rates a paper, or the problem in its place: exactly one of the two.

    *recomputed*: with a rubric, what its rule makes of the temporary score that the review states (None: it states
    none, or one off its scale); *value* stays the rating that the model gives itself. *text* is the review.
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
    """The last ``Overall Rating: n`` of *text*, thinking left out, n in parentheses or not, of ten or not.

    Without such a line, what "The overall rating is n." says, if all such sentences say the same. `ReplyError`:
    ``no_rating``, ``rating_not_integer``, ``rating_ambiguous`` (a range, or two ratings told), ``rating_off_scale``.
    """
    visible = without_thinking(text)[0]
    if found := [*_RATING.finditer(visible)]:
        return on_scale(_integer(found[-1], "rating", HIGHEST))
    told = {_integer(one, "rating", HIGHEST) for one in _SAID.finditer(visible)}
    if len(told) > 1:
        raise ReplyError(f"rating_ambiguous: {' and '.join(map(str, sorted(told)))}")
    if not told:
        raise ReplyError("no_rating")
    return on_scale(told.pop())


def on_scale(rating: int) -> int:
    """*rating* if it is one of 1 to 10; `ReplyError` if not."""
    if not LOWEST <= rating <= HIGHEST:
        raise ReplyError(f"rating_off_scale: {rating}")
    return rating


def temporary_score(text: str) -> int:
    """The last ``temporary score: t`` of *text* (listing 13), −10 to 10; `ReplyError` as for a rating."""
    found = [*_TEMPORARY.finditer(without_thinking(text)[0])]
    if not found:
        raise ReplyError("no_temporary_score")
    score = _integer(found[-1], "temporary_score", QUESTIONS)
    if abs(score) > QUESTIONS:
        raise ReplyError(f"temporary_score_off_scale: {score}")
    return score


def normalised(temporary: int) -> int:
    """round(((t + 10)/20)·9 + 1), a half rounded down, as listing 13's own "0 → 5" asks.

    In whole numbers, ⌈(9·(t + 10) + 10)/20⌉. ValueError for a *temporary* score off the scale.
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
