"""Verdicts on claims: worked by hand, and the share of wrong verdicts by simulation."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gre_bench.stats.claims import Contrast, contrast_of, decided, from_interval, judge_claim


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
    verdicts = [judge_claim([sure(chance.gauss(0, 0.1)) for _ in range(5)]).verdict for _ in range(2000)]
    assert verdicts.count("does not hold") / 2000 <= 0.05 + 0.01
    assert verdicts.count("holds") / 2000 < 0.001


def test_p_is_the_largest_for_all_and_bonferronis_for_any():
    values = (0.3, 0.2, -0.1)
    above = [float(scipy_stats.norm.sf(value / 0.1)) for value in values]
    contrasts = [sure(value) for value in values]
    # That all are above zero is contradicted by the last one.
    assert judge_claim(contrasts).p == pytest.approx(2 * min(max(above), 3 * min(1 - p for p in above)))
    assert judge_claim(contrasts[:2]).p == pytest.approx(2 * max(above[:2]))
    assert judge_claim(contrasts, "any").p == pytest.approx(2 * 3 * min(above))
    assert judge_claim(contrasts, "any").deciding is contrasts[0] and judge_claim(contrasts).deciding is contrasts[2]
    assert judge_claim([Contrast("the same texts", 0.0, 0.0, 6)]).p == 1


def test_one_difference_that_is_significant_alone_is_not_among_many_claims_and_metrics():
    """p = .016 is told alone; beside three metrics that show nothing, Holm multiplies it by four."""
    one, nothing = judge_claim([sure(0.241)]), judge_claim([sure(0.02)])
    assert one.verdict == "holds"
    together = decided([one, nothing, judge_claim([]), nothing, nothing])
    assert [result.verdict for result in together] == ["cannot be told"] * 5
    assert together[0].p_holm == pytest.approx(4 * one.p) and together[0].tests == 4
    assert together[2].p_holm is None


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.integers(1, 9))
def test_a_larger_family_never_tells_more(values, others):
    one = judge_claim([sure(value) for value in values])
    among = decided([one, *[judge_claim([sure(0.1 * k)]) for k in range(others)]])[0]
    assert among.p_holm >= one.p and among.verdict in (one.verdict, "cannot be told")


def test_in_a_family_without_any_effect_a_verdict_is_given_in_at_most_5_per_cent_of_simulations():
    chance, wrong = random.Random(2), 0
    for _ in range(2000):
        contrasts = [[sure(chance.gauss(0, 0.1)) for _ in range(1 + k % 3)] for k in range(6)]
        family = [judge_claim(few, ("all", "any")[k % 2]) for k, few in enumerate(contrasts)]
        wrong += any(result.verdict != "cannot be told" for result in decided(family))
    assert wrong / 2000 <= 0.05 + 0.01


def test_a_margin_is_for_holding_alone():
    """d = 0.05 ± 0.02 lies below a margin of 0.1, and above zero."""
    rise = Contrast("rises", -0.05, 0.02, 300)
    assert judge_claim([rise], margin=0.1).leaning in ("holds", "does not hold")
    assert judge_claim([Contrast("c", 0.0, 0.02, 300)], margin=0.1).verdict == "holds"
    assert judge_claim([Contrast("c", -0.3, 0.02, 300)], margin=0.1).verdict == "does not hold"
    assert judge_claim([Contrast("c", 0.0, 0.2, 300)], margin=0.1).verdict == "cannot be told"


def test_a_claim_with_a_part_missing_may_fail_but_cannot_hold():
    open_one = judge_claim([sure(0.9)], lacking="not tried: b")
    assert (open_one.verdict, open_one.why) == ("cannot be told", "not tried: b")
    failed = judge_claim([sure(-0.9)], lacking="not tried: b")
    assert (failed.verdict, failed.why) == ("does not hold", "")
