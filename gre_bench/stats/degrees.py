"""Finds from which degree of a harm a test detects that scores fall, and from which degree scores rise.

The differences of scores, harmed less unharmed, form a table with a row for each paper and a column for each degree. A
degree is *told* (detectable) on n papers if a two-sided test at 5% shows the fall with a probability of 80%. This
probability is computed from the mean and the standard deviation over papers
(`gre_bench.stats.pair_tests.smallest_detectable_difference`), and checked by a bootstrap of n papers.

A curve is *monotone* unless one step to the next degree is a significant rise and another a significant fall. A harm
*pays* (raises the score) from the least degree whose mean is significantly above zero. Both are tested at 5%, after
Holm's correction for all steps or all degrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.intervals import PairedTest, paired_test
from gre_bench.stats.pair_tests import smallest_detectable_difference
from gre_bench.stats.samples import Array

PAPERS = (60, 113, 300)
"""The numbers of papers for which the least detectable degree is computed."""
ALPHA, POWER = 0.05, 0.8
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class DegreeCurve:
    """How scores change with the degree of a harm.

    - *papers*: the number of papers. *means*, *lows*, *highs*, *sds*: by degree, the mean difference with its 95%
      interval by paper, and the standard deviation over papers.
    - *monotone*, *pays*: as the module's docstring defines them; *pays* is None if no degree raises the score.
    - *told*: number of papers → the least degree such that it and all higher degrees are detectable; None if the
      highest degree is not detectable.
    - *power*: number of papers → the share of resamples, each of that many papers, in which a test detects the degree
      in *told*; None if *told* is None.
    """

    papers: int
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    sds: tuple[float, ...]
    monotone: bool
    pays: int | None
    told: dict[str, int | None]
    power: dict[str, float | None]


def compute_degree_curve(differences: Array, degrees: Sequence[int] = range(1, 11), seed: int = 0) -> DegreeCurve:
    """Returns how scores change with the degree of a harm.

    Args:
        differences: (papers, degrees) the score of a paper after a harm less its score before, in the metric's unit.
        degrees: the degree of each column, rising. The curve states its least detectable degrees (*told*) and the least
            degree that raises the score (*pays*) as members of this sequence.
        seed: the seed of the bootstrap.

    Returns:
        The curve; its means, interval ends and standard deviations are in the unit of *differences*.

    Raises:
        ValueError: there are fewer than two papers, a difference is not finite, or a column has no degree.
    """
    if len(degrees) != differences.shape[1]:
        raise ValueError(f"{differences.shape[1]} columns for {len(degrees)} degrees")
    tests = [paired_test(column, level=1 - ALPHA) for column in differences.T]
    sds = differences.std(axis=0, ddof=1)
    steps = [paired_test(step) for step in np.diff(differences, axis=1, prepend=0.0).T]
    turns = {math.copysign(1, step.value) for step, p in zip(steps, _adjust_p_values(steps), strict=True) if p < ALPHA}
    rises = [p < ALPHA and test.value > 0 for test, p in zip(tests, _adjust_p_values(tests), strict=True)]
    by_papers: dict[str, int | None] = {}
    power: dict[str, float | None] = {}
    for papers in PAPERS:
        falls = [test.value < 0 and -test.value >= smallest_detectable_difference(sd, papers, ALPHA, POWER)
                 for test, sd in zip(tests, sds, strict=True)]  # fmt: skip
        least = max((number for number, fall in enumerate(falls, start=1) if not fall), default=0)
        by_papers[str(papers)], power[str(papers)] = None, None
        if least < len(falls):
            by_papers[str(papers)] = degrees[least]
            power[str(papers)] = _estimate_power(differences[:, least], papers, seed)
    means, lows, highs = (tuple(float(getattr(test, name)) for test in tests) for name in ("value", "low", "high"))
    pays = degrees[rises.index(True)] if any(rises) else None
    return DegreeCurve(
        len(differences), means, lows, highs, tuple(map(float, sds)), len(turns) < 2, pays, by_papers, power
    )


def _adjust_p_values(tests: list[PairedTest]) -> list[float]:
    return adjust_by_holm([float(not test.value) if math.isnan(test.p) else test.p for test in tests])


def _estimate_power(differences: Array, papers: int, seed: int) -> float:
    """Returns the share of resamples, each of *papers* papers, in which a test at 5% detects a fall."""
    from scipy.special import stdtrit

    drawn = differences[np.random.default_rng(seed).integers(len(differences), size=(RESAMPLES, papers))]
    t = float(stdtrit(papers - 1, 1 - ALPHA / 2))
    return float((drawn.mean(axis=1) + t * drawn.std(axis=1, ddof=1) / math.sqrt(papers) < 0).mean())
