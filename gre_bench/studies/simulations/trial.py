"""Runs one trial in a simulation, and compares its results with the truth.

A trial has intervals that should contain the true information, and scores that garbling must not raise. It also has
tests for scores above chance, which should have their level, and their power at a known effect.

With probability *share* a candidate knows the paper it reviews. Otherwise its review is about another, random paper.
The distribution of the candidate's reviews does not depend on the share. The expected score above chance is therefore
the share times the expected score above chance of a candidate who always knows the paper.

A candidate who always knows the paper scores above chance by the difference of two expected scores. In the first, the
candidate's review and the human review are about one paper. In the second, the candidate's review is independent of the
paper and of the human review.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gre_bench.core.records import Case
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.metrics.cases import Placed, moves
from gre_bench.stats import clustered_interval, clustered_test, flat_interval, paired_test
from gre_bench.studies.simulations.simulation import (
    REFERENCES,
    REVIEWS,
    Array,
    Numbers,
    Papers,
    Simulation,
    all_cases,
    blind_lm,
    conditional_information,
    divergence,
    exact_lm,
    expected_score,
    information,
    noisy_lm,
    random_simulation,
    sample_papers,
)

ScoreCases = Callable[[str, EvaluationLM, Sequence[Case]], list[float]]
"""Metric name (``gem``, ``gem_s_abstract``), LM and cases → values in the cases' order, by the benchmark's scoring."""

METRICS = {"gem": False, "gem_s_abstract": True}
"""Metric under test → whether it uses the synopsis."""

GARBLINGS = 3
LEVEL = 0.90
NOISE = 0.25
"""Share of the wrong channel in the noisy LM."""

BLUR = 1e-9
"""Scores that differ by less than this count as equal, because of rounding."""

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
    units = papers // 2
    share = min(1.0, _needed(units) * _spread(simulation, scores, 0.0, seed) / math.sqrt(units) / known)
    # A swap is a group of papers that exchange their reviews; a paper's chance score is by the review it receives.
    names = [f"p{index}" for index in range(papers)]
    index_of = {name: index for index, name in enumerate(names)}
    swaps = moves([Placed(name, name, frozenset((name,)), 1) for name in names], seed)
    sources = np.array([index_of[move.source] for move in swaps])
    clusters = np.repeat([index_of[move.swap] for move in swaps], REFERENCES).tolist()
    results = []
    parts: tuple[tuple[Literal["knows nothing", "knows something"], float], ...]
    parts = ("knows nothing", 0.0), ("knows something", share)
    for name, part in parts:
        test = clustered_test(_scored(simulation, scores, part, sources, seed).ravel().tolist(), clusters)
        effect, power = part * known, ALPHA
        if part:
            power = _power(effect * math.sqrt(units) / _spread(simulation, scores, part, seed), units)
        results.append(AgainstChance(metric, name, effect, power, test.p))
    return tuple(results)


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
    """Returns the effect, in standard errors, that Student's test over *units* values detects with power `POWER`."""
    from scipy.stats import t

    return float(t.ppf(1 - ALPHA / 2, units - 1) + t.ppf(POWER, units - 1))


def _power(shift: float, units: int) -> float:
    """Returns the power of Student's two-sided test over *units* values; *shift*: the effect in standard errors."""
    from scipy.stats import nct, t

    edge = t.ppf(1 - ALPHA / 2, units - 1)
    return float(nct.sf(edge, units - 1, shift) + nct.cdf(-edge, units - 1, shift))


@dataclass(frozen=True, slots=True)
class Covered:
    """An interval for a *quantity* under a metric, and the quantity's true value; *interval* is its kind."""

    metric: str
    quantity: str
    interval: str
    truth: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high


