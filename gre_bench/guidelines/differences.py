"""Compares each two conditions on the papers rated under both: a paired test of the difference of their RMSE."""

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
    """The RMSE of condition *first* minus that of *second*, over the *papers* (a number) rated under both.

    *p* tests whether their mean squared errors are equal. *p_holm* is corrected over all differences of the same call.
    Both p-values are None if no paper's error differs.
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
    """Returns the difference between each two conditions of *ratings* (condition → paper → rating).

    It is computed on the papers that are rated under both and have a *human* mean. Two conditions with fewer than
    `FEWEST` such papers are left out. The interval uses percentiles of the bootstrap by paper. The test is Student's on
    the papers' differences of squared error, with Holm's correction over all pairs of conditions.
    """
    results = []
    for first, second in combinations(ratings, 2):
        common = [paper for paper in ratings[first] if paper in ratings[second] and paper in human]
        if len(common) >= FEWEST:
            one, other = (
                np.array([ratings[name][paper] - human[paper] for paper in common]) for name in (first, second)
            )
            results.append(_difference(first, second, one**2, other**2, resamples, seed))
    tested = [index for index, item in enumerate(results) if item.p is not None]
    for index, p in zip(tested, holm([results[index].p for index in tested]) if tested else [], strict=True):
        results[index] = replace(results[index], p_holm=p)
    return results


def _difference(
    first: str, second: str, first_errors: Array, second_errors: Array, resamples: int, seed: int
) -> Difference:
    size = len(first_errors)
    drawn = [
        np.sqrt(counts @ first_errors / size) - np.sqrt(counts @ second_errors / size)
        for counts in weights(size, resamples, seed)
    ]
    value = math.sqrt(float(first_errors.mean())) - math.sqrt(float(second_errors.mean()))
    p = paired_test((first_errors - second_errors).tolist()).p
    interval = equal_tailed(np.concatenate(drawn), LEVEL)
    return Difference(first, second, size, Estimate(value, *interval), None if math.isnan(p) else p)
