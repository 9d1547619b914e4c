"""What a candidate scores by chance: its own reviews moved to other papers.

A review of another paper by the same author has the same style and knows nothing of the paper. What a candidate scores
above that is owed to what it says of the paper itself.

Reviews change places in pairs, so each is used once: p's review stands for chance on q, and q's on p. Whatever a review
scores on any paper, and whatever any review scores on a paper, then cancels within a pair. Pairs share no paper, hence
their means are independent, and a t test over them keeps its level (`gre_bench.stats.chance`).
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
"""Partners are drawn among this many reviews of neighbouring length."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A review where it stands: *item* names its place, *about* the items that it may speak of, *words* its length."""

    key: str
    item: str
    about: frozenset[str]
    words: int


@dataclass(frozen=True, slots=True)
class Move:
    """The review *source* stands for chance where the review *key* stands; *swap* is the name of the exchange."""

    key: str
    source: str
    swap: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What *candidate_id* said of another paper and is scored on *paper_id* by chance, in the exchange *swap*.

    *writer*: as in a signature, whose judgments are read.
    """

    writer: str
    candidate_id: str
    paper_id: str
    response: Response
    swap: str


def moves(reviews: Sequence[Placed], seed: int) -> list[Move]:
    """A move for each of *reviews* that can be moved, in their order; at random by *seed*, close in length.

    Two reviews change places; of an odd number three do, in a ring. No review moves to an item that it may be about. A
    single review, or reviews of one item alone, have no move.
    """
    swaps = _swaps(_shuffled(reviews, seed))
    source = {
        one.key: (other.key, swap[0].key)
        for swap in swaps
        for one, other in zip(swap, (*swap[1:], swap[0]), strict=True)
    }
    return [Move(review.key, *source[review.key]) for review in reviews if review.key in source]


def moved_responses(
    entries: Sequence[Entry], candidates: Iterable[Candidate], recipe: Recipe, writer: str, seed: int
) -> list[Moved]:
    """The responses of *candidates* to *entries* that *recipe* can read, each moved to another paper.

    The generic control says the same of every paper and has no other response. Changed reviews change places as the
    human baseline's do, so that a change is judged by itself and not by other exchanges.
    """
    found: list[Moved] = []
    as_human: list[Move] = []
    for candidate in candidates:
        if candidate.candidate_id == controls.GENERIC:
            continue
        there: dict[str, Response] = {}
        placed = []
        for place, entry in enumerate(entries):
            response, name = response_of(entries, place, candidate), entry.paper.paper_id
            if response is not None and (words := length(response, recipe, writer)):
                borrowed = candidate.candidate_id == controls.OTHER_PAPER
                source = controls.other(entries, place).paper.paper_id if borrowed else name
                there[name] = response
                placed.append(Placed(name, name, frozenset((name, source)), words))
        chosen = as_human if candidate.kind == "change" else moves(placed, seed)
        as_human = chosen if candidate.candidate_id == HUMAN else as_human
        found += [
            Moved(signed_writer(recipe, writer), candidate.candidate_id, move.key, there[move.source], move.swap)
            for move in chosen
            if move.key in there and move.source in there
        ]
    return found


def length(response: Response, recipe: Recipe, writer: str) -> int:
    """Words of the text that *recipe* reads of *response*; 0 where there is none."""
    text = response.text if recipe.source == "review" else response.judgments.get(writer)
    return len((text or "").split())


def _shuffled(reviews: Iterable[Placed], seed: int) -> list[Placed]:
    """*reviews* by length, at random within blocks; the same whatever order they come in."""
    ordered = sorted(reviews, key=lambda one: (one.words, one.key))
    draw = random.Random(seed)
    blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
    for block in blocks:
        draw.shuffle(block)
    return [one for block in blocks for one in block]


def _swaps(reviews: Sequence[Placed]) -> list[tuple[Placed, ...]]:
    """Each review with the next free one that may change places with it; who is left joins two others."""
    waiting: list[Placed] = []
    swaps: list[tuple[Placed, ...]] = []
    for review in reviews:
        partner = next((one for one in waiting if _may_swap(one, review)), None)
        if partner is None:
            waiting.append(review)
        else:
            waiting.remove(partner)
            swaps.append((partner, review))
    for review in waiting:
        # The last pair that takes it: the list is in order of length, and what is left is mostly the longest.
        for place in reversed(range(len(swaps))):
            if len(swaps[place]) == 2 and all(_may_swap(one, review) for one in swaps[place]):
                swaps[place] = (*swaps[place], review)
                break
    return swaps


def _may_swap(one: Placed, other: Placed) -> bool:
    return one.item not in other.about and other.item not in one.about