@dataclass(frozen=True, slots=True)
class Ordered:
    """Expected scores by one LM of the original candidate and of its garblings, in nats.

    - *scores*: first the original candidate's, then those after 1, 2, ... passes through Γ, last that of
      `Simulation.evading`.
    - *allowed*: how much higher a garbled candidate may score than the original one; 0 or the LM's ε.
    - *printed_epsilon*: the ε that Prop. 3.1 prints.
    """

    metric: str
    lm: str
    scores: tuple[float, ...]
    allowed: float
    printed_epsilon: float

    @property
    def excess(self) -> float:
        """Returns the highest score of a garbled candidate minus the original candidate's score, in nats."""
        return max(self.scores[1:]) - self.scores[0]

    @property
    def holds(self) -> bool:
        return self.excess <= self.allowed + BLUR


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of one simulation.

    - *information*: I(X; Y), in nats.
    - *conditional*: I(X; Y | S), in nats.
    - *errors*: metric → how far the exact LM's expected score is from the true information, in nats.
    - *covered*: the intervals, with the true values.
    - *ordered*: the expected scores by each LM.
    - *chance*: the tests for scores above chance.
    """

    seed: int
    information: float
    conditional: float
    errors: dict[str, float]
    covered: tuple[Covered, ...]
    ordered: tuple[Ordered, ...]
    chance: tuple[AgainstChance, ...] = ()


def run_trial(seed: int, papers: int, score: ScoreCases) -> Trial:
    """Compares the scores of sampled *papers* with the known truth; *score* scores as the benchmark does."""
    simulation = random_simulation(seed)
    garbled = [simulation.garbled(steps) for steps in range(GARBLINGS + 1)]
    joints = [simulation.joint(candidate) for candidate in (*garbled, simulation.evading())]
    sampled = sample_papers(simulation, papers, seed, GARBLINGS)
    exact, once = exact_lm(simulation), exact_lm(simulation, garbled[1])
    errors: dict[str, float] = {}
    covered: list[Covered] = []
    ordered: list[Ordered] = []
    chance: list[AgainstChance] = []
    for metric, with_synopsis in METRICS.items():
        table, known_once = score_table(metric, exact, score), score_table(metric, once, score)
        expected = [expected_score(table, joint) for joint in joints]
        inform = conditional_information if with_synopsis else information
        # An LM that knows the garbled candidate's own joint distribution gives its information.
        truth, truth_once = inform(joints[0]), inform(joints[1])
        errors[metric] = max(abs(expected[0] - truth), abs(expected_score(known_once, joints[1]) - truth_once))
        covered += _around(metric, "information", truth, look_up(table, sampled, 0))
        covered += _around(metric, "information, garbled", truth_once, look_up(known_once, sampled, 1))
        if papers >= FEWEST:
            chance += chance_findings(simulation, metric, table, papers, seed)
        difference = (look_up(table, sampled, 1) - look_up(table, sampled, 0)).mean(axis=1)
        test = paired_test(difference.tolist(), LEVEL)
        change = expected[1] - expected[0]
        covered.append(Covered(metric, "garbled − candidate", "paired", change, test.low, test.high))
        ordered.append(Ordered(metric, exact.name, tuple(expected), 0.0, 0.0))
        for lm in (noisy_lm(simulation, NOISE, seed), blind_lm(simulation)):
            scores, away = score_table(metric, lm, score), divergence(simulation, lm, with_synopsis)
            expected_scores = tuple(expected_score(scores, joint) for joint in joints)
            ordered.append(Ordered(metric, lm.name, expected_scores, away.forward, away.printed))
    return Trial(seed, information(joints[0]), conditional_information(joints[0]), errors, (*covered,),
                 (*ordered,), (*chance,))  # fmt: skip


def score_table(metric: str, lm: EvaluationLM, score: ScoreCases) -> Array:
    """Returns the scores by *lm* of every (synopsis, x, y), shape (synopses or 1, reviews, reviews)."""
    values = score(metric, lm, all_cases(METRICS[metric]))
    return np.array(values).reshape(-1, len(REVIEWS), len(REVIEWS))


def look_up(table: Array, papers: Papers, garbled: int) -> Array:
    """Returns the scores of *papers*, whose reviews were *garbled* so often, shape (papers, references)."""
    return _scores_of(table, papers, papers.candidates[:, garbled])


def _around(metric: str, quantity: str, truth: float, scores: Array) -> list[Covered]:
    """Returns the leaderboard's two intervals for the mean of *scores*, together with the true mean *truth*.

    *scores*: shape (papers, references). The first interval treats pairs as independent. The second is clustered by
    paper.
    """
    values, clusters = scores.ravel().tolist(), np.repeat(np.arange(len(scores)), REFERENCES).tolist()
    flat, clustered = flat_interval(values, LEVEL), clustered_interval(values, clusters, LEVEL)
    return [
        Covered(metric, quantity, "flat", truth, flat.low, flat.high),
        Covered(metric, quantity, "by paper", truth, clustered.low, clustered.high),
    ]
