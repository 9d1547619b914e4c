"""Does the test against chance keep its level, and has it the power that it should have at a known effect?

The candidate knows its papers with probability *share*, else it writes as it would of any paper. Its reviews have the
same distribution whatever the share, so the expected excess over chance is the share times that of a candidate who
always knows: E[score] under the joint distribution less E[score] with the candidate's review independent of the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gre_bench.metrics.chance import Placed, moves
from gre_bench.stats import clustered_test
from gre_bench.studies.simulations.answers import expected_score
from gre_bench.studies.simulations.papers import REFERENCES, Numbers, Papers, draw_papers
from gre_bench.studies.simulations.world import Array, World

ALPHA, POWER = 0.05, 0.8
FEWEST = 8
"""Papers that the test is tried on, at least."""

PROBED = 4000
"""Papers drawn to learn how widely the differences of a world spread."""


@dataclass(frozen=True, slots=True)
class AgainstChance:
    """The *p*-value of the test; *power*: the predicted probability that p < 0.05.

    *effect*: expected excess over chance in nats, 0 of a candidate who knows nothing.
    """

    metric: str
    candidate: Literal["knows nothing", "knows something"]
    effect: float
    power: float
    p: float


def excess(scores: Array, joint: Array) -> float:
    """How far a candidate is expected to score above chance, in nats; *scores* and *joint* as in `expected_score`."""
    of_x = joint.sum(axis=(0, 2), keepdims=True)
    return expected_score(scores, joint) - expected_score(scores, of_x * joint.sum(axis=1, keepdims=True))


def try_chance(world: World, metric: str, scores: Array, papers: int, seed: int) -> tuple[AgainstChance, ...]:
    """The test of *papers* drawn papers for a candidate who knows nothing, and for one whom it should find by 80%."""
    known = excess(scores, world.joint())
    spread = _spread(world, scores, 0.0, seed)
    units = papers // 2
    share = min(1.0, _needed(units) * spread / math.sqrt(units) / known)
    found = []
    parts: tuple[tuple[Literal["knows nothing", "knows something"], float], ...]
    parts = ("knows nothing", 0.0), ("knows something", share)
    for name, part in parts:
        differences, swaps = _differences(world, scores, part, papers, seed)
        test = clustered_test(differences.ravel().tolist(), np.repeat(swaps, REFERENCES).tolist())
        power = _power(part * known * math.sqrt(units) / _spread(world, scores, part, seed), units) if part else ALPHA
        found.append(AgainstChance(metric, name, part * known, power, test.p))
    return tuple(found)


def _differences(world: World, scores: Array, share: float, papers: int, seed: int) -> tuple[Array, Numbers]:
    """Scores above chance, shape (papers, references), and the exchange that each paper is in."""
    names = [f"p{place}" for place in range(papers)]
    found = moves([Placed(name, name, frozenset((name,)), 1) for name in names], seed)
    places = {name: place for place, name in enumerate(names)}
    sources = np.array([places[move.source] for move in found])
    return _scored(world, scores, share, sources, seed), np.array([places[move.swap] for move in found])


def _scored(world: World, scores: Array, share: float, sources: Numbers, seed: int) -> Array:
    """Scores above chance, shape (papers, references); *sources*: whose review stands for chance on each paper."""
    drawn, elsewhere = (draw_papers(world, len(sources), own) for own in (seed, seed + 250_000))
    knows = np.random.default_rng([seed, 4]).random(len(sources)) < share
    reviews = np.where(knows, drawn.candidates[:, 0], elsewhere.candidates[:, 0])
    return _of(scores, drawn, reviews) - _of(scores, drawn, reviews[sources])


def _of(scores: Array, papers: Papers, reviews: Numbers) -> Array:
    """Scores of *reviews* on the references of *papers*, shape (papers, references)."""
    synopses = papers.synopses if len(scores) > 1 else np.zeros_like(papers.synopses)
    return np.asarray(scores[synopses[:, None], reviews[:, None], papers.references])


def _spread(world: World, scores: Array, share: float, seed: int) -> float:
    """Standard deviation of the mean difference of an exchange, from many papers."""
    sources = np.arange(PROBED) ^ 1
    differences = _scored(world, scores, share, sources, seed + 750_000)
    return float(differences.reshape(PROBED // 2, -1).mean(axis=1).std(ddof=1))


def _needed(units: int) -> float:
    """The standardised effect that Student's test over *units* shows with probability `POWER`."""
    from scipy.stats import t

    return float(t.ppf(1 - ALPHA / 2, units - 1) + t.ppf(POWER, units - 1))


def _power(shift: float, units: int) -> float:
    """The probability that Student's two-sided test over *units* rejects at a standardised effect of *shift*."""
    from scipy.stats import nct, t

    edge = t.ppf(1 - ALPHA / 2, units - 1)
    return float(nct.sf(edge, units - 1, shift) + nct.cdf(-edge, units - 1, shift))
