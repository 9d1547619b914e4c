"""Conditions compared on the papers that both rate: the difference of their RMSE, tested in pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gre_bench.guidelines.closeness import FEWEST, LEVEL, RESAMPLES, Estimate
from gre_bench.stats import paired_test
from gre_bench.stats.effects import holm
from gre_bench.stats.resampling import equal_tailed, weights
from gre_bench.stats.samples import Array


@dataclass(frozen=True, slots=True)
class Difference:
    """RMSE of *first* less that of *second* over the *papers* that both rate; *p* tests the mean squared errors.

    *p_holm* is corrected for all differences of the same call; both are None where no paper's error differs.
    """

    first: str
    second: str
    papers: int
    rmse: Estimate
    p: float | None
    p_holm: float | None = None


def differences(
    ratings: Mapping[str, Mapping[str, float]], human: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> list[Difference]:
    """Each pair of the *ratings* (by name, then paper) on the papers that both rate and that have a *human* mean.

    The interval: percentiles of the bootstrap by paper. The test: Student's on the papers' differences of squared
    error, with Holm's correction over all pairs. Pairs with under three such papers are left out.
    """
    found = []
    for first, second in combinations(ratings, 2):
        common = [paper for paper in ratings[first] if paper in ratings[second] and paper in human]
        if len(common) >= FEWEST:
            one, other = (
                np.array([ratings[name][paper] - human[paper] for paper in common]) for name in (first, second)
            )
            found.append(_difference(first, second, one**2, other**2, resamples, seed))
    tested = [place for place, item in enumerate(found) if item.p is not None]
    for place, p in zip(tested, holm([found[place].p for place in tested]) if tested else [], strict=True):
        found[place] = replace(found[place], p_holm=p)
    return found


def _difference(first: str, second: str, one: Array, other: Array, resamples: int, seed: int) -> Difference:
    size = len(one)
    drawn = [np.sqrt(counts @ one / size) - np.sqrt(counts @ other / size) for counts in weights(size, resamples, seed)]
    value = math.sqrt(float(one.mean())) - math.sqrt(float(other.mean()))
    p = paired_test((one - other).tolist()).p
    interval = equal_tailed(np.concatenate(drawn), LEVEL)
    return Difference(first, second, size, Estimate(value, *interval), None if math.isnan(p) else p)
