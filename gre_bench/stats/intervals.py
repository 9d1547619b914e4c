"""Confidence intervals of a mean, Student's paired test, scores above chance, and Welch's test of a changed mean.

``sql/queries/fill.sql`` computes the same quantities; a test compares its results with those of this module.

A candidate's score *above chance* is its score less its *chance score*. The chance score is the score of the
candidate's review of another paper, against the same reference.

To measure chance scores, a candidate's reviews are swapped within small groups of papers, called *units* or
*exchanges*. In the mean score above chance of a unit, effects of one review alone or of one paper alone cancel. No two
units share a paper, so units are independent.

Each candidate's reviews are swapped separately. The difference of two candidates on one paper therefore depends on
their differences on all papers with which either candidate's review was swapped (`two_way_clustered_error`).

Welch's test says whether a mean differs between two sets of papers that have no paper in common. For each set, it needs
only the mean m, the standard error se and the number of papers n:

    t = (m₂ − m₁)/√(se₁² + se₂²), with Welch and Satterthwaite's degrees of freedom
    (se₁² + se₂²)²/(se₁⁴/(n₁ − 1) + se₂⁴/(n₂ − 1)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from gre_bench.stats.samples import Array, Keys, Values, check_finite, group_indices


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    *units*: the number of independent groups of observations, such as papers, on which it is based.
    """

    value: float
    low: float
    high: float
    units: int


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A mean difference with its interval and its two-sided p-value, tested against zero by Student's t.

    *units*: the number of papers, or of other groups of observations, on which it is based.
    """

    value: float
    low: float
    high: float
    p: float
    units: int


def flat_interval(values: Values, level: float = 0.90) -> Interval:
    """Returns the mean of *values* with the published interval: mean ± z·sd(ddof=1)/√n (Xu et al. 2025, figure 4).

    The interval treats pairs as independent, even those of one paper.

    Args:
        values: (n,) one score per pair, in the metric's unit.
        level: the coverage of the interval, between 0 and 1.

    Raises:
        ValueError: there are fewer than two values, or one is not finite.
    """
    from scipy.special import ndtri

    scores = check_finite(values, at_least=2)
    half = float(ndtri(0.5 + level / 2)) * scores.std(ddof=1) / math.sqrt(len(scores))
    return Interval(float(scores.mean()), float(scores.mean() - half), float(scores.mean() + half), len(scores))


def clustered_test(values: Values, clusters: Keys, level: float = 0.90) -> PairedTest:
    """Tests by Student's t whether the mean of *values* is zero; returns it with its cluster-robust interval.

    For G clusters, t has G − 1 degrees of freedom, and se² = G/(G − 1) · Σ_g (Σ_{i∈g} (v_i − mean))² / n². The interval
    is valid however the values of one cluster depend on each other.

    Args:
        values: (n,) scores or differences, in any unit.
        clusters: (n,) the cluster of each value, such as its paper.
        level: the coverage of the interval, between 0 and 1.

    Returns:
        The test. Its *units* are the clusters. If all values are zero, the p-value is 1.

    Raises:
        ValueError: there are fewer than two clusters, or a value is not finite.
    """
    error, size = clustered_error(values, clusters)
    mean = float(np.mean(values))
    return PairedTest(mean, *compute_t_interval_and_p(mean, error, size - 1, level), size)


def compute_t_interval_and_p(value: float, error: float, freedom: float, level: float) -> tuple[float, float, float]:
    """Returns the ends of the interval value ± t·error, and the two-sided p-value, by Student's t.

    Args:
        value: the estimate, tested against zero.
        error: its standard error, in the same unit.
        freedom: the degrees of freedom.
        level: the coverage of the interval, between 0 and 1.

    Returns:
        (low, high, p). If *error* is zero, p is 1 if *value* is zero, and 0 otherwise.
    """
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(freedom, 0.5 + level / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error)) if error else float(value == 0)
    return value - half, value + half, p


def clustered_error(values: Values | Array, clusters: Keys) -> tuple[float, int]:
    """Returns the standard error of the mean of *values*, as in `clustered_test`, and the number of clusters.

    Args:
        values: (n,) scores or differences, in any unit.
        clusters: (n,) the cluster of each value, such as its paper.

    Returns:
        (se, clusters); se is in the unit of *values*.

    Raises:
        ValueError: there are fewer than two clusters, or a value is not finite.
    """
    scores = check_finite(values, at_least=2)
    groups, size = group_indices(clusters, len(scores))
    if size < 2:
        raise ValueError("an interval by cluster needs at least two clusters")
    sums = np.bincount(groups, weights=scores - scores.mean(), minlength=size)
    return math.sqrt(size / (size - 1) * float(sums @ sums)) / len(scores), size


def two_way_clustered_error(values: Values | Array, first: Keys, second: Keys) -> tuple[float, int]:
    """Returns the standard error of the mean of *values*, and the number of independent units behind it.

    Values depend on each other if they share a label in *first* or in *second*. Therefore se² = se₁² + se₂² − se₁₂²
    (Cameron, Gelbach and Miller 2011). Each term follows the formula of `clustered_test`; for se₁₂, a cluster is the
    values that share both labels. se is never taken below se₁₂, because se₁² + se₂² − se₁₂² can be negative. If no two
    values share a label, se is the standard error for independent values.

    Args:
        values: (n,) one difference per paper.
        first: (n,) the exchange that the first candidate's score depends on: the group of papers within which this
            candidate's reviews were swapped to measure chance scores.
        second: (n,) the exchange that the second candidate's score depends on.

    Returns:
        (se, units); *units* is the number of labels on the side that has fewer.

    Raises:
        ValueError: a side has fewer than two labels.
    """
    (by_first, size), (by_second, number) = clustered_error(values, first), clustered_error(values, second)
    by_both, _ = clustered_error(values, list(zip(first, second, strict=True)))
    return math.sqrt(max(by_first**2 + by_second**2 - by_both**2, by_both**2)), min(size, number)


def paired_test(differences: Values, level: float = 0.90) -> PairedTest:
    """Tests by Student's t whether the mean of *differences* is zero.

    Args:
        differences: (n,) one number per paper, in the metric's unit.
        level: the coverage of the interval, between 0 and 1.

    Returns:
        The test, with n − 1 degrees of freedom. The p-value is NaN if all differences are equal.

    Raises:
        ValueError: there are fewer than two differences, or one is not finite.
    """
    values = check_finite(differences, at_least=2)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    low, high, p = compute_t_interval_and_p(mean, error, len(values) - 1, level)
    return PairedTest(mean, low, high, p if error else math.nan, len(values))


def two_way_clustered_test(differences: Values, first: Keys, second: Keys, level: float = 0.90) -> PairedTest:
    """Tests as `paired_test` does, but allows *differences* to depend on each other within an exchange.

    An exchange is a group of papers within which a candidate's reviews were swapped to measure chance scores. In some
    differences, the chance score cancels, for example between two scores of one review against one reference. Such
    differences do not depend on exchanges, so `paired_test` is right for them.

    Args:
        differences: (n,) one number per paper, in the metric's unit.
        first: (n,) the exchange of each paper for the first candidate.
        second: (n,) the exchange of each paper for the second candidate.
        level: the coverage of the interval, between 0 and 1.

    Returns:
        The test, with units − 1 degrees of freedom; `two_way_clustered_error` says what its *units* are.

    Raises:
        ValueError: as `two_way_clustered_error`.
    """
    error, units = two_way_clustered_error(differences, first, second)
    mean = float(np.mean(differences))
    low, high, p = compute_t_interval_and_p(mean, error, units - 1, level)
    return PairedTest(mean, low, high, p if error else math.nan, units)


@cache
def student_quantiles(most: int = 1000) -> list[dict[str, float | int]]:
    """Returns a table of Student's t with one row for each number of degrees of freedom *df* from 1 to *most*.

    *q90*, *q95*: the half-widths of the two-sided 90% and 95% intervals, in standard errors.
    """
    from scipy.special import stdtrit

    df = np.arange(1, most + 1)
    ends = zip(df.tolist(), stdtrit(df, 0.95).tolist(), stdtrit(df, 0.975).tolist(), strict=True)
    return [{"df": n, "q90": q90, "q95": q95} for n, q90, q95 in ends]


@dataclass(frozen=True, slots=True)
class AboveChance:
    """How far a candidate's scores exceed its chance scores; the means and the interval are in the metric's unit.

    - *chance*: the mean chance score. *above*: the mean score less *chance*.
    - *low*, *high*, *p*: the 90% interval of *above* and its two-sided p-value; None for fewer than two units.
    - *swaps*: the number of units, the groups of papers whose reviews were swapped to measure chance scores.
    """

    chance: float
    above: float
    low: float | None
    high: float | None
    p: float | None
    papers: int
    swaps: int


def above_chance(values: Values, differences: Values, papers: Keys, units: Keys) -> AboveChance:
    """Returns how far the mean of *values* exceeds the mean chance score, with Student's t test over units.

    Both means are over papers; the value of a paper is the mean of its pairs.

    Args:
        values: (n,) one score per pair, in the metric's unit.
        differences: (n,) the score less the chance score.
        papers: (n,) the paper of each pair.
        units: (n,) the unit of the pair's paper: the group of papers whose reviews were swapped to measure chance
            scores.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no pair has a score by chance")
    groups, size = group_indices(papers, len(values))
    pairs = np.bincount(groups)
    differences_of, values_of = (
        (np.bincount(groups, weights=column) / pairs).tolist() for column in (differences, values)
    )
    units_of = dict(zip(groups.tolist(), units, strict=True))
    above = sum(differences_of) / size
    chance = sum(values_of) / size - above
    sizes = size, len(set(units))
    if sizes[1] < 2:
        return AboveChance(chance, above, None, None, None, *sizes)
    test = clustered_test(differences_of, [units_of[paper] for paper in range(size)])
    return AboveChance(chance, above, test.low, test.high, test.p, *sizes)


@dataclass(frozen=True, slots=True)
class SampleMean:
    """The mean over one set of papers, its standard error, and the number of papers."""

    mean: float
    se: float
    units: int


@dataclass(frozen=True, slots=True)
class MeanChange:
    """How far a mean has changed between two sets of papers: the second less the first, with its 90% interval."""

    value: float
    low: float
    high: float
    p: float


def compare_means_by_welch(first: SampleMean, second: SampleMean) -> MeanChange:
    """Returns how far the mean has changed from the set *first* to the set *second*, by Welch's test.

    Raises:
        ValueError: a set has fewer than two papers, or both standard errors are zero.
    """
    if min(first.units, second.units) < 2:
        raise ValueError("a change needs at least two papers on either side")
    variances = first.se**2, second.se**2
    total = sum(variances)
    if not total > 0:
        raise ValueError("neither side varies: the spread of the change cannot be estimated")
    df = total**2 / (variances[0] ** 2 / (first.units - 1) + variances[1] ** 2 / (second.units - 1))
    value = second.mean - first.mean
    return MeanChange(value, *compute_t_interval_and_p(value, math.sqrt(total), df, 0.90))
