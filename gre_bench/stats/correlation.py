"""Correlation of a score with human grades, where items come in groups, such as the reviews of one proposal.

Three functions measure how well the score follows the grade: over all items (`correlate`), among the items of one group
(`correlate_within_groups`), and with text length held fixed (`partial_correlation`).

Items of one group describe the same thing, so the bootstrap resamples whole groups. The interval is z ± t·se on
Fisher's scale, where z = artanh r. Here se is the standard deviation of z over the resamples, times √(G/(G − 1)) for G
groups. t is Student's quantile with G − 1 degrees of freedom. The bootstrap needs no formula for se, so the same
interval serves all coefficients. In a simulation with 30 groups of similar items, it covers the true value in 95% of
cases, as it should. The percentile interval of the resampled coefficients covers it in 92%.

`compare_correlations` tests whether one score follows the grades more closely than another. Both correlations are
computed on the same resamples, because they share the grades.

`measure_symmetry` tests whether an evaluation LM gives a pair of reviews the same probability in both directions (Xu et
al. 2025, A.5). True probabilities satisfy P(x)·P(y | x) = P(y)·P(x | y). Two Spearman coefficients are computed over
pairs of reviews x and y of a paper, from log-probabilities in nats:

- *joint*: between log P(y) + log P(x | y) and log P(x) + log P(y | x). Both sums are log P(x, y), each computed in one
  direction, so this coefficient measures symmetry.
- *printed*: between log P(x) + log P(x | y) and log P(y) + log P(y | x). Xu et al. print these products for their
  coefficient of 0.943 over 5,328 ordered pairs. The coefficient does not measure symmetry, but whether both reviews are
  equally likely.

Both count each pair once, in the given order. *joint_ordered* and *printed_ordered* count each pair in both orders, as
Xu et al. do, so they do not depend on which review is called x. All intervals resample papers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.stats.association import Estimate, Kind, build_association, build_association_within_groups
from gre_bench.stats.intervals import compute_t_interval_and_p
from gre_bench.stats.samples import Array, Indices, Keys, Values, check_finite, draw_bootstrap_counts, group_indices

NEARLY_ONE = 1 - 1e-6
"""Correlations are clipped to this value, because Fisher's z is infinite at 1."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation coefficient with its 95% interval and p-values.

    - *low*, *high*, *p*: the ends of the interval and the two-sided p-value, by resampling groups.
    - *flat_p*: SciPy's p-value, which treats items as independent; None for correlations within groups and for partial
      correlations.
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
    kind: Kind, scores: Values, grades: Values, groups: Keys, resamples: int = 10_000, seed: int = 0
) -> Correlation:
    """Returns the correlation of *scores* with *grades* over all items.

    Args:
        kind: which coefficient.
        scores: (n,) one score per item.
        grades: (n,) one grade per item.
        groups: (n,) the group of each item, such as its paper; whole groups are resampled.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Raises:
        ValueError: the scores or the grades do not vary, or there are fewer than three items or two groups.
    """
    from scipy import stats

    x, y = _check_same_length(scores, grades)
    names, size = group_indices(groups, len(x))
    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    estimated = _estimate_by_group(build_association(kind, x, y, names, size), size, resamples, seed)
    return Correlation(kind, *estimated, float(test(x, y)[1]), len(x), size)


def correlate_within_groups(
    kind: Kind, scores: Values, grades: Values, groups: Keys, resamples: int = 10_000, seed: int = 0
) -> Correlation:
    """Returns the correlation of *scores* with *grades* among items of the same group, pooled over groups.

    Differences between groups, such as between easy and hard papers, thus have no influence.
    `gre_bench.stats.association.build_association_within_groups` states the formulas.

    Args:
        kind: which coefficient.
        scores: (n,) one score per item.
        grades: (n,) one grade per item.
        groups: (n,) the group of each item, such as its paper; whole groups are resampled.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Returns:
        The correlation. Its *items* and *groups* count only groups in which both the scores and the grades vary.

    Raises:
        ValueError: there are fewer than two such groups.
    """
    x, y = _check_same_length(scores, grades)
    names, size = group_indices(groups, len(x))
    telling = _find_varying_groups(x, names, size) & _find_varying_groups(y, names, size)
    if telling.sum() < 2:
        raise ValueError("a correlation within groups needs two groups whose scores and grades differ")
    kept = telling[names]
    x, y, (names, size) = x[kept], y[kept], group_indices(names[kept].tolist(), int(kept.sum()))
    estimated = _estimate_by_group(build_association_within_groups(kind, x, y, names, size), size, resamples, seed)
    return Correlation(kind, *estimated, None, len(x), size)


