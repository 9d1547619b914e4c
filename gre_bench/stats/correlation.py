"""Correlation of a score with human grades, by groups: the reviews of a proposal, the summaries of a source.

Items of one group describe the same thing, so whole groups are resampled. The interval is z ± t·se on Fisher's scale, z
= artanh r. There, se is the standard deviation of the bootstrap's z* times √(G/(G − 1)), and t is Student's quantile
with G − 1 degrees of freedom. Spearman, Kendall and partial coefficients use the same interval, because the bootstrap
assumes no formula for se. In simulation with 30 groups of similar items, percentiles of r* cover 92% instead of 95%;
this interval covers 95%.

Three functions ask whether the score follows the grade: over all items (`correlate`), within a group (`within_groups`),
and beyond what length explains (`partial`). *flat_p* is the published p-value, which treats items as independent.
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
    """A correlation *value* with its interval (*low*, *high*) and two-sided p-value, by resampling groups.

    *flat_p* is SciPy's p-value for independent items. It is None for correlations within groups and for partial
    correlations. *items* and *groups* are numbers.
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
    """Returns the correlation of *scores* with *grades* over all items; raises ValueError if either does not vary."""
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
    """Returns the correlation among the items of one group, pooled over groups (`association.within`).

    Differences between groups, such as easy against hard or long against short, add nothing. In the result, *items* and
    *groups* count only groups in which both variables vary. Raises ValueError for fewer than two such groups.
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
    """Returns the partial correlation of *scores* and *grades* with *given* (such as log length) held fixed.

    The partial correlation is (a − bc)/√((1 − b²)(1 − c²)). Here a is the correlation of scores and grades, b of
    *given* and scores, and c of *given* and grades. For Spearman, all three are on ranks. For Kendall, this is
    Kendall's own formula (1942).
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
    """Returns *scores* and *grades* as arrays (n,) of finite numbers.

    Raises ValueError for different lengths or fewer than three items.
    """
    x, y = finite(scores, at_least=3), finite(grades, at_least=3)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} scores but {len(y)} grades")
    return x, y


def resampled(estimate: Estimate, size: int, resamples: int, seed: int) -> tuple[float, Array]:
    """Returns the coefficient of the sample itself, and the finite coefficients of *resamples* resamples.

    *estimate* computes coefficients from counts of groups; the sample has *size* groups.

    Raises ValueError for fewer than two groups, or if the sample itself has no coefficient. Also raises it if fewer
    than half of the resamples have one.
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
    """Returns for each of *size* groups whether its *values* differ.

    *names* (n,) holds the index of each value's group.
    """
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, names, values)
    np.maximum.at(high, names, values)
    return np.asarray(high > low)


def _by_group(
    kind: Kind, estimate: Estimate, items: int, size: int, level: float, resamples: int, seed: int
) -> tuple[float, float, float, float]:
    """Returns the coefficient that *estimate* gives, both ends of its interval, and its two-sided p-value."""
    from scipy.special import stdtr, stdtrit

    value, drawn = resampled(estimate, size, resamples, seed)
    z = math.atanh(float(np.clip(value, -NEARLY_ONE, NEARLY_ONE)))
    spread = float(np.arctanh(np.clip(drawn, -NEARLY_ONE, NEARLY_ONE)).std(ddof=1)) * math.sqrt(size / (size - 1))
    half = float(stdtrit(size - 1, 0.5 + level / 2)) * spread
    p = 2 * float(stdtr(size - 1, -abs(z) / spread)) if spread else float(value == 0)
    return value, min(value, math.tanh(z - half)), max(value, math.tanh(z + half)), p
