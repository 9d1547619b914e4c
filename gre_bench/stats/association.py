"""Pearson, Spearman and Kendall's tau-b for many resamples at once, where whole groups of items are resampled.

`build_association` and `build_association_within_groups` take the values x and y of n items, and the group of each
item. They return a function from counts to coefficients. The counts, shape (resamples, groups), say how often each
resample contains each group. There is one coefficient for each resample, in which each item counts as often as its
group. The coefficient is NaN if x or y does not vary in the resample.

How the coefficients follow from the counts:

- Pearson needs the sums of x, y, xy, x² and y² over each group.
- Spearman is Pearson on midranks. The midranks in a resample follow from cumulative counts, in the order of the values.
- Kendall is a ratio of quadratic forms in the counts, each with a matrix (groups, groups). Entry (g, h) of a matrix
  counts pairs that consist of an item of group g and an item of group h. In the numerator's matrix, it is the number of
  concordant pairs less the number of discordant pairs. The denominator has two matrices: one counts the pairs that
  differ in x, the other the pairs that differ in y.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from gre_bench.stats.samples import Array, Indices

Kind = Literal["pearson", "spearman", "kendall"]
Estimate = Callable[[Array], Array]
"""Counts (resamples, groups) → one number for each resample."""

CELLS = 1 << 22
"""The largest number of elements in an intermediate array (32 MiB)."""


def build_association(kind: Kind, x: Array, y: Array, groups: Indices, size: int) -> Estimate:
    """Returns a function that computes the coefficient *kind* of *x* and *y* in each of many resamples.

    Args:
        kind: which coefficient.
        x: (n,) one value per item, in any unit.
        y: (n,) the other value of each item, in any unit.
        groups: (n,) the index of each item's group, below *size*.
        size: the number of groups.

    Returns:
        A function from counts (resamples, size) to coefficients (resamples,) between −1 and 1. The counts say how often
        each resample contains each group.
    """
    return {"pearson": _build_pearson, "spearman": _build_spearman, "kendall": _build_kendall}[kind](x, y, groups, size)


def build_association_within_groups(kind: Kind, x: Array, y: Array, groups: Indices, size: int) -> Estimate:
    """Returns the same as `build_association`, but within groups: items of different groups are never compared.

    A group adds nothing if its items are all equal in *x* and all equal in *y*.

    - Pearson is computed from each value less the mean of its group.
    - Spearman is computed from each item's midrank within its group, divided by the group's size + 1. The group's mean
      of these quotients is subtracted. The division makes the weight of a group proportional to its number of items.
    - Kendall is the number of concordant pairs less the number of discordant pairs, among pairs of items of one group.
      The difference is divided by √(number of pairs that differ in *x* · number of pairs that differ in *y*).

    Args:
        kind: which coefficient.
        x: (n,) one value per item, in any unit.
        y: (n,) the other value of each item, in any unit.
        groups: (n,) the index of each item's group, below *size*.
        size: the number of groups.

    Returns:
        A function from counts (resamples, size) to coefficients (resamples,) between −1 and 1. The counts say how often
        each resample contains each group. A coefficient is NaN if *x* or *y* does not vary within the groups of the
        resample.
    """
    if kind == "kendall":
        sums = np.stack(
            [np.diag(_build_concordance_matrix(a, b, groups, size)) for a, b in ((x, y), (x, x), (y, y))], axis=1
        )
    else:
        a, b = (
            _centre_within_groups(_rank_within_groups(v, groups) if kind == "spearman" else v, groups, size)
            for v in (x, y)
        )
        sums = np.stack([np.bincount(groups, weights=v, minlength=size) for v in (a * b, a * a, b * b)], axis=1)
    return lambda counts: _divide_by_spreads(*(counts @ sums).T)


def _build_pearson(x: Array, y: Array, groups: Indices, size: int) -> Estimate:
    a, b = (x - x.mean()) / (x.std() or 1.0), (y - y.mean()) / (y.std() or 1.0)
    columns = (np.ones_like(a), a, b, a * b, a * a, b * b)
    sums = np.stack([np.bincount(groups, weights=column, minlength=size) for column in columns], axis=1)

    def estimate_pearson(counts: Array) -> Array:
        n, ta, tb, ab, aa, bb = (counts @ sums).T
        return _divide_by_spreads(ab - ta * tb / n, aa - ta * ta / n, bb - tb * tb / n)

    return estimate_pearson


def _build_spearman(x: Array, y: Array, groups: Indices, size: int) -> Estimate:
    ranks_of_x, ranks_of_y = _build_midranks(x, groups, size), _build_midranks(y, groups, size)

    def estimate_spearman(counts: Array) -> Array:
        rows = max(1, CELLS // len(x))
        return np.concatenate(
            [estimate_spearman_of_block(counts[first : first + rows]) for first in range(0, len(counts), rows)]
        )

    def estimate_spearman_of_block(counts: Array) -> Array:
        drawn = counts[:, groups]
        middle = (drawn.sum(axis=1, keepdims=True) + 1) / 2
        a, b = ranks_of_x(counts) - middle, ranks_of_y(counts) - middle
        return _divide_by_spreads(*(np.einsum("ri,ri,ri->r", drawn, *pair) for pair in ((a, b), (a, a), (b, b))))

    return estimate_spearman


def _build_kendall(x: Array, y: Array, groups: Indices, size: int) -> Estimate:
    forms = [_build_concordance_matrix(a, b, groups, size) for a, b in ((x, y), (x, x), (y, y))]
    return lambda counts: _divide_by_spreads(*(np.einsum("rg,rg->r", counts @ form, counts) for form in forms))


def _divide_by_spreads(cross: Array, x_spread: Array, y_spread: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = cross / np.sqrt(np.where((x_spread > 1e-9) & (y_spread > 1e-9), x_spread * y_spread, np.nan))
    return np.clip(ratio, -1.0, 1.0)


def _build_midranks(values: Array, groups: Indices, size: int) -> Callable[[Array], Array]:
    """Returns a function from counts (resamples, groups) to the midranks (resamples, n) of *values* in each resample.

    The counts say how often each resample contains each group.
    The midranks of values that a resample does not contain have no meaning.
    """
    distinct, index = np.unique(values, return_inverse=True)
    untied = len(distinct) == len(values)
    owner = groups[np.argsort(values)]
    held = np.zeros((0, 0))
    if not untied:
        cells = np.bincount(groups * len(distinct) + index, minlength=size * len(distinct))
        held = cells.reshape(size, -1).astype(np.float64)

    def ranks(counts: Array) -> Array:
        drawn = counts[:, owner] if untied else counts @ held
        return np.asarray((np.cumsum(drawn, axis=1) - (drawn - 1) / 2)[:, index])

    return ranks


def _build_concordance_matrix(x: Array, y: Array, groups: Indices, size: int) -> Array:
    """Returns a matrix (groups, groups): entry (g, h) is Σ sign(xᵢ − xⱼ)·sign(yᵢ − yⱼ) over i in g and j in h.

    An entry (g, g) thus counts each pair of items twice, as (i, j) and as (j, i).
    """
    order = np.argsort(groups, kind="stable")
    a, b = x[order], y[order]
    starts = np.searchsorted(groups[order], np.arange(size))
    rows = np.empty((len(a), size))
    step = max(1, CELLS // len(a))
    for first in range(0, len(a), step):
        some = slice(first, first + step)
        signs = np.sign(a[some, None] - a) * np.sign(b[some, None] - b)
        rows[some] = np.add.reduceat(signs, starts, axis=1)
    return np.asarray(np.add.reduceat(rows, starts, axis=0))


def _rank_within_groups(values: Array, groups: Indices) -> Array:
    """Returns each value's midrank among the values of its group, divided by the group's size + 1 (n,)."""
    order = np.lexsort((values, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(values[order]) > 0) | (np.diff(ordered) > 0)])
    ends = np.r_[starts[1:], len(values)]
    first = np.searchsorted(ordered, ordered[starts])
    ranks = np.empty_like(values)
    ranks[order] = np.repeat((starts + ends + 1) / 2 - first, ends - starts)
    return np.asarray(ranks / (np.bincount(groups)[groups] + 1))


def _centre_within_groups(values: Array, groups: Indices, size: int) -> Array:
    means = np.bincount(groups, weights=values, minlength=size) / np.bincount(groups, minlength=size)
    return np.asarray(values - means[groups])