def partial_correlation(
    kind: Kind, scores: Values, grades: Values, given: Values, groups: Keys, resamples: int = 10_000, seed: int = 0
) -> Correlation:
    """Returns the partial correlation of *scores* and *grades* with a third variable, *given*, held fixed.

    It is (a − bc)/√((1 − b²)(1 − c²)). Here a is the correlation of scores and grades, b the correlation of scores and
    *given*, and c the correlation of grades and *given*. For Kendall, this is Kendall's own formula (1942).

    Args:
        kind: which coefficient.
        scores: (n,) one score per item.
        grades: (n,) one grade per item.
        given: (n,) the third variable, such as the logarithm of each text's length.
        groups: (n,) the group of each item, such as its paper; whole groups are resampled.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Raises:
        ValueError: the coefficient is undefined, or there are fewer than three items or two groups.
    """
    x, y = _check_same_length(scores, grades)
    z, _ = _check_same_length(given, grades)
    names, size = group_indices(groups, len(x))
    a, b, c = (build_association(kind, *pair, names, size) for pair in ((x, y), (x, z), (y, z)))

    def estimate_partial_correlation(counts: Array) -> Array:
        r, s, t = a(counts), b(counts), c(counts)
        left = (1 - s**2) * (1 - t**2)
        return np.asarray(np.clip((r - s * t) / np.sqrt(np.where(left > 1e-9, left, np.nan)), -1.0, 1.0))

    return Correlation(
        kind, *_estimate_by_group(estimate_partial_correlation, size, resamples, seed), None, len(x), size
    )


def _check_same_length(scores: Values | Array, grades: Values | Array) -> tuple[Array, Array]:
    x, y = check_finite(scores, at_least=3), check_finite(grades, at_least=3)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} scores but {len(y)} grades")
    return x, y


def _resample_coefficient(estimate: Estimate, size: int, resamples: int, seed: int) -> tuple[float, Array]:
    """Returns the coefficient of the sample itself, and the coefficients of *resamples* bootstrap resamples.

    *estimate*: as `build_association` returns it. *size*: the number of groups. Resamples without a finite coefficient
    are left out. Raises ValueError if more than half are left out, for fewer than two groups, or if the coefficient of
    the sample itself is undefined.
    """
    if size < 2:
        raise ValueError("an interval by group needs at least two groups")
    value = float(estimate(np.ones((1, size)))[0])
    if not math.isfinite(value):
        raise ValueError("no correlation: the scores or the grades do not vary, or not with length held fixed")
    drawn = np.concatenate([estimate(block) for block in draw_bootstrap_counts(size, resamples, seed)])
    drawn = drawn[np.isfinite(drawn)]
    if 2 * len(drawn) < resamples:
        raise ValueError("too few groups whose scores and grades vary for an interval")
    return value, drawn


