"""Is one score closer to the human grades than another? The difference of two correlations with the same grades.

The two correlations share the grades, so they depend on each other. The bootstrap therefore computes both on the same
resamples of groups, and takes their difference in each resample.

The result also has Williams' t (1959), which Steiger (1980, eq. 7) recommends. Williams' t assumes independent items
and normal variables:

    t = (r₁ − r₂)·√( (n − 1)(1 + r₁₂) / (2·(n − 1)/(n − 3)·|R| + r̄²·(1 − r₁₂)³) ), n − 3 degrees of freedom,
    |R| = 1 − r₁² − r₂² − r₁₂² + 2·r₁r₂r₁₂, r̄ = (r₁ + r₂)/2.

r₁ and r₂ are the correlations of the two scores with the grades. r₁₂ is the correlation between the two scores, and n
is the number of items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.association import Kind, association
from gre_bench.stats.correlation import resampled, same_length
from gre_bench.stats.samples import Array, group_indices


@dataclass(frozen=True, slots=True)
class Comparison:
    """The correlations of two scores with the same grades, and the difference of the two correlations.

    - *kind*: the coefficient.
    - *first*, *second*: the correlation of the first and of the second score with the grades.
    - *difference*: *first* less *second*.
    - *low*, *high*, *p*: the interval of *difference* and its two-sided p-value, by resampling groups.
    - *williams_t*, *williams_p*: Williams' t and its p-value. They are None for Kendall's tau, which the formula does
      not cover.
    - *items*, *groups*: the numbers of items and of groups.
    """

    kind: Kind
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    williams_t: float | None
    williams_p: float | None
    items: int
    groups: int


def compare(
    kind: Kind,
    first: Sequence[float],
    second: Sequence[float],
    grades: Sequence[float],
    groups: Sequence[object],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compares how closely two scores, *first* and *second*, follow the *grades* of the same items.

    - *first*, *second*, *grades* (n,): one number per item.
    - *groups* (n,): the group of each item. Whole groups are resampled.
    - *level*: the coverage of the interval.
    - *resamples*, *seed*: the number of resamples and the seed of the bootstrap.

    The interval is difference ± t·se. Here se is the standard deviation of the difference over resamples, times √(G/(G
    − 1)) for G groups. t is Student's quantile with G − 1 degrees of freedom. For Spearman, Williams' t is an
    approximation on ranks.
    """
    from scipy.special import stdtr, stdtrit

    x, y = same_length(first, grades)
    z, _ = same_length(second, grades)
    names, size = group_indices(groups, len(x))
    of_first, of_second, between = (association(kind, a, b, names, size) for a, b in ((x, y), (z, y), (x, z)))

    def estimate(counts: Array) -> Array:
        return np.asarray(of_first(counts) - of_second(counts))

    value, drawn = resampled(estimate, size, resamples, seed)
    spread = float(drawn.std(ddof=1)) * math.sqrt(size / (size - 1))
    half = float(stdtrit(size - 1, 0.5 + level / 2)) * spread
    p = 2 * float(stdtr(size - 1, -abs(value) / spread)) if spread else float(value == 0)
    all_once = np.ones((1, size))
    r1, r2, r12 = (float(coefficient(all_once)[0]) for coefficient in (of_first, of_second, between))
    t, williams_p = (None, None) if kind == "kendall" else williams(r1, r2, r12, len(x))
    return Comparison(kind, r1, r2, value, value - half, value + half, p, t, williams_p, len(x), size)


def williams(first: float, second: float, between: float, items: int) -> tuple[float, float]:
    """Returns Williams' t and its two-sided p-value for two correlations that share a variable, such as the grades.

    - *first*: the correlation of the first score with the grades.
    - *second*: the correlation of the second score with the grades.
    - *between*: the correlation of the two scores.
    - *items*: the number of items.

    Raises ValueError for fewer than four items, or for correlations so close to 1 that t is undefined.
    """
    from scipy.special import stdtr

    if items < 4:
        raise ValueError("Williams' test needs at least four items")
    if first == second:
        return 0.0, 1.0
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    mean = (first + second) / 2
    left = 2 * (items - 1) / (items - 3) * max(0.0, determinant) + mean**2 * (1 - between) ** 3
    if left <= 0:
        raise ValueError("Williams' test has no value for correlations as perfect as these")
    t = (first - second) * math.sqrt((items - 1) * (1 + between) / left)
    return t, 2 * float(stdtr(items - 3, -abs(t)))
