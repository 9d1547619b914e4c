"""Scores of planted flaws, conformal detection and the corrected rate, against examples by hand and simulated reviewers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.stats.detection import (
    FEWEST_NULLS,
    FlawScores,
    compute_detection_rate,
    conformal_p_values,
    corrected_naming_rate,
    summarise_flaw_scores,
)


def scores(papers, named=0.0, gain=5.0, seed=0, noise=1.0):
    """Reviews of *papers* papers by a reviewer that names each flaw with probability *named*."""
    rng = np.random.default_rng(seed)
    rows = []
    for paper in range(papers):
        for flaw, family in (("f", "omission"), ("g", "contradiction")):
            own, other, plain, again = rng.normal(0, noise, 4)
            own += gain * (rng.random() < named)
            rows.append(FlawScores(str(paper), flaw, family, own, other, plain, again, elsewhere=rng.normal(0, noise)))
    return rows


def test_conformal_p_values_count_the_nulls_that_reach_the_gain_and_fewer_than_a_hundred_detect_nothing():
    # 19 nulls: the largest p-value that 5% allows is that of a gain above all of them.
    nulls = list(range(19))
    assert conformal_p_values([18.5, 18.0, 17.0, -1.0], nulls).tolist() == [1 / 20, 2 / 20, 3 / 20, 20 / 20]
    assert compute_detection_rate(scores(24)) is None and 4 * 24 < FEWEST_NULLS <= 4 * 25
    assert compute_detection_rate(scores(25)) is not None


def test_equal_reviews_are_never_detected_and_one_paper_gives_no_result():
    same = [FlawScores(str(paper), flaw, "omission", 3.0, 3.0, 3.0, 3.0) for paper in range(60) for flaw in "fg"]
    assert compute_detection_rate(same) == 0.0
    result = summarise_flaw_scores(same)
    assert (result.score.value, result.score.p, result.specific) == (0.0, 1.0, None)
    with pytest.raises(ValueError, match="two papers"):
        summarise_flaw_scores(scores(1))


def test_the_rate_is_that_of_rogan_and_gladen():
    # Rogan & Gladen 1978: (apparent prevalence + specificity − 1)/(sensitivity + specificity − 1).
    assert corrected_naming_rate(0.23, 0.8, 0.05) == pytest.approx((0.23 + 0.95 - 1) / (0.8 + 0.95 - 1))
    assert (corrected_naming_rate(0.02, 0.8, 0.05), corrected_naming_rate(0.9, 0.8, 0.05)) == (0.0, 1.0)
    assert (
        corrected_naming_rate(0.3, None, 0.05)
        is corrected_naming_rate(None, 0.8, 0.05)
        is corrected_naming_rate(0.3, 0.12, 0.05)
        is None
    )


def test_the_score_is_half_the_sum_of_both_differences_by_paper():
    f = FlawScores("p", "f", "omission", own=-10.0, other=-14.0, plain=-13.0, again=-15.0, elsewhere=-12.0)
    g = FlawScores("p", "g", "contradiction", own=-20.0, other=-22.0, plain=-20.0, again=-20.5)
    second = [replace(item, paper="q") for item in (f, g)]
    result = summarise_flaw_scores([f, g, *second])
    assert result.score.value == pytest.approx((4.0 + 2.0) / 2)
    assert result.other.value == pytest.approx((-1.0 - 2.0) / 2)
    # The null of two reviews has the form of the score: +2 for f, −0.5 for g, halved.
    assert result.again.value == pytest.approx((2.0 - 0.5) / 2)
    assert result.specific and result.specific.value == pytest.approx(2.0)
    assert {name: test.value for name, (test, _) in result.families.items()} == {"contradiction": 2.0, "omission": 4.0}


@given(st.integers(0, 10_000), st.floats(-50, 50))
def test_what_a_reviewer_says_of_every_text_counts_nothing(seed, shift):
    rows = scores(30, 0.5, seed=seed)
    every = [replace(item, own=item.own + shift, other=item.other + shift, plain=item.plain + shift, again=item.again + shift)
             for item in rows]  # fmt: skip
    assert summarise_flaw_scores(every).score.value == pytest.approx(summarise_flaw_scores(rows).score.value, abs=1e-9)
    assert compute_detection_rate(every) == pytest.approx(compute_detection_rate(rows), abs=0.05)


def test_false_detections_keep_their_share_and_intervals_cover_zero():
    results = [summarise_flaw_scores(scores(60, seed=seed)) for seed in range(200)]
    assert np.mean([result.detected for result in results]) <= 0.06
    assert np.mean([result.score.low <= 0 <= result.score.high for result in results]) == pytest.approx(0.95, abs=0.03)
    assert np.mean([min(p for _, p in result.families.values()) < 0.05 for result in results]) <= 0.07


def test_the_estimated_rate_is_the_true_one():
    sure = [compute_detection_rate(scores(60, 1.0, seed=seed + 10_000)) for seed in range(100)]
    for named in (0.0, 0.25, 0.5, 1.0):
        rates = [
            corrected_naming_rate(compute_detection_rate(scores(60, named, seed=seed)), true, 0.05)
            for seed, true in enumerate(sure)
        ]
        assert np.mean(rates) == pytest.approx(named, abs=0.05)
