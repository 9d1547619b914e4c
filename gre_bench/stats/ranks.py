"""Computes how certain a rank is, and whether two measures order candidates alike. Rank 1 is the best.

*surely_low* to *surely_high* is the interval that significant differences allow (Mogstad et al. 2024). It begins at 1 +
the number of significantly better candidates, and ends at the number of all candidates less the number of significantly
worse ones. The tests are those of `run_candidate_tests`. The intervals of all candidates hold simultaneously with at
least the stated probability (99% in simulations).

Two measures may have different units, because the three comparisons need no unit:

- the candidates' ranks by mean: Spearman's coefficient, with a bootstrap interval that resamples papers;
- each candidate's lead over a baseline, in standard errors;
- which candidates differ significantly, by `run_candidate_tests`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.stats.families import CandidateTest
from gre_bench.stats.pair_tests import run_candidate_tests
from gre_bench.stats.samples import (
    Array,
    Keys,
    Values,
    check_finite,
    divide_or_default,
    draw_bootstrap_counts,
    equal_tailed_quantiles,
    group_indices,
    sum_cells,
)


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of a candidate by its *mean*, the mean over papers of its mean score on each paper.

    *surely_low*, *surely_high*: the interval from significant differences; the intervals hold for all candidates at
    once.
    """

    candidate: str
    mean: float
    rank: int
    surely_low: int
    surely_high: int


@dataclass(frozen=True, slots=True)
class RankConsistency:
    """Spearman's coefficient and Kendall's tau-b between two boards, with two-sided p-values.

    *shared*: the number of candidates on both boards, over which they are computed. *left_out*: the names of the
    candidates that are on only one board.
    """

    spearman: float
    spearman_p: float
    kendall: float
    kendall_p: float
    shared: int
    left_out: tuple[str, ...]


def rank_intervals(
    values: Values,
    papers: Keys,
    candidates: Sequence[str],
    level: float = 0.90,
    tests: Sequence[CandidateTest] | None = None,
) -> list[Rank]:
    """Returns the rank of each candidate by its mean score, with its interval; the best candidate is first.

    Means that are equal to nine decimals share the better rank.

    Args:
        values: (n,) scores, in the metric's unit.
        papers: (n,) the paper of each score.
        candidates: (n,) the candidate of each score.
        level: the coverage of all intervals together, between 0 and 1.
        tests: the results of `run_candidate_tests` on the same scores; None: they are computed.

    Raises:
        ValueError: there are fewer than two papers or candidates, or two candidates have fewer than two papers in
            common.
    """
    names = list(dict.fromkeys(candidates))
    sums, counts = _compute_paper_means(values, papers, candidates)
    size, number = sums.shape
    if size < 2 or number < 2:
        raise ValueError("ranks need at least two candidates on at least two papers")
    means = sums.sum(axis=0) / counts.sum(axis=0)
    better, worse = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for test in tests or run_candidate_tests(values, papers, candidates):
        if test.p_holm < 1 - level:
            upper, lower = (test.first, test.second) if test.difference > 0 else (test.second, test.first)
            better[lower] += 1
            worse[upper] += 1
    ranks = _rank_each_row(means[None])[0]
    intervals = [
        Rank(name, float(means[k]), int(ranks[k]), 1 + better[name], number - worse[name])
        for k, name in enumerate(names)
    ]
    return sorted(intervals, key=lambda interval: (interval.rank, interval.candidate))


def rank_consistency(first: Mapping[str, float], second: Mapping[str, float]) -> RankConsistency:
    """Returns Spearman's coefficient and Kendall's tau-b between two boards.

    Args:
        first: candidate → score on the first board.
        second: candidate → score on the second board, perhaps in another unit.

    Raises:
        ValueError: fewer than three candidates are on both boards, or all their scores on one board are equal.
    """
    from scipy import stats

    shared = [name for name in first if name in second]
    if len(shared) < 3:
        raise ValueError(f"two boards need three names in common, these have {len(shared)}")
    x, y = (check_finite([board[name] for name in shared], at_least=3) for board in (first, second))
    if x.min() == x.max() or y.min() == y.max():
        raise ValueError("all scores of a board are equal: it has no order to compare")
    left_out = tuple(sorted({*first, *second} - set(shared)))
    rho: Any = stats.spearmanr(x, y)
    tau: Any = stats.kendalltau(x, y)
    rho_tau = (float(rho.statistic), float(rho.pvalue), float(tau.statistic), float(tau.pvalue))
    return RankConsistency(*rho_tau, len(shared), left_out)


def _rank_each_row(means: Array) -> Array:
    """Returns the rank of each candidate within each row of *means* (rows, candidates); rank 1 has the highest mean.

    Means that are equal to nine decimals share the better rank. The rank of NaN is NaN.
    """
    means = np.round(means, 9)
    above = (means[:, None, :] > means[:, :, None]).sum(axis=2)
    return np.where(np.isnan(means), np.nan, 1.0 + above)


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Rank correlations between the candidates' means by two measures; *low*, *high*: Spearman's 90% interval."""

    spearman: float
    low: float
    high: float
    kendall: float
    candidates: int


@dataclass(frozen=True, slots=True)
class SignificantOrders:
    """How many pairs of candidates differ significantly by each of two measures.

    *both*: the number that differ by both measures, in the same order. *contradict*: the pairs that differ by both
    measures in opposite order, each as (better, worse) by the first measure.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    contradict: tuple[tuple[str, str], ...]


