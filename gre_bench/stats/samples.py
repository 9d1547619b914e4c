"""Checks the input of a statistic: there must be enough numbers, each must be finite, and each must belong to a group.

The module also yields seeded bootstrap resamples of whole groups as counts, in blocks of bounded memory.

A resample of G groups is a row of G counts that add up to G: how often the resample contains each group. Many
statistics need only sums over groups. One product, ``counts @ sums``, then gives these sums for all resamples in a
block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Indices = np.ndarray[Any, np.dtype[np.intp]]
Values = Sequence[float]
Keys = Sequence[object]


def check_finite(values: Values | Array, at_least: int) -> Array:
    """Returns *values* as an array (n,).

    Args:
        values: (n,) numbers in any unit.
        at_least: the smallest number of values that is allowed.

    Raises:
        ValueError: there are fewer than *at_least* values, or one is NaN or infinite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) < at_least:
        raise ValueError(f"needs at least {at_least} values, got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError("a value is not finite")
    return numbers


def group_indices(groups: Keys, length: int) -> tuple[Indices, int]:
    """Returns the index of each value's group, as an array (length,), and the number of groups.

    Groups are numbered in order of their first appearance.

    Args:
        groups: (length,) a label for each value; equal labels mean the same group.
        length: the number of values.

    Raises:
        ValueError: *groups* does not have *length* labels.
    """
    if len(groups) != length:
        raise ValueError(f"{length} values but {len(groups)} groups")
    names = {name: index for index, name in enumerate(dict.fromkeys(groups))}
    return np.array([names[name] for name in groups], dtype=np.intp), len(names)


def sum_cells(values: Array, rows: Indices, size: int, columns: Indices, number: int) -> tuple[Array, Array]:
    """Returns the sum and the count of the *values* in each cell of a table, as two arrays (size, number).

    Args:
        values: (n,) numbers in any unit.
        rows: (n,) the row of each value, below *size*.
        size: the number of rows.
        columns: (n,) the column of each value, below *number*.
        number: the number of columns.
    """
    cells = rows * number + columns
    sums = np.bincount(cells, weights=values, minlength=size * number).reshape(size, number)
    counts = np.bincount(cells, minlength=size * number).astype(np.float64).reshape(size, number)
    return np.asarray(sums, dtype=np.float64), counts


def divide_or_default(sums: Array, counts: Array, otherwise: float = np.nan) -> Array:
    """Returns *sums* divided by *counts*; *otherwise* where a count is zero."""
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, otherwise), where=counts > 0))


BLOCK = 1 << 21
"""The largest number of counts in a block (16 MiB)."""


def draw_bootstrap_counts(groups: int, resamples: int, seed: int) -> Iterator[Array]:
    """Yields blocks (rows, groups) of bootstrap counts; a row says how often one resample contains each group.

    Equal arguments give equal rows, so statistics with the same number of groups and the same seed use the same
    resamples.

    Args:
        groups: the number of groups.
        resamples: the number of rows in all blocks together.
        seed: the seed of the random choices.
    """
    rows = max(1, BLOCK // groups)
    for number, first in enumerate(range(0, resamples, rows)):
        yield _draw_count_block(groups, min(rows, resamples - first), seed, number)


@lru_cache(maxsize=4)
def _draw_count_block(groups: int, rows: int, seed: int, number: int) -> Array:
    random = np.random.default_rng([seed, number])
    drawn = random.integers(groups, size=(rows, groups)) + groups * np.arange(rows)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=rows * groups).reshape(rows, groups).astype(np.float64)
    counts.flags.writeable = False
    return counts


def equal_tailed_quantiles(drawn: Array, level: float) -> tuple[float, float]:
    """Returns the quantiles (1 − level)/2 and (1 + level)/2 of resampled values, in their unit.

    Args:
        drawn: (resamples,) the value of each resample.
        level: the share of the values between the two quantiles.
    """
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
