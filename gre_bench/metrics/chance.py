"""Moves a candidate's reviews to other papers, where their scores show what the candidate scores by chance.

A candidate's review of another paper has the same style, but says nothing about this paper. So the score above chance
comes from what the candidate says about the paper itself.

The reviews of two papers p and q exchange places: p's review is scored on q, and q's review is scored on p. The score
of p's review on q shows what the candidate scores on q by chance. The score of q's review on p shows the same for p.
Each review is used once, so an effect of one review alone, or of one paper alone, cancels within the exchange.
Exchanges share no paper, so their means are independent, and a t test over them keeps its significance level
(`gre_bench.stats.chance`).
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
    """A review that can be moved.

    - *key*: the review's id. *item*: the id of the paper for which the review is scored.
    - *about*: the ids of all papers that the review may describe. The review must not be moved to any of them.
    - *words*: the review's length in words.
    """

    key: str
    item: str
    about: frozenset[str]
    words: int


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a review to another paper.

    - *source*: id of the review that moves.
    - *key*: id of the review whose place *source* takes. *source* is scored on the paper of *key*.
    - *swap*: id of the exchange of reviews; all moves of one exchange have the same *swap*.
    """

    key: str
    source: str
    swap: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A candidate's response to another paper, moved to *paper_id*, where its score shows what chance gives.

    - *writer*: the writer whose judgments are read, as in a signature.
    - *candidate_id*: the candidate. *response*: the candidate's response to the other paper.
    - *swap*: the id of the exchange of reviews that this response belongs to.
    """

    writer: str
    candidate_id: str
    paper_id: str
    response: Response
    swap: str


def moves(reviews: Sequence[Placed], seed: int) -> list[Move]:
    """Returns one move for each of *reviews* that can be moved, in the order of *reviews*.

    Reviews of similar length are paired at random (*seed*), and the two of a pair exchange papers. A review that is
    left over joins a pair, and these three reviews exchange papers in a ring. No review moves to a paper that it may
    describe. If all reviews belong to one paper, there are no moves.
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
    """Returns the responses of *candidates* to the papers of *entries*, each moved to another paper.

    Responses that the metric *recipe* cannot read are left out. So are those of the control *generic*, which are the
    same for every paper. Changed reviews move to the same papers as the human baseline's reviews. A difference between
    the scores of changed and unchanged reviews is therefore due to the change alone.

    - *writer*: the writer whose judgments are read.
    - *seed*: the random seed of the exchanges.
    """
    moved: list[Moved] = []
    as_human: list[Move] = []
    for candidate in candidates:
        if candidate.candidate_id == controls.GENERIC:
            continue
        by_paper: dict[str, Response] = {}
        placed = []
        for index, entry in enumerate(entries):
            response, name = response_of(entries, index, candidate), entry.paper.paper_id
            if response is not None and (words := length(response, recipe, writer)):
                borrowed = candidate.candidate_id == controls.OTHER_PAPER
                source = controls.other(entries, index).paper.paper_id if borrowed else name
                by_paper[name] = response
                placed.append(Placed(name, name, frozenset((name, source)), words))
        chosen = as_human if candidate.kind == "change" else moves(placed, seed)
        as_human = chosen if candidate.candidate_id == HUMAN else as_human
        moved += [
            Moved(signed_writer(recipe, writer), candidate.candidate_id, move.key, by_paper[move.source], move.swap)
            for move in chosen
            if move.key in by_paper and move.source in by_paper
        ]
    return moved


def length(response: Response, recipe: Recipe, writer: str) -> int:
    """Returns the length in words of the text that the metric *recipe* reads of *response*; 0 if that text is missing.

    *writer* is the writer whose judgments are read.
    """
    text = response.text if recipe.source == "review" else response.judgments.get(writer)
    return len((text or "").split())


def _shuffled(reviews: Iterable[Placed], seed: int) -> list[Placed]:
    """Returns *reviews* sorted by length, and then shuffled within each block of `BLOCK` reviews.

    *seed* decides the shuffling. The result does not depend on the order of *reviews*.
    """
    ordered = sorted(reviews, key=lambda review: (review.words, review.key))
    draw = random.Random(seed)
    blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
    for block in blocks:
        draw.shuffle(block)
    return [review for block in blocks for review in block]


def _swaps(reviews: Sequence[Placed]) -> list[tuple[Placed, ...]]:
    """Groups *reviews* into exchanges of two or three reviews.

    Each review is paired with the first unpaired earlier review with which it may exchange papers. A review that
    remains unpaired joins a pair if it may, else it is left out. Two reviews may exchange papers if neither describes
    the paper of the other review.
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
