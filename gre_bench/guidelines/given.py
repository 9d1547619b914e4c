"""Turns imported reviews by LMs into ratings under conditions.

A condition is the setting under which an LM wrote its reviews. The name of the LM's run serves as the condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Problem
from gre_bench.guidelines.ratings import Rating, on_scale

NO_REVIEW = Problem("no_review", "the run has no review of the paper")


@dataclass(frozen=True, slots=True)
class Given:
    """An imported review of one paper.

    - *model*: the LM that wrote the review.
    - *condition*: the setting under which it wrote, such as a guideline.
    - *rating*: the rating as written in the file; None if there is none.
    - *text*: the review itself, if the file has it.
    """

    paper_id: str
    model: str
    condition: str
    rating: str | None
    text: str | None = None


def condition_of(model: str, run: str) -> str:
    """Returns the condition that the name of a *run* stands for: the name without the name of the *model* at its start.

    Returns ``given`` if nothing is left.
    """
    return run.removeprefix(model).strip("_-. ") or "given"


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Returns the short form of each of *names*, as a mapping from the full name.

    A name is split at its underscores. Parts at the start and the end that all names share are left out. A name that
    has no other parts becomes ``plain``.
    """
    parts = {name: name.split("_") for name in names}
    if len(parts) < 2:
        return {name: name for name in parts}
    head = _common(list(parts.values()))
    tail = _common([words[len(head) :][::-1] for words in parts.values()])
    return {name: "_".join(words[len(head) : len(words) - len(tail)]) or "plain" for name, words in parts.items()}


def given_ratings(reviews: Iterable[Given], papers: Sequence[str]) -> list[Rating]:
    """Returns one rating for each model, condition and paper.

    Each model and condition gets a rating for all of *papers*, and for any other paper that it reviewed. If the rating
    is not an integer from 1 to 10, or there is no review of the paper, the `Rating` holds the problem.
    """
    runs: dict[tuple[str, str], dict[str, Given]] = {}
    for review in reviews:
        runs.setdefault((review.model, review.condition), {})[review.paper_id] = review
    return [
        _rating(run.get(paper), paper, model, condition)
        for (model, condition), run in runs.items()
        for paper in dict.fromkeys((*papers, *run))
    ]


def _rating(review: Given | None, paper: str, model: str, condition: str) -> Rating:
    if review is None:
        return Rating(paper, model, condition, None, NO_REVIEW)
    try:
        return Rating(paper, model, condition, _integer(review.rating), text=review.text)
    except ReplyError as error:
        return Rating(paper, model, condition, None, Problem("unparsable", str(error)), text=review.text)


def _integer(rating: str | None) -> int:
    if rating is None:
        raise ReplyError("no_rating")
    try:
        number = float(rating)
    except ValueError:
        raise ReplyError(f"no_rating: {rating!r:.40}") from None
    if number != number // 1:
        raise ReplyError(f"rating_not_integer: {rating:.40}")
    return on_scale(int(number))


def _common(lists: Sequence[Sequence[str]]) -> list[str]:
    """Returns the parts with which all *lists* begin."""
    common = []
    for words in zip(*lists, strict=False):
        if len(set(words)) > 1:
            break
        common.append(words[0])
    return common
