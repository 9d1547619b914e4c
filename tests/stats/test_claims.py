"""Verdicts on claims: worked by hand, the share of wrong verdicts by simulation, and the n that a claim asks for."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gre_bench.stats.claims import Contrast, contrast_of, from_interval, judge_claim


def sure(value: float, name: str = "c") -> Contrast:
    return Contrast(name, value, 0.1, 100)


def test_a_contrast_is_students_interval_of_the_mean():
    differences = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    low, high = contrast_of("sleep", differences).interval()
    expected = scipy_stats.ttest_1samp(differences, 0).confidence_interval()
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert contrast_of("one", [1.0]) is None
    assert from_interval("stored", 0.3, 0.1, 0.5, 20).interval() == pytest.approx((0.1, 0.5))


@pytest.mark.parametrize(
    ("values", "over", "verdict"),
    [
        ((0.5, 0.9), "all", "holds"),
        ((0.5, 0.1), "all", "cannot be told"),
        ((0.5, -0.9), "all", "does not hold"),
        ((0.5, -0.9), "any", "holds"),
        ((0.1, -0.9), "any", "cannot be told"),
        ((-0.5, -0.9), "any", "does not hold"),
        ((), "all", "cannot be told"),
    ],
)
def test_all_or_any_of_the_contrasts_decide(values, over, verdict):
    assert judge_claim([sure(value) for value in values], over).verdict == verdict


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_a_claim_of_some_is_the_mirror_image_of_its_denial_of_all(values):
    mirror = {"holds": "does not hold", "does not hold": "holds", "cannot be told": "cannot be told"}
    some = judge_claim([sure(value) for value in values], "any").verdict
    assert judge_claim([sure(-value) for value in values], "all").verdict == mirror[some]


def test_of_claims_on_the_edge_few_are_told_wrongly():
    """Five contrasts of mean zero: that all are above zero is never quite so, and is denied in at most 5% of simulations."""
    chance = random.Random(1)
    verdicts = [
        judge_claim([Contrast("c", chance.gauss(0, 0.1), 0.1, 100) for _ in range(5)]).verdict for _ in range(2000)
    ]
    assert verdicts.count("does not hold") / 2000 <= 0.05 + 0.01
    assert verdicts.count("holds") / 2000 < 0.001


def test_the_n_that_is_needed_finds_the_effect_with_a_power_of_80_per_cent():
    one = Contrast("c", 0.1, 0.1, 100)
    assert judge_claim([one]).needed == one.needed == math.ceil(100 * (1.959964 + 0.841621) ** 2)
    assert sure(0.5).needed is None and Contrast("c", 0.0, 0.1, 100).needed is None
    assert Contrast("two that wrote the same", 0.0, 0.0, 6).needed is None
    error = 0.1 * math.sqrt(100 / one.needed)
    power = 1 - scipy_stats.norm.cdf(1.959964 - 0.1 / error)
    assert power == pytest.approx(0.8, abs=0.005)
    # All are asked for: the most. Any: the least.
    two = Contrast("d", 0.05, 0.1, 100)
    assert judge_claim([one, two]).needed == two.needed > judge_claim([one, two], "any").needed == one.needed
