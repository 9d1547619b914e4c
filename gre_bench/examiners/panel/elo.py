"""Elo ratings of players from games between them, after PRE: K = 16, and every player starts at 1000.

    expected(a, b) = 1 / (1 + 10^((b − a) / 400))
    rating ← rating + K · (score − expected)

Here a is the player's own rating and b the opponent's. The score is 1 for a win, 0.5 for a tie and 0 for a loss.

Ratings depend on the order of the games, so `elo_spread` states their spread over shuffled orders. Bradley-Terry
strengths (`gre_bench.examiners.panel.bradley_terry`) do not depend on the order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.examiners.panel.bradley_terry import Game

K = 16.0
START = 1000.0


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of a player over many shuffled orders of the games.

    - *value*: the mean rating.
    - *low*, *high*: the 2.5% and 97.5% quantiles of the rating.
    """

    player: str
    value: float
    low: float
    high: float


def expected(own: float, other: float) -> float:
    """Returns the expected score (0 to 1) of a player with rating *own* against a player with rating *other*."""
    return 1.0 / (1.0 + 10.0 ** ((other - own) / 400.0))


def elo(games: Sequence[Game], k: float = K, start: float = START) -> dict[str, float]:
    """Returns each player's rating after all *games*, played in the given order.

    Each player begins at *start*. In a game, one player gains the points that the other loses; *k* is K in the module's
    formula.
    """
    ratings: dict[str, float] = {}
    for game in games:
        first, second = (ratings.get(name, start) for name in (game.first, game.second))
        won = k * (game.score - expected(first, second))
        ratings |= {game.first: first + won, game.second: second - won}
    return ratings


def elo_spread(games: Sequence[Game], orders: int = 1000, seed: int = 0, k: float = K) -> list[Rating]:
    """Returns each player's mean rating and its spread over *orders* random orders of *games*, the best player first.

    *k* is K in the module's formula.
    """
    shuffler = random.Random(seed)
    games = list(games)
    players = sorted({name for game in games for name in (game.first, game.second)})
    results = np.empty((orders, len(players)))
    for turn in range(orders):
        shuffler.shuffle(games)
        ratings = elo(games, k)
        results[turn] = [ratings[name] for name in players]
    low, high = np.quantile(results, [0.025, 0.975], axis=0)
    rows = zip(players, results.mean(axis=0), low, high, strict=True)
    return sorted((Rating(name, *map(float, numbers)) for name, *numbers in rows), key=lambda rating: -rating.value)