def correlate_ranks_by_two_measures(
    first: Values, second: Values, papers: Keys, candidates: Sequence[str], resamples: int = 2000, seed: int = 0
) -> RankAgreement:
    """Returns the rank correlations between the candidates' means over papers, by two measures of the same pairs.

    Args:
        first: (n,) the scores by one measure.
        second: (n,) the scores by the other measure, perhaps in another unit.
        papers: (n,) the paper of each pair; papers are resampled for the interval.
        candidates: (n,) the candidate of each pair.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Raises:
        ValueError: there are fewer than three candidates, or a measure gives all candidates the same mean.
    """
    names = list(dict.fromkeys(candidates))
    tables = [_compute_paper_means(column, papers, candidates) for column in (first, second)]
    means = [dict(zip(names, (sums.sum(0) / counts.sum(0)).tolist(), strict=True)) for sums, counts in tables]
    result = rank_consistency(*means)
    drawn = [
        _correlate_rows(*((block @ sums) / np.maximum(block @ counts, 1e-9) for sums, counts in tables))
        for block in draw_bootstrap_counts(len(tables[0][0]), resamples, seed)
    ]
    low, high = equal_tailed_quantiles(np.concatenate(drawn), 0.90)
    return RankAgreement(result.spearman, low, high, result.kendall, result.shared)


def count_significant_orders(
    first_tests: Sequence[CandidateTest], second_tests: Sequence[CandidateTest], alpha: float = 0.05
) -> SignificantOrders:
    """Counts how many pairs of candidates differ significantly by both measures, by one, or by neither.

    Args:
        first_tests: the results of `run_candidate_tests` by one measure.
        second_tests: the results by the other measure, for the same pairs of candidates in the same order.
        alpha: the significance level.

    Raises:
        ValueError: the numbers of tests differ.
    """
    sure = [(a.p_holm < alpha, b.p_holm < alpha) for a, b in zip(first_tests, second_tests, strict=True)]
    pairs = zip(first_tests, second_tests, sure, strict=True)
    against = [a if a.difference > 0 else a.with_candidates_reversed() for a, b, both in pairs
               if all(both) and (a.difference > 0) != (b.difference > 0)]  # fmt: skip
    return SignificantOrders(
        sum(map(all, sure)) - len(against),
        sum(first and not second for first, second in sure),
        sum(second and not first for first, second in sure),
        sum(not any(both) for both in sure),
        tuple((test.first, test.second) for test in against),
    )


def ranks(values: Values, papers: Keys, candidates: Sequence[str]) -> dict[str, int]:
    """Returns candidate → rank by its mean over papers; means that are equal to nine decimals share the better rank.

    Args:
        values: (n,) scores, in the metric's unit.
        papers: (n,) the paper of each score.
        candidates: (n,) the candidate of each score.

    Raises:
        ValueError: there are fewer than two scores, or one is not finite.
    """
    sums, counts = _compute_paper_means(values, papers, candidates)
    places = _rank_each_row((sums.sum(0) / counts.sum(0))[None])[0]
    return dict(zip(dict.fromkeys(candidates), map(int, places), strict=True))


def leads_over_baseline(tests: Sequence[CandidateTest], baseline: str) -> dict[str, float]:
    """Returns how far each candidate's mean lies above the mean of the candidate *baseline*.

    Args:
        tests: pair tests of one measure, as `run_candidate_tests` returns them.
        baseline: the candidate with which all others are compared.

    Returns:
        Candidate → lead, in standard errors of the mean difference over papers. A candidate whose difference from the
        baseline is the same on all papers is left out.
    """
    involved = [test for test in tests if baseline in (test.first, test.second)]
    against = [test if test.second == baseline else test.with_candidates_reversed() for test in involved]
    return {test.first: test.difference / (test.sd / math.sqrt(test.papers)) for test in against if test.sd > 0}


def _compute_paper_means(values: Values, papers: Keys, candidates: Sequence[str]) -> tuple[Array, Array]:
    """Returns two arrays (papers, candidates): each candidate's mean on each paper, and whether it has one (1 or 0).

    Means over papers are computed from them, so all papers have equal weight, however many references they have.
    """
    scores = check_finite(values, at_least=2)
    sums, counts = sum_cells(scores, *group_indices(papers, len(scores)), *group_indices(candidates, len(scores)))
    return divide_or_default(sums, counts, 0.0), (counts > 0).astype(np.float64)


def _correlate_rows(first: Array, second: Array) -> Array:
    """Returns Spearman's coefficient (rows,) of each row of *first* with the same row of *second*.

    Both tables have the shape (rows, candidates). The coefficient is 0 if one of the two rows does not vary.
    """
    from scipy.stats import rankdata

    x, y = (rankdata(table, axis=1) for table in (first, second))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    spread = np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return np.asarray(np.divide((x * y).sum(1), spread, out=np.zeros_like(spread), where=spread > 0))