def _find_varying_groups(values: Array, names: Indices, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns for each group whether its values differ (size,); *names* (n,): the index of each value's group."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, names, values)
    np.maximum.at(high, names, values)
    return np.asarray(high > low)


def _estimate_by_group(estimate: Estimate, size: int, resamples: int, seed: int) -> tuple[float, float, float, float]:
    """Returns a coefficient, the two ends of its 95% interval, and its two-sided p-value, by resampling groups."""
    value, drawn = _resample_coefficient(estimate, size, resamples, seed)
    z = math.atanh(float(np.clip(value, -NEARLY_ONE, NEARLY_ONE)))
    spread = float(np.arctanh(np.clip(drawn, -NEARLY_ONE, NEARLY_ONE)).std(ddof=1)) * math.sqrt(size / (size - 1))
    low, high, p = compute_t_interval_and_p(z, spread, size - 1, 0.95)
    return value, min(value, math.tanh(low)), max(value, math.tanh(high)), p


@dataclass(frozen=True, slots=True)
class CorrelationComparison:
    """The correlations of two scores with the same grades, and their difference with its 95% interval."""

    kind: Kind
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    items: int
    groups: int


def compare_correlations(
    kind: Kind, first: Values, second: Values, grades: Values, groups: Keys, resamples: int = 10_000, seed: int = 0
) -> CorrelationComparison:
    """Compares how closely two scores follow the *grades* of the same items.

    The interval is difference ± t·se. Here se is the standard deviation of the difference over resamples, times √(G/(G
    − 1)) for G groups. t is Student's quantile with G − 1 degrees of freedom.

    Args:
        kind: which coefficient.
        first: (n,) one score per item.
        second: (n,) the other score, perhaps in another unit.
        grades: (n,) one grade per item.
        groups: (n,) the group of each item, such as its paper; whole groups are resampled.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Raises:
        ValueError: the grades or one of the scores do not vary, or there are fewer than two groups. Also if there are
            fewer than four items (three for kendall).
    """
    x, y = _check_same_length(first, grades)
    z, _ = _check_same_length(second, grades)
    if kind != "kendall" and len(x) < 4:
        raise ValueError("the difference of two correlations needs at least four items")
    names, size = group_indices(groups, len(x))
    of_first, of_second = (build_association(kind, scores, y, names, size) for scores in (x, z))

    def estimate_difference(counts: Array) -> Array:
        return np.asarray(of_first(counts) - of_second(counts))

    value, drawn = _resample_coefficient(estimate_difference, size, resamples, seed)
    spread = float(drawn.std(ddof=1)) * math.sqrt(size / (size - 1))
    low, high, p = compute_t_interval_and_p(value, spread, size - 1, 0.95)
    r1, r2 = (float(coefficient(np.ones((1, size)))[0]) for coefficient in (of_first, of_second))
    return CorrelationComparison(kind, r1, r2, value, low, high, p, len(x), size)


@dataclass(frozen=True, slots=True)
class ReviewPairLogprobs:
    """Two reviews of one paper, x and y, and their log-probabilities by an evaluation LM, summed over tokens, in nats.

    *log_y_given_x*: log P(y | x), the log-probability of y after the LM has read x.
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
    """Spearman's coefficients that show whether an evaluation LM satisfies P(x)·P(y | x) = P(y)·P(x | y).

    The module's docstring defines the four coefficients.
    """

    joint: Correlation
    printed: Correlation
    joint_ordered: Correlation
    printed_ordered: Correlation


def measure_symmetry(pairs: Sequence[ReviewPairLogprobs], resamples: int = 10_000, seed: int = 0) -> Symmetry:
    """Returns how symmetric the log-probabilities of *pairs* are.

    Args:
        pairs: the pairs of reviews; every two reviews of a paper must occur once.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Returns:
        The four coefficients that the module's docstring defines.

    Raises:
        ValueError: as `correlate`.
    """
    papers = [pair.paper for pair in pairs]

    def spearman(first: list[float], second: list[float], papers: list[str]) -> Correlation:
        return correlate("spearman", first, second, papers, resamples, seed)

    joint = [p.log_x_given_y + p.log_y for p in pairs], [p.log_y_given_x + p.log_x for p in pairs]
    printed = [p.log_x + p.log_x_given_y for p in pairs], [p.log_y + p.log_y_given_x for p in pairs]
    return Symmetry(
        joint=spearman(*joint, papers),
        printed=spearman(*printed, papers),
        joint_ordered=spearman(joint[0] + joint[1], joint[1] + joint[0], papers * 2),
        printed_ordered=spearman(printed[0] + printed[1], printed[1] + printed[0], papers * 2),
    )
