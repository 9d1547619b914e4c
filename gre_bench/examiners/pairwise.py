"""Preferences of an LM between two texts about the same source (PRE, Appendix A.1), and ratings of the texts' authors.

The LM compares the texts of a pair twice, once in each order. If it chooses the same position both times, it prefers a
position, not a text. The comparison is then a tie, and `measure_position_bias` counts it.

A player is an author of texts, and a game is one comparison of two texts: score 1 for a win, 0.5 for a tie, 0 for a
loss. Elo ratings are computed as in PRE: K = 16, and every player starts at 1000. With a player's own rating a and the
opponent's b:

    expected(a, b) = 1 / (1 + 10^((b − a) / 400))
    rating ← rating + K · (score − expected)

Elo depends on the order of the games, so `compute_elo_spread` states the spread over shuffled orders. Bradley-Terry
strengths do not depend on the order. P(i is preferred to j) = exp(βᵢ) / (exp(βᵢ) + exp(βⱼ)), where βᵢ is the
log-strength of player i. The fit is by maximum likelihood (Bradley and Terry 1952), and a tie is half a win for each
player.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.core.asking import FREE, ChatCost
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Chat, Problem, Sampling, Writer
from gre_bench.examiners import answers
from gre_bench.examiners.examiner import ItemKind
from gre_bench.examiners.grading import TOP_P, ask_and_parse
from gre_bench.prompts.library import fill_prompt
from gre_bench.stats.intervals import Interval, flat_interval

Array = np.ndarray[Any, np.dtype[np.float64]]
STEPS = 100
"""The largest number of Newton steps; a fit with a finite solution takes about eight."""
K, START = 16.0, 1000.0
SAMPLING = Sampling(0.0, 64, TOP_P)


@dataclass(frozen=True, slots=True)
class Game:
    """One comparison of texts by two players (authors).

    *score*: 1 if the text by *first* was preferred, 0 if the text by *second* was preferred, 0.5 for a tie.
    """

    first: str
    second: str
    score: float


@dataclass(frozen=True, slots=True)
class Strength:
    """The Bradley-Terry log-strength of a player (an author of texts), with its standard *error* and 95% interval.

    It is relative to the mean of all players, or to the player that `fit_bradley_terry` sets to 0.
    """

    player: str
    value: float
    error: float
    low: float
    high: float


def fit_bradley_terry(games: Sequence[Game], anchor: str | None = None) -> list[Strength]:
    """Returns the strength of each player in *games*, the strongest first.

    The player *anchor* has strength 0; without an anchor, the mean strength is 0. Raises `SettingsError` if the games
    do not determine the strengths: some players won all their games against the others, lost them all, or had none.
    """
    from scipy.special import ndtri

    players = sorted({game.first for game in games} | {game.second for game in games})
    indices = {name: index for index, name in enumerate(players)}
    wins = np.zeros((len(players), len(players)))
    for game in games:
        if game.first == game.second or not 0 <= game.score <= 1:
            raise ValueError(f"no game: {game}")
        wins[indices[game.first], indices[game.second]] += game.score
        wins[indices[game.second], indices[game.first]] += 1 - game.score
    _check_strengths_determined(wins, players)
    beta, information = _fit_strengths(wins)
    contrast = np.eye(len(players))
    if anchor is None:
        contrast -= 1.0 / len(players)
    else:
        contrast[:, indices[anchor]] -= 1.0
    # A common shift leaves the likelihood unchanged; the pseudo-inverse gives the covariance of all differences.
    covariance = contrast @ np.linalg.pinv(information) @ contrast.T
    values, errors = contrast @ beta, np.sqrt(np.maximum(np.diag(covariance), 0.0))
    half = float(ndtri(0.975)) * errors
    rows = zip(players, values, errors, values - half, values + half, strict=True)
    strengths = [Strength(name, *map(float, numbers)) for name, *numbers in rows]
    return sorted(strengths, key=lambda strength: -strength.value)


def _fit_strengths(wins: Array) -> tuple[Array, Array]:
    """Fits the log-strengths by Newton's method; *wins*[i, j] counts how often i was preferred to j.

    Returns the log-strengths, whose mean is 0, and the Fisher information matrix at the solution.
    """
    met = wins + wins.T
    beta, information = np.zeros(len(wins)), np.zeros_like(wins)
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(beta[None, :] - beta[:, None]))
        slope = (wins - met * chance).sum(axis=1)
        weight = met * chance * (1.0 - chance)
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.pinv(information) @ slope
        # A long step from a bad starting point may overshoot, so steps are limited to two units.
        beta = beta + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if float(np.abs(step).max()) < 1e-12:
            break
    return beta - beta.mean(), information


def _check_strengths_determined(wins: Array, players: list[str]) -> None:
    """Raises `SettingsError` unless a chain of wins leads from every player to every other player (Ford 1957)."""
    if len(players) < 2:
        raise SettingsError("Bradley-Terry needs games between at least two players")
    for way, relation in ((wins > 0, "never lost to"), (wins.T > 0, "never beat")):
        reached, edge = {0}, [0]
        while edge:
            edge = [other for player in edge for other in np.flatnonzero(way[player]).tolist() if other not in reached]
            reached |= set(edge)
        if missing := [name for index, name in enumerate(players) if index not in reached]:
            some = ", ".join(missing[:5]) + (" and others" if len(missing) > 5 else "")
            inside = ", ".join(players[index] for index in sorted(reached)[:5])
            raise SettingsError(
                f"the games do not determine strengths: {some} {relation} any of {inside}; play more games"
            )


@dataclass(frozen=True, slots=True)
class EloRating:
    """The Elo rating of a player over many shuffled orders of the games: the mean, and the 2.5% and 97.5% quantiles."""

    player: str
    value: float
    low: float
    high: float


def expected_elo_score(own: float, other: float) -> float:
    """Returns the expected score (0 to 1) of a player with rating *own* against a player with rating *other*."""
    return 1.0 / (1.0 + 10.0 ** ((other - own) / 400.0))


def compute_elo_ratings(games: Sequence[Game]) -> dict[str, float]:
    """Returns player → Elo rating after all *games*, played in the given order."""
    ratings: dict[str, float] = {}
    for game in games:
        first, second = (ratings.get(name, START) for name in (game.first, game.second))
        won = K * (game.score - expected_elo_score(first, second))
        ratings |= {game.first: first + won, game.second: second - won}
    return ratings


def compute_elo_spread(games: Sequence[Game], orders: int, seed: int) -> list[EloRating]:
    """Returns each player's Elo rating over *orders* random orders of *games*, the best player first."""
    shuffler = random.Random(seed)
    games = list(games)
    players = sorted({name for game in games for name in (game.first, game.second)})
    results = np.empty((orders, len(players)))
    for turn in range(orders):
        shuffler.shuffle(games)
        ratings = compute_elo_ratings(games)
        results[turn] = [ratings[name] for name in players]
    low, high = np.quantile(results, [0.025, 0.975], axis=0)
    rows = zip(players, results.mean(axis=0), low, high, strict=True)
    return sorted((EloRating(name, *map(float, numbers)) for name, *numbers in rows), key=lambda rating: -rating.value)


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts about the same *source*, such as the text of a paper, by the players *first* and *second*."""

    item_id: str
    source: str
    first: str
    second: str
    first_text: str
    second_text: str


@dataclass(frozen=True, slots=True)
class Preference:
    """An LM's preference between the texts of two players: a *score* as in `Game`, or a *problem* instead.

    *positions*: the positions (0 or 1) that the LM chose, first with the texts in the given order, then in reverse
    order. *cost*: the cost of both chats.
    """

    item_id: str
    first: str
    second: str
    score: float | None
    positions: tuple[int, int] | None = None
    problem: Problem | None = None
    cost: ChatCost = FREE


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How far an LM chooses by position and not by text; the first five fields are numbers of pairs of texts.

    - *consistent*: the LM chose the same text in both orders.
    - *always_first*, *always_second*: the LM chose the first, or the second, position in both orders.
    - *unanswered*: a reply could not be used.
    - *first_share*: the share of answers for the first position (0.5 without bias), with a 95% interval over pairs.
    - *p*: the p-value of a two-sided binomial test of whether *always_first* and *always_second* are equally likely.
    """

    pairs: int
    consistent: int
    always_first: int
    always_second: int
    unanswered: int
    first_share: Interval | None
    p: float | None


