"""Moves a candidate's reviews to other papers, where their scores show what it scores by chance.

A review of another paper by the same author has the same style and knows nothing of this paper. What a candidate scores
above chance therefore comes from what it says about the paper itself.

Two reviews exchange papers, so each is used once: p's review stands for chance on q, and q's on p. An effect of the
review alone, or of the paper alone, cancels within the pair. Pairs share no paper, so their means are independent and a
t test over them keeps its level (`gre_bench.stats.chance`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gre_bench.core import controls
from gre_bench.core.metrics import Recipe
from gre_bench.core.records import HUMAN, Candidate
from gre_bench.metrics.cases import Entry, Response, response_of
from gre_bench.metrics.signing import signed_writer

BLOCK = 8
"""Partners are sampled among this many reviews of neighbouring length."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A review at its paper.

    *key*: the review's id. *item*: the paper's id. *about*: the ids of all items that the review may describe. *words*:
    the review's length.
    """

    key: str
    item: str
    about: frozenset[str]
    words: int


@dataclass(frozen=True, slots=True)
class Move:
    """The review *source* stands for chance in place of the review *key*; *swap* is the id of their exchange.

    Moves with the same *swap* belong to one exchange.
    """

    key: str
    source: str
    swap: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A response of *candidate_id* to another paper, scored on *paper_id* for chance; *swap* is the exchange's id.

    *writer*: the writer whose judgments are read, as in a signature.
    """

    writer: str
    candidate_id: str
    paper_id: str
    response: Response
    swap: str


def moves(reviews: Sequence[Placed], seed: int) -> list[Move]:
    """Returns a move for each of *reviews* that can be moved, in their order: random by *seed*, similar in length.

    Two reviews exchange places; if their number is odd, three of them exchange in a ring. No review moves to an item
    that it may be about. A single review, or reviews of one item alone, have no move.
    """
    swaps = _swaps(_shuffled(reviews, seed))
    source = {
        moving.key: (other.key, swap[0].key)
        for swap in swaps
        for moving, other in zip(swap, (*swap[1:], swap[0]), strict=True)
    }
    return [Move(review.key, *source[review.key]) for review in reviews if review.key in source]


def moved_responses(
    entries: Sequence[Entry], candidates: Iterable[Candidate], recipe: Recipe, writer: str, seed: int
) -> list[Moved]:
    """Returns the responses of *candidates* to *entries* that *recipe* can read, each moved to another paper.

    The generic control says the same of every paper, so it has no other response. Changed reviews exchange places
    exactly as the human baseline's reviews do. A difference between the scores of changed and unchanged reviews is
    therefore due to the change alone.
    """
    moved: list[Moved] = []
    as_human: list[Move] = []
    for candidate in candidates:
        if candidate.candidate_id == controls.GENERIC:
            continue
        there: dict[str, Response] = {}
        placed = []
        for index, entry in enumerate(entries):
            response, name = response_of(entries, index, candidate), entry.paper.paper_id
            if response is not None and (words := length(response, recipe, writer)):
                borrowed = candidate.candidate_id == controls.OTHER_PAPER
                source = controls.other(entries, index).paper.paper_id if borrowed else name
                there[name] = response
                placed.append(Placed(name, name, frozenset((name, source)), words))
        chosen = as_human if candidate.kind == "change" else moves(placed, seed)
        as_human = chosen if candidate.candidate_id == HUMAN else as_human
        moved += [
            Moved(signed_writer(recipe, writer), candidate.candidate_id, move.key, there[move.source], move.swap)
            for move in chosen
            if move.key in there and move.source in there
        ]
    return moved


def length(response: Response, recipe: Recipe, writer: str) -> int:
    """Returns the number of words in the text that *recipe* reads of *response*; 0 if there is none."""
    text = response.text if recipe.source == "review" else response.judgments.get(writer)
    return len((text or "").split())


def _shuffled(reviews: Iterable[Placed], seed: int) -> list[Placed]:
    """Sorts *reviews* by length and shuffles them within blocks of `BLOCK`; the input order does not matter."""
    ordered = sorted(reviews, key=lambda review: (review.words, review.key))
    draw = random.Random(seed)
    blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
    for block in blocks:
        draw.shuffle(block)
    return [review for block in blocks for review in block]


def _swaps(reviews: Sequence[Placed]) -> list[tuple[Placed, ...]]:
    """Groups *reviews* that exchange places: each with the first waiting one that may exchange places with it.

    A review left over joins a pair, so that three exchange places. If the review fits no pair, it is in no group.
    """
    waiting: list[Placed] = []
    swaps: list[tuple[Placed, ...]] = []
    for review in reviews:
        partner = next((candidate for candidate in waiting if _may_swap(candidate, review)), None)
        if partner is None:
            waiting.append(review)
        else:
            waiting.remove(partner)
            swaps.append((partner, review))
    for review in waiting:
        # The search starts at the last pair: the list is sorted by length, and the leftover is mostly the longest.
        for index in reversed(range(len(swaps))):
            if len(swaps[index]) == 2 and all(_may_swap(candidate, review) for candidate in swaps[index]):
                swaps[index] = (*swaps[index], review)
                break
    return swaps


def _may_swap(review: Placed, other: Placed) -> bool:
    return review.item not in other.about and other.item not in review.about
