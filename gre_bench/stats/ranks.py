"""How sure is a rank? Candidates scored on the same papers, best first, rank 1 the best.

Two answers stand side by side. *low* to *high* is the percentile interval of a candidate's rank when papers are drawn
again (bootstrap), for one candidate at a time; ranks being whole and near-equal candidates changing places, it holds
the true rank in 95 to 99% of simulations where 90 are meant.
*surely_low* to *surely_high* is what significance allows (Mogstad et al. 2024): 1 + the candidates that are surely
better to all less those that are surely worse, by Student's paired test over the papers both have, with Holm's
correction over all pairs of candidates. All these hold at once, with at least the probability stated (in fact 99%).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.stats.pair_tests import PairTest, pair_tests
from gre_bench.stats.resampling import weights
from gre_bench.stats.samples import Array, finite, places


@dataclass(frozen=True, slots=True)
class Rank:
    """A candidate's mean score and rank, with the bootstrap's and the simultaneous interval of the rank."""

    candidate: str
    mean: float
    rank: int
    low: int
    high: int
    surely_low: int
    surely_high: int


@dataclass(frozen=True, slots=True)
class Consistency:
    """Agreement of two boards over the names they share; *left_out* stand on one board only."""

    spearman: float
    spearman_p: float
    kendall: float
    kendall_p: float
    shared: int
    left_out: tuple[str, ...]


def rank_intervals(
    values: Sequence[float],
    papers: Sequence[object],
    candidates: Sequence[str],
    level: float = 0.90,
    resamples: int = 10_000,
    seed: int = 0,
    tests: Sequence[PairTest] | None = None,
) -> list[Rank]:
    """Ranks by mean of *values* (n,), each of a paper and a candidate, best first; equal means share the better rank.

    *tests*: those of `pair_tests` on the same values, where they are there already. ValueError: fewer than two papers
    or candidates, or two candidates without two papers in common.
    """
    scores = finite(values, at_least=2)
    names = list(dict.fromkeys(candidates))
    groups, size = places(papers, len(scores))
    kinds, number = places(candidates, len(scores))
    if size < 2 or number < 2:
        raise ValueError("ranks need at least two candidates on at least two papers")
    cells = groups * number + kinds
    counts = np.bincount(cells, minlength=size * number).astype(np.float64).reshape(size, number)
    sums = np.bincount(cells, weights=scores, minlength=size * number).reshape(size, number)
    means = sums.sum(axis=0) / counts.sum(axis=0)
    drawn = np.concatenate([_ranks(_ratio(block @ sums, block @ counts)) for block in weights(size, resamples, seed)])
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.nanquantile(drawn, tails, axis=0, method="inverted_cdf")
    better, worse = _sure(tests or pair_tests(values, papers, candidates), names, 1 - level)
    ranks = _ranks(means[None])[0]
    found = [
        Rank(name, float(means[k]), *map(int, (ranks[k], low[k], high[k], 1 + better[k], number - worse[k])))
        for k, name in enumerate(names)
    ]
    return sorted(found, key=lambda one: (one.rank, one.candidate))


def consistency(one: Mapping[str, float], other: Mapping[str, float]) -> Consistency:
    """Spearman and Kendall's tau-b between two boards (name → score). ValueError: under three names in common."""
    from scipy import stats

    shared = [name for name in one if name in other]
    if len(shared) < 3:
        raise ValueError(f"two boards need three names in common, these have {len(shared)}")
    x, y = (finite([board[name] for name in shared], at_least=3) for board in (one, other))
    if x.min() == x.max() or y.min() == y.max():
        raise ValueError("all scores of a board are equal: it has no order to compare")
    left_out = tuple(sorted({*one, *other} - set(shared)))
    rho: Any = stats.spearmanr(x, y)
    tau: Any = stats.kendalltau(x, y)
    rho_tau = (float(rho.statistic), float(rho.pvalue), float(tau.statistic), float(tau.pvalue))
    return Consistency(*rho_tau, len(shared), left_out)


def _ratio(sums: Array, counts: Array) -> Array:
    """Means, NaN where there is nothing to take one of."""
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0))


def _ranks(means: Array) -> Array:
    """Ranks (rows, candidates) of *means*, 1 the highest, equal ones sharing the better; NaN stays NaN."""
    above = (means[:, None, :] > means[:, :, None]).sum(axis=2)
    return np.where(np.isnan(means), np.nan, 1.0 + above)


def _sure(tests: Sequence[PairTest], names: Sequence[str], alpha: float) -> tuple[list[int], list[int]]:
    """How many candidates are surely better, and surely worse, than each of *names*."""
    better, worse = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for test in tests:
        if test.p_holm < alpha:
            upper, lower = (test.first, test.second) if test.difference > 0 else (test.second, test.first)
            better[lower] += 1
            worse[upper] += 1
    return list(better.values()), list(worse.values())
