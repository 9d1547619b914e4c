"""Correlation of a score with human grades, where items come in groups: the reviews of one proposal, for example.

Three functions ask whether the score follows the grade: over all items (`correlate`), among the items of one group
(`within_groups`), and with text length held fixed (`partial`).

Items of one group describe the same thing, so the bootstrap resamples whole groups. The interval is z ± t·se on
Fisher's scale, where z = artanh r. Here se is the standard deviation of z over the resamples, times √(G/(G − 1)) for G
groups. t is Student's quantile with G − 1 degrees of freedom. The bootstrap assumes no formula for se, so the same
interval serves Pearson, Spearman, Kendall and partial coefficients.

In a simulation with 30 groups of similar items, this interval covers the true value in 95% of cases, as it should. The
percentile interval of the resampled coefficients covers it in 92%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.stats.association import Estimate, Kind, association, within
from gre_bench.stats.resampling import weights
from gre_bench.stats.samples import Array, Indices, finite, group_indices

NEARLY_ONE = 1 - 1e-6
"""Correlations are cut here, because Fisher's z is infinite at 1."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation coefficient with its interval and p-values.

    - *kind*: the coefficient. *value*: its estimate.
    - *low*, *high*, *p*: the interval and the two-sided p-value, by resampling groups.
    - *flat_p*: SciPy's p-value, which treats items as independent. It is None for correlations within groups and for
      partial correlations.
    - *items*, *groups*: the numbers of items and of groups.
    """

    kind: Kind
    value: float
    low: float
    high: float
    p: float
    flat_p: float | None
    items: int
    groups: int


def correlate(
    kind: Kind,
    scores: Sequence[float],
    grades: Sequence[float],
    groups: Sequence[object],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Correlation:
    """Returns the correlation of *scores* with *grades* over all items.

    - *scores*, *grades* (n,): one number per item.
    - *groups* (n,): the group of each item. Whole groups are resampled.
    - *level*: the coverage of the interval.
    - *resamples*, *seed*: the number of resamples and the seed of the bootstrap.

    Raises ValueError if the scores or the grades do not vary, for fewer than three items, or for fewer than two groups.
    """
    from scipy import stats

    x, y = same_length(scores, grades)
    names, size = group_indices(groups, len(x))
    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    estimated = _by_group(kind, association(kind, x, y, names, size), len(x), size, level, resamples, seed)
    return Correlation(kind, *estimated, float(test(x, y)[1]), len(x), size)


def within_groups(
    kind: Kind,
    scores: Sequence[float],
    grades: Sequence[float],
    groups: Sequence[object],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Correlation:
    """Returns the correlation of *scores* with *grades* among items of the same group, pooled over groups.

    Differences between groups, such as easy against hard papers, thus have no influence. `association.within` has the
    formulas. The parameters are those of `correlate`. The result's *items* and *groups* count only groups in which both
    the scores and the grades vary. Raises ValueError for fewer than two such groups.
    """
    x, y = same_length(scores, grades)
    names, size = group_indices(groups, len(x))
    telling = _varies(x, names, size) & _varies(y, names, size)
    if telling.sum() < 2:
        raise ValueError("a correlation within groups needs two groups whose scores and grades differ")
    kept = telling[names]
    x, y, (names, size) = x[kept], y[kept], group_indices(names[kept].tolist(), int(kept.sum()))
    estimated = _by_group(kind, within(kind, x, y, names, size), len(x), size, level, resamples, seed)
    return Correlation(kind, *estimated, None, len(x), size)


def partial(
    kind: Kind,
    scores: Sequence[float],
    grades: Sequence[float],
    given: Sequence[float],
    groups: Sequence[object],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Correlation:
    """Returns the partial correlation of *scores* and *grades* with a third variable, *given*, held fixed.

    *given* (n,) is for example the logarithm of each text's length. The other parameters are those of `correlate`.

    The partial correlation is (a − bc)/√((1 − b²)(1 − c²)). Here a is the correlation of scores and grades, b that of
    scores and *given*, and c that of grades and *given*. All three are coefficients of the chosen *kind*. For Kendall,
    this is Kendall's own formula (1942).
    """
    x, y = same_length(scores, grades)
    z, _ = same_length(given, grades)
    names, size = group_indices(groups, len(x))
    a, b, c = (association(kind, a_values, b_values, names, size) for a_values, b_values in ((x, y), (x, z), (y, z)))

    def estimate(counts: Array) -> Array:
        r, s, t = a(counts), b(counts), c(counts)
        left = (1 - s**2) * (1 - t**2)
        return np.asarray(np.clip((r - s * t) / np.sqrt(np.where(left > 1e-9, left, np.nan)), -1.0, 1.0))

    estimated = _by_group(kind, estimate, len(x), size, level, resamples, seed)
    return Correlation(kind, *estimated, None, len(x), size)


def same_length(scores: Sequence[float] | Array, grades: Sequence[float] | Array) -> tuple[Array, Array]:
    """Checks *scores* and *grades*, and returns them as arrays (n,).

    Raises ValueError if their lengths differ, if there are fewer than three, or if a number is not finite.
    """
    x, y = finite(scores, at_least=3), finite(grades, at_least=3)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} scores but {len(y)} grades")
    return x, y


def resampled(estimate: Estimate, size: int, resamples: int, seed: int) -> tuple[float, Array]:
    """Returns the coefficient of the sample itself, and the coefficients of *resamples* bootstrap resamples.

    - *estimate*: the function from counts of groups to coefficients, as `association` returns it.
    - *size*: the number of groups.

    Resamples without a finite coefficient are left out. Raises ValueError if these are more than half. Also raises
    ValueError for fewer than two groups, or if the coefficient of the sample itself is undefined.
    """
    if size < 2:
        raise ValueError("an interval by group needs at least two groups")
    value = float(estimate(np.ones((1, size)))[0])
    if not math.isfinite(value):
        raise ValueError("no correlation: the scores or the grades do not vary, or not with length held fixed")
    drawn = np.concatenate([estimate(block) for block in weights(size, resamples, seed)])
    drawn = drawn[np.isfinite(drawn)]
    if 2 * len(drawn) < resamples:
        raise ValueError("too few groups whose scores and grades vary for an interval")
    return value, drawn


def _varies(values: Array, names: Indices, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns for each group whether its values differ, as an array (size,).

    *names* (n,) holds the index of the group of each of the *values* (n,), and *size* is the number of groups.
    """
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, names, values)
    np.maximum.at(high, names, values)
    return np.asarray(high > low)


def _by_group(
    kind: Kind, estimate: Estimate, items: int, size: int, level: float, resamples: int, seed: int
) -> tuple[float, float, float, float]:
    """Returns a coefficient, both ends of its interval at *level*, and its two-sided p-value, by resampling groups.

    *estimate*: the function from counts of groups to coefficients, as `association` returns it. *size*: the number of
    groups.
    """
    from scipy.special import stdtr, stdtrit

    value, drawn = resampled(estimate, size, resamples, seed)
    z = math.atanh(float(np.clip(value, -NEARLY_ONE, NEARLY_ONE)))
    spread = float(np.arctanh(np.clip(drawn, -NEARLY_ONE, NEARLY_ONE)).std(ddof=1)) * math.sqrt(size / (size - 1))
    half = float(stdtrit(size - 1, 0.5 + level / 2)) * spread
    p = 2 * float(stdtr(size - 1, -abs(z) / spread)) if spread else float(value == 0)
    return value, min(value, math.tanh(z - half)), max(value, math.tanh(z + half)), p