def ask_preferences(pairs: Sequence[TextPair], asker: Writer, item: ItemKind) -> list[Preference]:
    """Asks the LM *asker* which text of each of *pairs* it prefers, in both orders; returns one preference per pair."""
    outcomes = ask_and_parse(asker, build_pairwise_chats(pairs, item), SAMPLING, answers.parse_preferred_text_index)
    preferences = []
    for pair, forward, backward in zip(pairs, outcomes[: len(pairs)], outcomes[len(pairs) :], strict=True):
        ids, cost = (pair.item_id, pair.first, pair.second), forward.cost + backward.cost
        if isinstance(forward.read, Problem):
            preferences.append(Preference(*ids, None, None, forward.read, cost))
        elif isinstance(backward.read, Problem):
            preferences.append(Preference(*ids, None, None, backward.read, cost))
        else:
            score = 0.5 if forward.read == backward.read else 1.0 - forward.read
            preferences.append(Preference(*ids, score, (forward.read, backward.read), None, cost))
    return preferences


def build_pairwise_chats(pairs: Sequence[TextPair], item: ItemKind) -> list[Chat]:
    """Returns two chats per pair: first all chats with the texts as given, then all with the texts swapped."""
    prompt = f"pre/{item}/pairwise"
    forward = [fill_prompt(prompt, source=pair.source, one=pair.first_text, two=pair.second_text) for pair in pairs]
    return [
        *forward,
        *(fill_prompt(prompt, source=pair.source, one=pair.second_text, two=pair.first_text) for pair in pairs),
    ]


def list_games_from_preferences(preferences: Sequence[Preference]) -> list[Game]:
    return [
        Game(preference.first, preference.second, preference.score)
        for preference in preferences
        if preference.score is not None
    ]


def measure_position_bias(preferences: Sequence[Preference]) -> PositionBias:
    from scipy.stats import binomtest

    answered = [preference.positions for preference in preferences if preference.positions is not None]
    always = [sum(positions == (position, position) for positions in answered) for position in (0, 1)]
    firsts = [positions.count(0) / 2 for positions in answered]
    return PositionBias(
        pairs=len(preferences), consistent=len(answered) - sum(always), always_first=always[0],
        always_second=always[1], unanswered=len(preferences) - len(answered),
        first_share=flat_interval(firsts, 0.95) if len(firsts) > 1 else None,
        p=float(binomtest(always[0], sum(always)).pvalue) if sum(always) else None,
    )  # fmt: skip
