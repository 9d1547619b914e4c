"""Preferences between two texts about one source, requested in both orders (PRE, Appendix A.1).

An LM that names the same position in both orders prefers a position, not a text. Such a pair is a tie, and is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.core.records import Chat, Problem, Sampling, Writer
from gre_bench.examiners import answers
from gre_bench.examiners.asking import FREE, ChatOutcome, Cost, ask
from gre_bench.examiners.examiner import ItemKind
from gre_bench.examiners.grading import TOP_P
from gre_bench.examiners.panel.bradley_terry import Game
from gre_bench.prompts.library import fill
from gre_bench.stats import Interval, flat_interval

SAMPLING = Sampling(0.0, 64, TOP_P)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts about *source*: *one* by the player *first* and *two* by *second*."""

    item_id: str
    source: str
    first: str
    second: str
    one: str
    two: str


@dataclass(frozen=True, slots=True)
class Preference:
    """An LM's preference: *score* 1 for the first player, 0 for the second, 0.5 if it followed the position.

    *places*: the position that it chose (0 or 1), in the given order and in the other. Without a score there is a
    *problem*.
    """

    item_id: str
    first: str
    second: str
    score: float | None
    places: tuple[int, int] | None = None
    problem: Problem | None = None
    cost: Cost = FREE

    @property
    def consistent(self) -> bool:
        return self.places is not None and self.places[0] != self.places[1]


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How far an LM follows position; *first_share* is the share of answers for the first position, 0.5 if unbiased.

    The 95% interval treats a pair as the unit, because its two answers depend on each other. *p*: two-sided binomial
    test that inconsistent pairs choose both positions equally often.
    """

    pairs: int
    consistent: int
    always_first: int
    always_second: int
    unanswered: int
    first_share: Interval | None
    p: float | None


def prefer(
    pairs: Sequence[Pair], asker: Writer, item: ItemKind = "review", base: Sampling | None = None
) -> list[Preference]:
    """Returns one preference or problem for each of *pairs*, in order; sends two chats each."""
    said = ask(asker, chats(pairs, item), base or SAMPLING, answers.choice)
    return [_preference(pair, said[index], said[len(pairs) + index]) for index, pair in enumerate(pairs)]


def chats(pairs: Sequence[Pair], item: ItemKind) -> list[Chat]:
    """Returns the chats about *pairs*: all of them in the given order, then all in the other."""
    prompt = f"pre/{item}/pairwise"
    forward = [fill(prompt, source=pair.source, one=pair.one, two=pair.two) for pair in pairs]
    return [*forward, *(fill(prompt, source=pair.source, one=pair.two, two=pair.one) for pair in pairs)]


def games(preferences: Sequence[Preference]) -> list[Game]:
    """Returns the preferences without problems, as games for Elo and Bradley-Terry."""
    return [
        Game(preference.first, preference.second, preference.score)
        for preference in preferences
        if preference.score is not None
    ]


def position_bias(preferences: Sequence[Preference]) -> PositionBias:
    """Returns the report over all *preferences* of one LM."""
    from scipy.stats import binomtest

    answered = [preference.places for preference in preferences if preference.places is not None]
    always = [sum(places == (place, place) for places in answered) for place in (0, 1)]
    firsts = [places.count(0) / 2 for places in answered]
    return PositionBias(
        pairs=len(preferences),
        consistent=len(answered) - sum(always),
        always_first=always[0],
        always_second=always[1],
        unanswered=len(preferences) - len(answered),
        first_share=flat_interval(firsts, 0.95) if len(firsts) > 1 else None,
        p=float(binomtest(always[0], sum(always)).pvalue) if sum(always) else None,
    )


def _preference(pair: Pair, forward: ChatOutcome[int], backward: ChatOutcome[int]) -> Preference:
    ids, cost = (pair.item_id, pair.first, pair.second), forward.cost + backward.cost
    places = (forward.read, backward.read)
    if isinstance(places[0], Problem):
        return Preference(*ids, None, None, places[0], cost)
    if isinstance(places[1], Problem):
        return Preference(*ids, None, None, places[1], cost)
    score = 0.5 if places[0] == places[1] else 1.0 - places[0]
    return Preference(*ids, score, (places[0], places[1]), None, cost)
