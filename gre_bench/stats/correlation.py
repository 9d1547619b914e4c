"""Correlation of a score with human grades, where items come in groups: the reviews of one proposal, for example.

Three functions ask whether the score follows the grade: over all items (`correlate`), among the items of one group
(`within_groups`), and with text length held fixed (`partial`).

Items of one group describe the same thing, so the bootstrap resamples whole groups. The interval is z ± t·se on
Fisher's scale, where z = artanh r. Here se is the standard deviation of z over the resamples, times √(G/(G − 1)) for G
groups. t is Student's quantile with G − 1 degrees of freedom. The bootstrap assumes no formula for se, so the same
interval serves Pearson, Spearman, Kendall and partial coefficients.

In a simulation with 30 groups of similar items, this interval covers the true value in 95% of cases, as it should. The
percentile interval of the resampled coefficients covers it in 92%.

Is one score closer to the human grades than another? The difference of two correlations with the same grades.

The two correlations share the grades, so they depend on each other. The bootstrap therefore computes both on the same
resamples of groups, and takes their difference in each resample.

The result also has Williams' t (1959), which Steiger (1980, eq. 7) recommends. Williams' t assumes independent items
and normal variables:

    t = (r₁ − r₂)·√( (n − 1)(1 + r₁₂) / (2·(n − 1)/(n − 3)·|R| + r̄²·(1 − r₁₂)³) ), n − 3 degrees of freedom,
    |R| = 1 − r₁² − r₂² − r₁₂² + 2·r₁r₂r₁₂, r̄ = (r₁ + r₂)/2.

r₁ and r₂ are the correlations of the two scores with the grades. r₁₂ is the correlation between the two scores, and n
is the number of items.

Does an evaluation LM give a pair of reviews the same probability in both directions? (Xu et al. 2025, A.5)

For two reviews x and y of a paper, true probabilities satisfy P(x)·P(y | x) = P(y)·P(x | y). Two Spearman coefficients
are computed over pairs of reviews, from log-probabilities in nats:

- *joint*: between log P(y) + log P(x | y) and log P(x) + log P(y | x). Both sums are log P(x, y), computed in either
  direction, so this coefficient measures symmetry.
- *printed*: between log P(x) + log P(x | y) and log P(y) + log P(y | x). These are the products that the paper prints
  for its coefficient of 0.943 over 5,328 ordered pairs. This coefficient does not measure symmetry, but whether both
  reviews are equally likely.

*joint* and *printed* count each pair once, in the given order. *joint_ordered* and *printed_ordered* count each pair in
both orders, as the paper does. The latter two thus do not depend on which review of a pair is called x. All intervals
resample papers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.stats.association import Estimate, Kind, association, within
from gre_bench.stats.intervals import student_test
from gre_bench.stats.samples import Array, Indices, finite, group_indices, weights

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
    value, drawn = resampled(estimate, size, resamples, seed)
    z = math.atanh(float(np.clip(value, -NEARLY_ONE, NEARLY_ONE)))
    spread = float(np.arctanh(np.clip(drawn, -NEARLY_ONE, NEARLY_ONE)).std(ddof=1)) * math.sqrt(size / (size - 1))
    low, high, p = student_test(z, spread, size - 1, level)
    return value, min(value, math.tanh(low)), max(value, math.tanh(high)), p


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

    The interval is difference ± t·se. Here se is the standard deviation of the difference over resamples, times √(G/(G
    − 1)) for G groups. t is Student's quantile with G − 1 degrees of freedom. For Spearman, Williams' t is an
    approximation on ranks.
    """
    x, y = same_length(first, grades)
    z, _ = same_length(second, grades)
    names, size = group_indices(groups, len(x))
    of_first, of_second, between = (association(kind, a, b, names, size) for a, b in ((x, y), (z, y), (x, z)))

    def estimate(counts: Array) -> Array:
        return np.asarray(of_first(counts) - of_second(counts))

    value, drawn = resampled(estimate, size, resamples, seed)
    spread = float(drawn.std(ddof=1)) * math.sqrt(size / (size - 1))
    low, high, p = student_test(value, spread, size - 1, level)
    all_once = np.ones((1, size))
    r1, r2, r12 = (float(coefficient(all_once)[0]) for coefficient in (of_first, of_second, between))
    t, williams_p = (None, None) if kind == "kendall" else williams(r1, r2, r12, len(x))
    return Comparison(kind, r1, r2, value, low, high, p, t, williams_p, len(x), size)


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


@dataclass(frozen=True, slots=True)
class PairLogprobs:
    """Two reviews of one paper, and their log-probabilities by an evaluation LM, summed over tokens, in nats.

    - *paper*, *x*, *y*: the names of the paper and of the two reviews.
    - *log_x*, *log_y*: log P(x) and log P(y), the log-probability of each review alone.
    - *log_y_given_x*, *log_x_given_y*: log P(y | x) and log P(x | y), where the LM has read the other review first.
    """

    paper: str
    x: str
    y: str
    log_x: float
    log_y: float
    log_y_given_x: float
    log_x_given_y: float


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Spearman's coefficients that show how symmetric an evaluation LM is, each with its interval.

    - *joint*: between the two computations of log P(x, y), with each pair in the given order.
    - *printed*: between the products that the paper prints, with each pair in the given order.
    - *joint_ordered*, *printed_ordered*: the same two coefficients, with each pair in both orders.
    """

    joint: Correlation
    printed: Correlation
    joint_ordered: Correlation
    printed_ordered: Correlation


def symmetry(pairs: Sequence[PairLogprobs], level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Symmetry:
    """Returns how symmetric the log-probabilities of *pairs* are.

    *level*: the coverage of the intervals. *resamples*, *seed*: the number of resamples and the seed of the bootstrap,
    which resamples papers. Raises ValueError for a pair of reviews that occurs twice, in either order, or for a review
    paired with itself.
    """
    seen: set[tuple[str, str, str]] = set()
    for pair in pairs:
        key = (pair.paper, min(pair.x, pair.y), max(pair.x, pair.y))
        if pair.x == pair.y or key in seen:
            raise ValueError(
                f"paper {pair.paper}, reviews {pair.x} and {pair.y}: each pair of two reviews must occur once"
            )
        seen.add(key)
    papers = [pair.paper for pair in pairs]

    def spearman(first: list[float], second: list[float], papers: list[str]) -> Correlation:
        return correlate("spearman", first, second, papers, level, resamples, seed)

    joint = [p.log_x_given_y + p.log_y for p in pairs], [p.log_y_given_x + p.log_x for p in pairs]
    printed = [p.log_x + p.log_x_given_y for p in pairs], [p.log_y + p.log_y_given_x for p in pairs]
    return Symmetry(
        joint=spearman(*joint, papers),
        printed=spearman(*printed, papers),
        joint_ordered=spearman(joint[0] + joint[1], joint[1] + joint[0], papers * 2),
        printed_ordered=spearman(printed[0] + printed[1], printed[1] + printed[0], papers * 2),
    )
