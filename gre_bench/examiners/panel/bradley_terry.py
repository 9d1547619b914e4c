"""Bradley-Terry strengths from pairwise preferences, with confidence intervals; the usual replacement for Elo.

A player is an author of texts, and a game is one comparison of two texts. P(i is preferred to j) = exp(βᵢ) / (exp(βᵢ) +
exp(βⱼ)), where βᵢ is the log-strength of player i. The fit is by maximum likelihood (Bradley and Terry 1952). The order
of the games has no influence. A tie is half a win for each player.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.core.errors import SettingsError

Array = np.ndarray[Any, np.dtype[np.float64]]
STEPS = 100
"""The largest number of Newton steps; a fit with a finite solution takes about eight."""


@dataclass(frozen=True, slots=True)
class Game:
    """One comparison of the players *first* and *second*.

    *score* is 1 if *first* was preferred, 0 if *second* was preferred, and 0.5 for a tie.
    """

    first: str
    second: str
    score: float


@dataclass(frozen=True, slots=True)
class Strength:
    """The log-strength of a player.

    - *value*: the log-strength, relative to the mean of all players or to the anchor.
    - *error*: the standard error of *value*.
    - *low*, *high*: the confidence interval of *value*.
    """

    player: str
    value: float
    error: float
    low: float
    high: float


def bradley_terry(games: Sequence[Game], level: float = 0.95, anchor: str | None = None) -> list[Strength]:
    """Returns the strength of each player in *games*, the strongest first, with intervals of confidence *level*.

    The player *anchor* has strength 0; without an anchor, the mean strength is 0. Raises `SettingsError` if the games
    do not determine the strengths. That happens if a player won or lost every game, or if two groups of players never
    met.
    """
    from scipy.special import ndtri

    players = sorted({game.first for game in games} | {game.second for game in games})
    wins = _wins(games, players)
    _refuse_unsettled(wins, players)
    beta, information = _fitted(wins)
    if anchor is None:
        contrast = np.eye(len(players)) - 1.0 / len(players)
    else:
        contrast = np.eye(len(players))
        contrast[:, players.index(anchor)] -= 1.0
    # A common shift leaves the likelihood unchanged; the pseudo-inverse gives the covariance of all differences.
    covariance = contrast @ np.linalg.pinv(information) @ contrast.T
    values, errors = contrast @ beta, np.sqrt(np.maximum(np.diag(covariance), 0.0))
    half = float(ndtri(0.5 + level / 2)) * errors
    rows = zip(players, values, errors, values - half, values + half, strict=True)
    strengths = [Strength(name, *(float(number) for number in numbers)) for name, *numbers in rows]
    return sorted(strengths, key=lambda strength: -strength.value)


def _wins(games: Sequence[Game], players: list[str]) -> Array:
    """Returns the matrix of wins: entry [i, j] counts how often player i was preferred to j; a tie counts half."""
    indices = {name: index for index, name in enumerate(players)}
    wins = np.zeros((len(players), len(players)))
    for game in games:
        if game.first == game.second or not 0 <= game.score <= 1:
            raise ValueError(f"no game: {game}")
        wins[indices[game.first], indices[game.second]] += game.score
        wins[indices[game.second], indices[game.first]] += 1 - game.score
    return wins


def _fitted(wins: Array) -> tuple[Array, Array]:
    """Fits the log-strengths by Newton's method to *wins*, the matrix of `_wins`.

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
        # A long step from a bad start may overshoot, so a step is at most two units.
        beta = beta + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if float(np.abs(step).max()) < 1e-12:
            break
    return beta - beta.mean(), information


def _refuse_unsettled(wins: Array, players: list[str]) -> None:
    """Raises `SettingsError` if the matrix *wins* does not determine the strengths of *players*.

    The matrix determines them only if a chain of wins leads from every player to every other player (Ford 1957).
    """
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
