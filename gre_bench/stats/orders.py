"""Do two measures order the same candidates on the same papers alike?

The measures may have different units, because no comparison here has one. Three things are compared: ranks of
candidates by mean (Spearman's coefficient, bootstrap interval by paper), leads in standard errors, and significant
differences. A difference is significant by Student's paired test by paper, Holm-corrected over all pairs of candidates.
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
    """Spearman's coefficient between the candidates' means by two measures, and Kendall's tau-b.

    *low* to *high*: the interval of Spearman's coefficient. *candidates*: their number.
    """

    spearman: float
    low: float
    high: float
    kendall: float
    candidates: int


@dataclass(frozen=True, slots=True)
class Orders:
    """How many pairs of candidates differ significantly by both measures, by only one measure, or by neither.

    *both* counts the pairs that both measures order alike. *contradict* holds the pairs that the measures order in
    opposite ways, each pair in the order of the first measure.
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
    """Returns how well two measures, *first* (n,) and *second* (n,) of the same pairs, agree on the candidates.

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
    """Counts for how many pairs of candidates both measures, one or none find a significant difference.

    *first_tests* and *second_tests* are the tests by each measure, of the same pairs in the same order. *alpha*: the
    level of the tests.
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
    """Returns each candidate's rank by mean, 1 the highest; means equal to nine decimals share the better rank.

    *values*, *papers* and *candidates* (n,) describe one score each.
    """
    sums, counts = _sums(values, papers, candidates)
    means = np.round(sums.sum(0) / counts.sum(0), 9)
    return {name: 1 + int((means > mean).sum()) for name, mean in zip(dict.fromkeys(candidates), means, strict=True)}


def leads(tests: Sequence[PairTest], baseline: str) -> dict[str, float]:
    """Returns each other candidate's mean difference from the candidate *baseline*, in standard errors.

    A candidate whose differences do not vary is left out.
    """
    involved = [test for test in tests if baseline in (test.first, test.second)]
    against = [test if test.second == baseline else test.flipped() for test in involved]
    return {test.first: test.difference / (test.sd / math.sqrt(test.papers)) for test in against if test.sd > 0}


def _sums(values: Sequence[float], papers: Sequence[object], candidates: Sequence[str]) -> tuple[Array, Array]:
    """Returns the sums and the counts of *values* by paper and candidate, both (papers, candidates)."""
    scores = finite(values, at_least=2)
    groups, size = group_indices(papers, len(scores))
    kinds, number = group_indices(candidates, len(scores))
    cells = groups * number + kinds
    sums = np.bincount(cells, weights=scores, minlength=size * number).reshape(size, number)
    counts = np.bincount(cells, minlength=size * number).astype(np.float64).reshape(size, number)
    return np.asarray(sums, dtype=np.float64), counts


def _spearman(first: Array, second: Array) -> Array:
    """Returns Spearman's coefficient (rows,) between the same rows of two tables (rows, candidates).

    It is 0 where a row does not vary.
    """
    from scipy.stats import rankdata

    x, y = (rankdata(table, axis=1) for table in (first, second))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    spread = np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return np.asarray(np.divide((x * y).sum(1), spread, out=np.zeros_like(spread), where=spread > 0))
