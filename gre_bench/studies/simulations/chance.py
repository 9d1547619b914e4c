"""Checks the test for scores above chance in simulations: its level, and its power at a known effect.

With probability *share* the candidate knows the paper it reviews. Otherwise its review is about another, random paper.
The distribution of the candidate's reviews does not depend on the share. The expected score above chance is therefore
the share times the expected score above chance of a candidate who always knows the paper.

A candidate who always knows the paper scores above chance by the difference of two expected scores. In the first, the
candidate's review and the human review are about one paper. In the second, the candidate's review is independent of the
paper and of the human review.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gre_bench.metrics.cases import Placed, moves
from gre_bench.stats import clustered_test
from gre_bench.studies.simulations.answers import expected_score
from gre_bench.studies.simulations.papers import REFERENCES, Numbers, Papers, sample_papers
from gre_bench.studies.simulations.simulation import Array, Simulation

ALPHA, POWER = 0.05, 0.8
FEWEST = 8
"""The fewest papers on which the test is tried."""

PROBED = 4000
"""How many papers are sampled to estimate the standard deviation of a simulation's differences."""


@dataclass(frozen=True, slots=True)
class AgainstChance:
    """The result of one test for scores above chance.

    - *effect*: the expected score above chance in nats; 0 for a candidate who knows nothing.
    - *power*: the predicted probability of p < 0.05.
    - *p*: the p-value of the test.
    """

    metric: str
    candidate: Literal["knows nothing", "knows something"]
    effect: float
    power: float
    p: float


def excess(scores: Array, joint: Array) -> float:
    """Returns the expected score above chance, in nats; *scores* and *joint* are as in `expected_score`."""
    of_x = joint.sum(axis=(0, 2), keepdims=True)
    return expected_score(scores, joint) - expected_score(scores, of_x * joint.sum(axis=1, keepdims=True))


def chance_findings(
    simulation: Simulation, metric: str, scores: Array, papers: int, seed: int
) -> tuple[AgainstChance, ...]:
    """Tests two candidates for scores above chance on *papers* sampled papers; returns both results.

    The first candidate knows nothing. The second knows so large a share of the papers that the test should be
    significant with a probability of 80%. *scores*: those of *metric*, by (synopsis, review x, reference y).
    """
    known = excess(scores, simulation.joint())
    spread = _spread(simulation, scores, 0.0, seed)
    units = papers // 2
    share = min(1.0, _needed(units) * spread / math.sqrt(units) / known)
    results = []
    parts: tuple[tuple[Literal["knows nothing", "knows something"], float], ...]
    parts = ("knows nothing", 0.0), ("knows something", share)
    for name, part in parts:
        differences, swaps = _differences(simulation, scores, part, papers, seed)
        test = clustered_test(differences.ravel().tolist(), np.repeat(swaps, REFERENCES).tolist())
        power = (
            _power(part * known * math.sqrt(units) / _spread(simulation, scores, part, seed), units) if part else ALPHA
        )
        results.append(AgainstChance(metric, name, part * known, power, test.p))
    return tuple(results)


def _differences(simulation: Simulation, scores: Array, share: float, papers: int, seed: int) -> tuple[Array, Numbers]:
    """Returns each score minus its chance score, shape (papers, references), and the number of each paper's swap.

    A swap is a group of papers that exchange their reviews. *share*: the share of papers that the candidate knows.
    """
    names = [f"p{index}" for index in range(papers)]
    swaps = moves([Placed(name, name, frozenset((name,)), 1) for name in names], seed)
    index_of = {name: index for index, name in enumerate(names)}
    sources = np.array([index_of[move.source] for move in swaps])
    return _scored(simulation, scores, share, sources, seed), np.array([index_of[move.swap] for move in swaps])


def _scored(simulation: Simulation, scores: Array, share: float, sources: Numbers, seed: int) -> Array:
    """Samples papers and a candidate's reviews of them; returns score minus chance, shape (papers, references).

    *share*: the share of papers that the candidate knows. *sources*: for each paper, the index of the other paper whose
    review gives the chance score.
    """
    papers, elsewhere = (sample_papers(simulation, len(sources), own) for own in (seed, seed + 250_000))
    knows = np.random.default_rng([seed, 4]).random(len(sources)) < share
    reviews = np.where(knows, papers.candidates[:, 0], elsewhere.candidates[:, 0])
    return _scores_of(scores, papers, reviews) - _scores_of(scores, papers, reviews[sources])


def _scores_of(scores: Array, papers: Papers, reviews: Numbers) -> Array:
    """Returns the scores of *reviews* on the references of *papers*, shape (papers, references)."""
    synopses = papers.synopses if len(scores) > 1 else np.zeros_like(papers.synopses)
    return np.asarray(scores[synopses[:, None], reviews[:, None], papers.references])


def _spread(simulation: Simulation, scores: Array, share: float, seed: int) -> float:
    """Returns the standard deviation of the mean score above chance of a swap, from `PROBED` sampled papers.

    Each swap here consists of two papers that exchange their reviews.
    """
    sources = np.arange(PROBED) ^ 1
    differences = _scored(simulation, scores, share, sources, seed + 750_000)
    return float(differences.reshape(PROBED // 2, -1).mean(axis=1).std(ddof=1))


def _needed(units: int) -> float:
    """Returns the effect that Student's test over *units* independent values finds with probability `POWER`.

    The effect is in standard errors of the mean.
    """
    from scipy.stats import t

    return float(t.ppf(1 - ALPHA / 2, units - 1) + t.ppf(POWER, units - 1))


def _power(shift: float, units: int) -> float:
    """Returns the power of Student's two-sided test over *units* independent values.

    *shift*: the true effect, in standard errors of the mean.
    """
    from scipy.stats import nct, t

    edge = t.ppf(1 - ALPHA / 2, units - 1)
    return float(nct.sf(edge, units - 1, shift) + nct.cdf(-edge, units - 1, shift))
