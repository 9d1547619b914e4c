"""How close ratings come to the mean human rating of the same papers: RMSE, bias, Spearman, with intervals by paper.

RMSE = √(mean (r − h)²) over papers ("Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer
Review", §2; lower is better); bias = mean (r − h). The paper prints no intervals. Ours are 95% intervals. The bias uses
Student's t. The RMSE uses the studentised bootstrap by paper on the scale of log MSE, because percentiles of RMSE*
cover only 92% at 120 papers. Spearman uses `gre_bench.stats.correlation`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats import clustered_interval
from gre_bench.stats.correlation import correlate
from gre_bench.stats.resampling import equal_tailed, weights
from gre_bench.stats.samples import Array, finite

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
    """Ratings compared with human means over *papers*, the number of papers that have both.

    *spearman* is None if either varies too little for an interval. *mae*: mean absolute error.
    """

    papers: int
    rmse: Estimate
    bias: Estimate
    mae: float
    spearman: Estimate | None
    spearman_p: float | None


def closeness(
    ratings: Sequence[float], human: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> Closeness | None:
    """Compares *ratings* with the mean *human* ratings of the same papers, in the same order.

    *resamples* and *seed* are those of the bootstrap. Returns None for fewer than `FEWEST` papers. Raises ValueError if
    the two differ in length.
    """
    if len(ratings) != len(human):
        raise ValueError(f"{len(ratings)} ratings but {len(human)} human means")
    if len(ratings) < FEWEST:
        return None
    given, means = finite(ratings, FEWEST), finite(human, FEWEST)
    errors = given - means
    middle = clustered_interval(errors.tolist(), range(len(errors)), LEVEL)
    bias = Estimate(middle.value, middle.low, middle.high)
    mae = float(np.abs(errors).mean())
    return Closeness(len(errors), rmse(errors, resamples, seed), bias, mae, *_spearman(given, means, resamples, seed))


def rmse(errors: Array, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Returns the root mean square of *errors* (papers,) with its interval; both ends equal it if no square differs."""
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


def _spearman(given: Array, means: Array, resamples: int, seed: int) -> tuple[Estimate | None, float | None]:
    if np.ptp(given) == 0 or np.ptp(means) == 0:
        return None, None
    try:
        correlation = correlate("spearman", given.tolist(), means.tolist(), range(len(given)), LEVEL, resamples, seed)
    except ValueError:  # too few papers whose ratings differ for an interval
        return None, None
    return Estimate(correlation.value, correlation.low, correlation.high), correlation.p
