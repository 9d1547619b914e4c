"""Tests every two candidates against each other: Student's paired test by paper, with Holm's correction over all tests.

Two candidates are compared on the (paper, reference) pairs that both have. Their differences are averaged within each
paper, so a paper counts as one observation.

A chance score is the score of a candidate's review of another paper. To measure it, the candidate's reviews of two or
three papers are swapped; such a group of papers is called an *exchange*. Chance scores, and scores above chance, depend
on each other within an exchange (`two_way_clustered_error`).

All claims about order under one metric and evaluation LM come from one family of tests, in which each hypothesis occurs
once: "better than the next", "better than the human baseline", the interval of a rank, and the contrasts of a file
(`gre_bench.board.family`). Such claims can therefore never contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.families import CandidateTest
from gre_bench.stats.intervals import compute_t_interval_and_p, two_way_clustered_error
from gre_bench.stats.samples import Array, Keys, Values, check_finite, divide_or_default, group_indices, sum_cells

TRIM = 0.1
"""The share of papers that a trimmed mean leaves out at each end."""


def run_candidate_tests(
    values: Values | Array,
    papers: Keys,
    candidates: Sequence[str],
    references: Keys | None = None,
    level: float = 0.90,
    exchanges: Keys | None = None,
) -> list[CandidateTest]:
    """Returns one test for every two candidates, with Holm's correction over all of these tests.

    Args:
        values: (n,) scores, in the metric's unit.
        papers: (n,) the paper of each score.
        candidates: (n,) the candidate of each score.
        references: (n,) the reference of each score. If None, the scores of a candidate are averaged over each paper
            before candidates are compared.
        level: the coverage of each interval, between 0 and 1.
        exchanges: (n,) the exchange that each score depends on: the group of papers whose reviews by the candidate were
            swapped to measure chance scores. If None, papers are independent.

    Returns:
        k(k − 1)/2 tests of k candidates. In each test, *first* appears earlier in *candidates* than *second*.

    Raises:
        ValueError: two candidates have fewer than two papers in common, or their common papers are in fewer than two
            exchanges.
    """
    scores = check_finite(values, at_least=2)
    names = list(dict.fromkeys(candidates))
    owners, size = group_indices(papers, len(scores))
    kinds, number = group_indices(candidates, len(scores))
    # Candidates are compared on units: pairs of a paper and a reference, or papers.
    units, of_unit = owners, np.arange(size)
    if references is not None:
        units, count = group_indices(list(zip(owners.tolist(), references, strict=True)), len(scores))
        of_unit = np.empty(count, dtype=np.intp)
        of_unit[units] = owners
    # The mean score of each unit and candidate; NaN where there is none.
    table = divide_or_default(*sum_cells(scores, units, len(of_unit), kinds, number))
    shared = np.empty((size, number), dtype=np.intp)
    if exchanges is not None:
        shared[owners, kinds] = group_indices(exchanges, len(scores))[0]
    tests = []
    for i, j in combinations(range(number), 2):
        by_unit = table[:, i] - table[:, j]
        present = ~np.isnan(by_unit)
        counts = np.bincount(of_unit[present], minlength=size)
        sums = np.bincount(of_unit[present], weights=by_unit[present], minlength=size)
        differences = sums[counts > 0] / counts[counts > 0]
        if len(differences) < 2:
            raise ValueError(f"{names[i]} and {names[j]} do not have two papers in common")
        mean, sd, count = float(differences.mean()), float(differences.std(ddof=1)), len(differences)
        freedom = count - 1
        if exchanges is not None:
            error, independent = two_way_clustered_error(differences, *shared[counts > 0][:, (i, j)].T.tolist())
            sd, freedom = error * math.sqrt(count), independent - 1
        low, high, p = compute_t_interval_and_p(mean, sd / math.sqrt(count), freedom, level)
        signs = int((differences > 0).sum()), int((differences < 0).sum())
        robust = float(np.median(differences)), *compute_trimmed_mean_with_bounds(differences), sign_test(*signs)
        tests.append(CandidateTest(names[i], names[j], mean, low, high, sd, p, p, count, *signs, *robust))
    return correct_in_one_family(tests, ())[0]


def compute_trimmed_mean_with_bounds(values: Array) -> tuple[float, float, float]:
    """Returns the mean of *values* without the 10% at either end, and its one-sided 95% bounds.

    The standard error is s_w/((1 − 2·0.1)·√n), where s_w is the standard deviation of the values after they are
    winsorised instead of trimmed. The degrees of freedom of Student's t are the number of kept values less one (Tukey
    and McLaughlin 1963).

    Args:
        values: (n,) at least two numbers.

    Returns:
        (mean, lower bound, upper bound), in the unit of *values*.
    """
    ordered, cut = np.sort(values), int(TRIM * len(values))
    kept = ordered[cut : len(ordered) - cut]
    spread = float(np.clip(ordered, kept[0], kept[-1]).std(ddof=1))
    mean, error = float(kept.mean()), spread / ((1 - 2 * TRIM) * math.sqrt(len(values)))
    return mean, *compute_t_interval_and_p(mean, error, len(kept) - 1, 0.90)[:2]


def sign_test(ahead: int, behind: int) -> float:
    """Returns the two-sided p-value of the sign test: the probability of a split at least this uneven by chance.

    Args:
        ahead: the number of papers with a difference above zero.
        behind: the number of papers with a difference below zero.
    """
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(ahead, behind), ahead + behind, 0.5)))


def correct_in_one_family(tests: Sequence[CandidateTest], others: Values) -> tuple[list[CandidateTest], list[float]]:
    """Applies Holm's correction to pair tests and to further p-values, all together.

    Args:
        tests: pair tests, whose *p* is raw.
        others: raw p-values of further hypotheses.

    Returns:
        The pair tests with their new *p_holm*, and *others* after correction, each in the given order.
    """
    family = [*(test.p for test in tests), *others]
    adjusted = adjust_by_holm(family)
    together = [replace(test, p_holm=p) for test, p in zip(tests, adjusted, strict=False)]
    return together, adjusted[len(tests) :]


def smallest_detectable_difference(sd: float, papers: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Returns the smallest mean difference that a two-sided test detects with probability *power*.

    The formula is (t(1 − alpha/2) + t(power))·sd/√papers, with *papers* − 1 degrees of freedom.

    Args:
        sd: the standard deviation, over papers, of the difference on one paper; the result has its unit.
        papers: the number of papers, at least two.
        alpha: the significance level of the test.
        power: the probability of detection, between 0 and 1.
    """
    from scipy.special import stdtrit

    quantiles = stdtrit(papers - 1, 1 - alpha / 2) + stdtrit(papers - 1, power)
    return float(quantiles) * sd / math.sqrt(papers)
