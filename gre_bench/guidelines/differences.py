"""Compares the RMSE of every two conditions by a paired test.

A condition is the guideline under which an LM rates papers; one condition has no guideline. A comparison uses the
papers that have a rating under both conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gre_bench.guidelines.closeness import FEWEST, LEVEL, RESAMPLES, Estimate
from gre_bench.stats import paired_test
from gre_bench.stats.effects import holm
from gre_bench.stats.samples import Array, equal_tailed, weights


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference in RMSE between two conditions, over the papers rated under both.

    - *papers*: the number of these papers.
    - *rmse*: the RMSE of *first* minus that of *second*, with its 95% interval.
    - *p*: the p-value of the test that both mean squared errors are equal; None if no paper's error differs.
    - *p_holm*: *p* after Holm's correction over all differences of the same call.
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
    """Returns the difference between every two conditions of *ratings* (condition → paper → rating).

    *human* holds the mean human rating of each paper. A comparison uses the papers with a human mean and a rating under
    both conditions. Pairs of conditions with fewer than `FEWEST` such papers are left out.

    The interval uses percentiles of the bootstrap by paper. The p-value is that of Student's test on the papers'
    differences of squared error, with Holm's correction over all pairs of conditions.
    """
    results = []
    for first, second in combinations(ratings, 2):
        common = [paper for paper in ratings[first] if paper in ratings[second] and paper in human]
        if len(common) >= FEWEST:
            own, other = (
                np.array([ratings[name][paper] - human[paper] for paper in common]) for name in (first, second)
            )
            results.append(_difference(first, second, own**2, other**2, resamples, seed))
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
