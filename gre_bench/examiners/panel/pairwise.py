"""Preferences between two texts about one source; the LM is asked in both orders of the texts (PRE, Appendix A.1).

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
    """Two texts about *source*: *one* by the player *first*, *two* by the player *second*."""

    item_id: str
    source: str
    first: str
    second: str
    one: str
    two: str


@dataclass(frozen=True, slots=True)
class Preference:
    """An LM's preference in a pair: *score* is 1 for the first player, 0 for the second, 0.5 for a tie.

    *positions* holds the position that the LM chose (0 or 1), in the given order of the texts and in the other. Without
    a score there is a *problem*.
    """

    item_id: str
    first: str
    second: str
    score: float | None
    positions: tuple[int, int] | None = None
    problem: Problem | None = None
    cost: Cost = FREE

    @property
    def consistent(self) -> bool:
        """Whether the LM chose the same text in both orders."""
        return self.positions is not None and self.positions[0] != self.positions[1]


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How far an LM prefers a position: counts of pairs, and the share of answers for the first position.

    *always_first* and *always_second* count pairs in which the LM chose that position in both orders. *first_share* is
    0.5 without bias; its 95% interval treats a pair as the unit, because its two answers depend on each other. *p* is
    that of a two-sided binomial test that these pairs choose both positions equally often.
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
    """Asks the LM *asker* about each of *pairs* in both orders; returns one preference for each, in their order.

    *item* is the kind of the compared texts. *base* replaces the default `SAMPLING`.
    """
    said = ask(asker, chats(pairs, item), base or SAMPLING, answers.choice)
    return [_preference(pair, said[index], said[len(pairs) + index]) for index, pair in enumerate(pairs)]


def chats(pairs: Sequence[Pair], item: ItemKind) -> list[Chat]:
    """Returns the chats about *pairs*: first all with the texts in the given order, then all in the other order."""
    prompt = f"pre/{item}/pairwise"
    forward = [fill(prompt, source=pair.source, one=pair.one, two=pair.two) for pair in pairs]
    return [*forward, *(fill(prompt, source=pair.source, one=pair.two, two=pair.one) for pair in pairs)]


def games(preferences: Sequence[Preference]) -> list[Game]:
    """Returns *preferences* as games for Elo and Bradley-Terry; leaves out those with a problem."""
    return [
        Game(preference.first, preference.second, preference.score)
        for preference in preferences
        if preference.score is not None
    ]


def position_bias(preferences: Sequence[Preference]) -> PositionBias:
    """Returns the position bias of an LM in all of its *preferences*."""
    from scipy.stats import binomtest

    answered = [preference.positions for preference in preferences if preference.positions is not None]
    always = [sum(positions == (position, position) for positions in answered) for position in (0, 1)]
    firsts = [positions.count(0) / 2 for positions in answered]
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
    positions = (forward.read, backward.read)
    if isinstance(positions[0], Problem):
        return Preference(*ids, None, None, positions[0], cost)
    if isinstance(positions[1], Problem):
        return Preference(*ids, None, None, positions[1], cost)
    score = 0.5 if positions[0] == positions[1] else 1.0 - positions[0]
    return Preference(*ids, score, (positions[0], positions[1]), None, cost)
