"""How close ratings come to the mean human rating of the same papers: RMSE, bias, Spearman, with intervals by paper.

RMSE = √(mean (r − h)²) over papers ("Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer
Review", §2; lower is better); bias = mean (r − h). The paper prints neither intervals nor tests. Here: percentiles
of the bootstrap by paper, 95%, the same resamples for all conditions of the same number of papers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.stats import paired_test
from tasks.stats.effects import holm
from tasks.stats.resampling import equal_tailed, weights
from tasks.stats.samples import Array, finite

LEVEL = 0.95
RESAMPLES = 10_000
FEWEST = 3
"""Papers below which nothing is computed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95% interval; *low* and *high* are None where there is none."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Closeness:
    """Ratings against human means over *papers*; *spearman* is None where all ratings, or all means, are equal."""

    papers: int
    rmse: Estimate
    bias: Estimate
    mae: float
    spearman: Estimate | None
    spearman_p: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """RMSE of *first* less that of *second* over the *papers* that both rate; *p* tests the mean squared errors.

    *p_holm* is corrected for all differences of the same call; None where no paper's error differs.
    """

    first: str
    second: str
    papers: int
    rmse: Estimate
    p: float | None
    p_holm: float | None


def closeness(
    ratings: Sequence[float], human: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> Closeness | None:
    """*ratings* against the mean *human* ratings of the same papers, in the same order; None under three papers."""
    if len(ratings) < FEWEST:
        return None
    given, means = finite(ratings, FEWEST), finite(human, FEWEST)
    if len(given) != len(means):
        raise ValueError(f"{len(given)} ratings but {len(means)} human means")
    error = given - means
    squares, sums = (np.concatenate([block @ part for block in weights(len(error), resamples, seed)])
                     for part in (error**2, error))  # fmt: skip
    rmse = Estimate(math.sqrt(float((error**2).mean())), *equal_tailed(np.sqrt(squares / len(error)), LEVEL))
    bias = Estimate(float(error.mean()), *equal_tailed(sums / len(error), LEVEL))
    rho, p = _spearman(given, means, resamples, seed)
    return Closeness(len(error), rmse, bias, float(np.abs(error).mean()), rho, p)


def differences(
    ratings: Mapping[str, Mapping[str, float]], human: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> list[Difference]:
    """Each pair of the *ratings* (by name, then paper) on the papers that both rate and that have a *human* mean.

    The test is Student's on the papers' differences of squared error, with Holm's correction over all pairs.
    """
    names, found = list(ratings), []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            common = [paper for paper in ratings[first] if paper in ratings[second] and paper in human]
            if len(common) < FEWEST:
                continue
            errors = [
                np.array([ratings[name][paper] - human[paper] for paper in common]) ** 2 for name in (first, second)
            ]
            found.append(_difference(first, second, *errors, resamples, seed))
    tested = [item for item in found if item.p is not None]
    corrected = dict(zip(map(id, tested), holm([item.p for item in tested]) if tested else [], strict=True))
    return [
        Difference(item.first, item.second, item.papers, item.rmse, item.p, corrected.get(id(item))) for item in found
    ]


def _difference(first: str, second: str, one: Array, other: Array, resamples: int, seed: int) -> Difference:
    size = len(one)
    drawn = [np.sqrt(block @ one / size) - np.sqrt(block @ other / size) for block in weights(size, resamples, seed)]
    value = math.sqrt(float(one.mean())) - math.sqrt(float(other.mean()))
    p = paired_test(one - other).p
    return Difference(first, second, size, Estimate(value, *equal_tailed(np.concatenate(drawn), LEVEL)),
                      None if math.isnan(p) else p, None)  # fmt: skip


def _spearman(given: Array, means: Array, resamples: int, seed: int) -> tuple[Estimate | None, float | None]:
    """Spearman's rho (ties get mid-ranks) with its interval, and the p-value of Student's approximation."""
    from scipy.stats import spearmanr

    if np.ptp(given) == 0 or np.ptp(means) == 0:
        return None, None
    rho = spearmanr(given, means)
    drawn = np.concatenate([_resampled_rho(given, means, block) for block in weights(len(given), resamples, seed)])
    drawn = drawn[np.isfinite(drawn)]
    low, high = equal_tailed(drawn, LEVEL) if len(drawn) >= 0.99 * resamples else (None, None)
    return Estimate(float(rho.statistic), low, high), float(rho.pvalue)


def _resampled_rho(given: Array, means: Array, counts: Array) -> Array:
    """Rho of each resample (rows, papers): correlation of mid-ranks, found by counting each value's papers."""
    x, y = _midranks(given, counts), _midranks(means, counts)
    size = counts.shape[1]
    x, y = x - (size + 1) / 2, y - (size + 1) / 2
    covariance, spread = (counts * x * y).sum(1), (counts * x**2).sum(1) * (counts * y**2).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 1e-9, covariance / np.sqrt(spread), np.nan)


def _midranks(values: Array, counts: Array) -> Array:
    """The rank of each paper's value within each resample (rows, papers); ties share the middle of their ranks."""
    distinct, place = np.unique(values, return_inverse=True)
    there = counts @ (place[:, None] == np.arange(len(distinct))).astype(np.float64)
    return (there.cumsum(1) - (there - 1) / 2)[:, place]
