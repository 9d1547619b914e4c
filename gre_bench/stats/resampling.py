"""The bootstrap by group: how often each resample holds each group, seeded, in blocks of bounded memory.

A resample of G groups is a row of G counts that sum to G. A statistic made of sums over groups needs only these counts:
one product, ``weights @ sums``, gives the sums of all resamples in a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gre_bench.stats.samples import Array

BLOCK = 1 << 21
"""Largest number of weights in a block (16 MiB)."""


def weights(groups: int, resamples: int, seed: int) -> Iterator[Array]:
    """Yields *resamples* rows of multinomial counts over *groups*, in blocks (rows, groups).

    Equal arguments give equal rows, so statistics with the same number of groups and the same seed use the same
    resamples.
    """
    rows = max(1, BLOCK // groups)
    for number, first in enumerate(range(0, resamples, rows)):
        yield _block(groups, min(rows, resamples - first), seed, number)


@lru_cache(maxsize=4)
def _block(groups: int, rows: int, seed: int, number: int) -> Array:
    random = np.random.default_rng([seed, number])
    drawn = random.integers(groups, size=(rows, groups)) + groups * np.arange(rows)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=rows * groups).reshape(rows, groups).astype(np.float64)
    counts.flags.writeable = False
    return counts


def equal_tailed(drawn: Array, level: float) -> tuple[float, float]:
    """Returns the quantiles of the resampled values *drawn* that leave (1 − level)/2 on either side."""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def two_sided(drawn: Array, observed: float) -> float:
    """Returns a two-sided p-value: twice the share of *drawn* at or below *observed*, or at or above, if smaller.

    *drawn* holds resampled values. *observed* counts as one of these, so the result is never 0.
    """
    above, below = int((drawn >= observed).sum()), int((drawn <= observed).sum())
    return min(1.0, 2 * (1 + min(above, below)) / (1 + len(drawn)))
