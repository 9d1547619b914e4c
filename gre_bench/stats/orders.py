"""Do two measures order the same candidates on the same papers alike?

The two measures may have different units, because three comparisons that need no unit are made:

- the candidates' ranks by mean: Spearman's coefficient, with a bootstrap interval that resamples papers;
- each candidate's lead over a baseline, in standard errors;
- which candidates differ significantly: Student's paired test by paper, Holm-corrected over all pairs of candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.pair_tests import PairTest
from gre_bench.stats.ranks import consistency
from gre_bench.stats.resampling import equal_tailed, weights
from gre_bench.stats.samples import Array, finite, group_indices


@dataclass(frozen=True, slots=True)
class Agreement:
    """Rank correlations between the candidates' means by one measure and their means by another.

    - *spearman*: Spearman's coefficient. *low*, *high*: the ends of its interval.
    - *kendall*: Kendall's tau-b.
    - *candidates*: the number of candidates.
    """

    spearman: float
    low: float
    high: float
    kendall: float
    candidates: int


@dataclass(frozen=True, slots=True)
class Orders:
    """How many pairs of candidates differ significantly by each of two measures.

    - *both*: the number of pairs that differ by both measures and have the same order.
    - *only_first*, *only_second*: the number of pairs that differ by the first measure only, and by the second only.
    - *neither*: the number of pairs that differ by neither measure.
    - *contradict*: the pairs that differ by both measures in opposite orders. Each is (better, worse) by the first
      measure.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    contradict: tuple[tuple[str, str], ...]


def agreement(
    first: Sequence[float],
    second: Sequence[float],
    papers: Sequence[object],
    candidates: Sequence[str],
    level: float = 0.90,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Returns the rank correlations between the candidates' means by two measures.

    - *first*, *second* (n,): the scores of the same pairs by the first and by the second measure.
    - *papers*, *candidates* (n,): the paper and the candidate of each pair.
    - *level*: the coverage of the interval.
    - *resamples*, *seed*: the number of resamples and the seed of the bootstrap.

    Raises ValueError for fewer than three candidates, or if a measure gives all candidates the same mean.
    """
    names = list(dict.fromkeys(candidates))
    tables = [_sums(column, papers, candidates) for column in (first, second)]
    means = [dict(zip(names, (sums.sum(0) / counts.sum(0)).tolist(), strict=True)) for sums, counts in tables]
    result = consistency(*means)
    drawn = [
        _spearman(*((block @ sums) / np.maximum(block @ counts, 1e-9) for sums, counts in tables))
        for block in weights(len(tables[0][0]), resamples, seed)
    ]
    low, high = equal_tailed(np.concatenate(drawn), level)
    return Agreement(result.spearman, low, high, result.kendall, result.shared)


def orders(first_tests: Sequence[PairTest], second_tests: Sequence[PairTest], alpha: float = 0.05) -> Orders:
    """Counts how many pairs of candidates differ significantly by both measures, by one measure, or by neither.

    *first_tests* and *second_tests* are the results of `pair_tests` by the first and by the second measure. They hold
    the same pairs of candidates in the same order. *alpha*: the level of the tests.
    """
    sure = [(a.p_holm < alpha, b.p_holm < alpha) for a, b in zip(first_tests, second_tests, strict=True)]
    pairs = zip(first_tests, second_tests, sure, strict=True)
    against = [a if a.difference > 0 else a.flipped() for a, b, both in pairs
               if all(both) and (a.difference > 0) != (b.difference > 0)]  # fmt: skip
    return Orders(
        sum(map(all, sure)) - len(against),
        sum(first and not second for first, second in sure),
        sum(second and not first for first, second in sure),
        sum(not any(both) for both in sure),
        tuple((test.first, test.second) for test in against),
    )


def ranks(values: Sequence[float], papers: Sequence[object], candidates: Sequence[str]) -> dict[str, int]:
    """Returns candidate → rank by mean score; rank 1 has the highest mean.

    *values*, *papers* and *candidates* (n,) hold each score, its paper and its candidate. Means that are equal to nine
    decimals share the better rank.
    """
    sums, counts = _sums(values, papers, candidates)
    means = np.round(sums.sum(0) / counts.sum(0), 9)
    return {name: 1 + int((means > mean).sum()) for name, mean in zip(dict.fromkeys(candidates), means, strict=True)}


def leads(tests: Sequence[PairTest], baseline: str) -> dict[str, float]:
    """Returns how far each candidate's mean lies above that of the candidate *baseline*, in standard errors.

    The standard error is that of the mean difference over papers. *tests*: the results of `pair_tests`. The result
    leaves out the baseline, and candidates whose difference from the baseline is the same on all papers.
    """
    involved = [test for test in tests if baseline in (test.first, test.second)]
    against = [test if test.second == baseline else test.flipped() for test in involved]
    return {test.first: test.difference / (test.sd / math.sqrt(test.papers)) for test in against if test.sd > 0}


def _sums(values: Sequence[float], papers: Sequence[object], candidates: Sequence[str]) -> tuple[Array, Array]:
    """Returns the sum and the number of *values* for each paper and candidate, as two arrays (papers, candidates).

    *papers* and *candidates* (n,) hold the paper and the candidate of each of the *values* (n,).
    """
    scores = finite(values, at_least=2)
    groups, size = group_indices(papers, len(scores))
    kinds, number = group_indices(candidates, len(scores))
    cells = groups * number + kinds
    sums = np.bincount(cells, weights=scores, minlength=size * number).reshape(size, number)
    counts = np.bincount(cells, minlength=size * number).astype(np.float64).reshape(size, number)
    return np.asarray(sums, dtype=np.float64), counts


def _spearman(first: Array, second: Array) -> Array:
    """Returns Spearman's coefficient between each row of *first* and the same row of *second*, as an array (rows,).

    *first* and *second* are (rows, candidates). The coefficient is 0 if the row does not vary in *first* or in
    *second*.
    """
    from scipy.stats import rankdata

    x, y = (rankdata(table, axis=1) for table in (first, second))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    spread = np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return np.asarray(np.divide((x * y).sum(1), spread, out=np.zeros_like(spread), where=spread > 0))
