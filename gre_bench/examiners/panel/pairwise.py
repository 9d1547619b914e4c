"""Preferences of an LM between two texts about the same source (PRE, Appendix A.1).

The LM is asked twice about each pair, once in each order of the two texts. An LM that chooses the same position both
times prefers a position, not a text. Such a pair is a tie, and `position_bias` counts it.
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
class TextPair:
    """Two texts about the same source, to be compared.

    - *item_id*: the id of the pair.
    - *source*: the text of the source, such as a paper.
    - *first*, *second*: the names of the two players, who wrote the texts.
    - *first_text*, *second_text*: what they wrote.
    """

    item_id: str
    source: str
    first: str
    second: str
    first_text: str
    second_text: str


@dataclass(frozen=True, slots=True)
class Preference:
    """An LM's preference between the texts of two players: either a *score* or the *problem* that replaces it.

    - *score*: 1 if the LM prefers the player *first*, 0 for the player *second*, 0.5 for a tie.
    - *positions*: the positions (0 or 1) that the LM chose: with the texts in the given order, and then in reverse
      order.
    - *cost*: the replies and tokens of both chats.
    """

    item_id: str
    first: str
    second: str
    score: float | None
    positions: tuple[int, int] | None = None
    problem: Problem | None = None
    cost: Cost = FREE


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How far an LM prefers a position to a text.

    - *pairs*: the number of pairs.
    - *consistent*: the number of pairs in which the LM chose the same text in both orders.
    - *always_first*, *always_second*: the numbers of pairs in which the LM chose that position in both orders.
    - *unanswered*: the number of pairs without a usable answer.
    - *first_share*: the share of answers for the first position, 0.5 without bias, with a 95% interval over pairs.
    - *p*: the p-value of a two-sided binomial test that *always_first* and *always_second* are equally likely.
    """

    pairs: int
    consistent: int
    always_first: int
    always_second: int
    unanswered: int
    first_share: Interval | None
    p: float | None


def prefer(
    pairs: Sequence[TextPair], asker: Writer, item: ItemKind = "review", base: Sampling | None = None
) -> list[Preference]:
    """Asks the LM *asker* about each of *pairs* in both orders; returns one preference per pair, in order.

    *item* is the kind of the compared texts. *base* replaces the default sampling options, `SAMPLING`.
    """
    outcomes = ask(asker, chats(pairs, item), base or SAMPLING, answers.choice)
    return [_preference(pair, outcomes[index], outcomes[len(pairs) + index]) for index, pair in enumerate(pairs)]


def chats(pairs: Sequence[TextPair], item: ItemKind) -> list[Chat]:
    """Returns two chats per pair: first all chats with the texts as given, then all with the texts swapped."""
    prompt = f"pre/{item}/pairwise"
    forward = [fill(prompt, source=pair.source, one=pair.first_text, two=pair.second_text) for pair in pairs]
    return [*forward, *(fill(prompt, source=pair.source, one=pair.second_text, two=pair.first_text) for pair in pairs)]


def games(preferences: Sequence[Preference]) -> list[Game]:
    """Returns *preferences* as games for Elo and Bradley-Terry; leaves out the preferences that hold a problem."""
    return [
        Game(preference.first, preference.second, preference.score)
        for preference in preferences
        if preference.score is not None
    ]


def position_bias(preferences: Sequence[Preference]) -> PositionBias:
    """Returns how far an LM prefers a position, from all of its *preferences*."""
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


def _preference(pair: TextPair, forward: ChatOutcome[int], backward: ChatOutcome[int]) -> Preference:
    ids, cost = (pair.item_id, pair.first, pair.second), forward.cost + backward.cost
    positions = (forward.read, backward.read)
    if isinstance(positions[0], Problem):
        return Preference(*ids, None, None, positions[0], cost)
    if isinstance(positions[1], Problem):
        return Preference(*ids, None, None, positions[1], cost)
    score = 0.5 if positions[0] == positions[1] else 1.0 - positions[0]
    return Preference(*ids, score, (positions[0], positions[1]), None, cost)
