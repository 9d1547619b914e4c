"""How close ratings come to the mean human rating of the same papers: RMSE, bias and Spearman's correlation.

For the rating r and the human mean h of each paper:

    RMSE  √(mean (r − h)²); lower is better (the guideline paper, §2)
    bias  mean (r − h)

The paper prints no intervals. Ours cover 95%, with papers as the unit:

- RMSE: the studentised bootstrap of log MSE, because plain percentiles cover only 92% at 120 papers.
- difference of two RMSE: percentiles of the bootstrap.
- bias: Student's t.
- Spearman's correlation: see `gre_bench.stats.correlation`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gre_bench.stats import clustered_interval, paired_test
from gre_bench.stats.correlation import correlate
from gre_bench.stats.effects import holm
from gre_bench.stats.samples import Array, equal_tailed, finite, weights

LEVEL = 0.95
RESAMPLES = 10_000
FEWEST = 3
"""The fewest papers for which results are computed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close ratings come to the mean human ratings of the same *papers*.

    - *rmse*, *bias*, *mae*: the root mean square, the mean and the mean absolute value of rating minus human mean.
    - *spearman*, *spearman_p*: the rank correlation and its p-value; None if the ratings or the human means vary too
      little for an interval.
    """

    papers: int
    rmse: Estimate
    bias: Estimate
    mae: float
    spearman: Estimate | None
    spearman_p: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference in RMSE between two conditions, over the papers rated under both.

    - *papers*: the number of these papers.
    - *rmse*: the RMSE of *first* minus that of *second*, with its 95% interval.
    - *p*: the p-value of the test that both mean squared errors are equal; None if no paper's error differs.
    - *p_holm*: *p* after Holm's correction over all differences of the same call.
    """

    first: str
    second: str
    papers: int
    rmse: Estimate
    p: float | None
    p_holm: float | None = None


def closeness(
    ratings: Sequence[float], human: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> Closeness | None:
    """Compares *ratings* with *human*, the mean human ratings of the same papers in the same order.

    *resamples* and *seed* set the number of bootstrap resamples and their seed. Returns None for fewer than `FEWEST`
    papers. Raises ValueError if the two lists differ in length.
    """
    if len(ratings) != len(human):
        raise ValueError(f"{len(ratings)} ratings but {len(human)} human means")
    if len(ratings) < FEWEST:
        return None
    given, means = finite(ratings, FEWEST), finite(human, FEWEST)
    errors = given - means
    middle = clustered_interval(errors.tolist(), range(len(errors)), LEVEL)
    bias = Estimate(middle.value, middle.low, middle.high)
    spearman, p = None, None
    if np.ptp(given) and np.ptp(means):
        try:
            rank = correlate("spearman", given.tolist(), means.tolist(), range(len(given)), LEVEL, resamples, seed)
            spearman, p = Estimate(rank.value, rank.low, rank.high), rank.p
        except ValueError:  # too few papers whose ratings differ for an interval
            pass
    return Closeness(len(errors), rmse(errors, resamples, seed), bias, float(np.abs(errors).mean()), spearman, p)


def rmse(errors: Array, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Returns the root mean square of *errors* (one per paper) with its 95% interval.

    If all squared errors are equal, both ends of the interval equal the value.
    """
    squares = errors**2
    size, value = len(squares), float(squares.mean())
    spread = float(squares.std(ddof=1)) / math.sqrt(size)
    if spread <= 1e-12 * value or not value:
        return Estimate(math.sqrt(value), math.sqrt(value), math.sqrt(value))
    drawn = []
    for counts in weights(size, resamples, seed):
        mean = counts @ squares / size
        error = np.sqrt(np.maximum(counts @ squares**2 / size - mean**2, 0.0) / (size - 1))
        usable = error > 1e-9 * mean
        drawn.append(np.log(mean[usable] / value) * mean[usable] / error[usable])
    low, high = equal_tailed(np.concatenate(drawn), LEVEL)
    return Estimate(math.sqrt(value), *(math.sqrt(value * math.exp(-t * spread / value)) for t in (high, low)))


def differences(
    ratings: Mapping[str, Mapping[str, float]], human: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> list[Difference]:
    """Returns the difference between every two conditions of *ratings* (condition → paper → rating).

    *human* holds the mean human rating of each paper. A comparison uses the papers with a human mean and a rating under
    both conditions. Pairs of conditions with fewer than `FEWEST` such papers are left out.

    The p-value is that of Student's test on the papers' differences of squared error, with Holm's correction over all
    pairs of conditions.
    """
    results = []
    for first, second in combinations(ratings, 2):
        common = [paper for paper in ratings[first] if paper in ratings[second] and paper in human]
        size = len(common)
        if size < FEWEST:
            continue
        own, other = (
            np.array([ratings[name][paper] - human[paper] for paper in common]) ** 2 for name in (first, second)
        )
        drawn = [
            np.sqrt(counts @ own / size) - np.sqrt(counts @ other / size) for counts in weights(size, resamples, seed)
        ]
        value = math.sqrt(float(own.mean())) - math.sqrt(float(other.mean()))
        interval = equal_tailed(np.concatenate(drawn), LEVEL)
        p = paired_test((own - other).tolist()).p
        results.append(Difference(first, second, size, Estimate(value, *interval), None if math.isnan(p) else p))
    adjusted = iter(holm([item.p for item in results if item.p is not None]))
    return [item if item.p is None else replace(item, p_holm=next(adjusted)) for item in results]
