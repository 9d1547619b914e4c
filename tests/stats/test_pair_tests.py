"""Tests of all pairs of candidates: against SciPy's paired test first, then properties, then faults."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.pair_tests import run_candidate_tests


def table(random: np.random.Generator, means, papers: int):
    """Values, papers, candidates, references: two references a paper, harder and easier papers."""
    values = np.asarray(means) + random.normal(size=(papers, 2, 1)) + random.normal(size=(papers, 2, len(means)))
    where = np.indices(values.shape)
    names = [f"c{k}" for k in where[2].ravel()]
    return values.ravel(), where[0].ravel().tolist(), names, where[1].ravel().tolist()


def test_each_test_is_students_paired_test_of_paper_means_and_holm_is_over_all_of_them():
    values, papers, names, references = table(np.random.default_rng(0), [0, 0.3, 1], 25)
    found = run_candidate_tests(values, papers, names, references)
    by_paper = values.reshape(25, 2, 3).mean(axis=1)
    wanted = [stats.ttest_rel(by_paper[:, i], by_paper[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert [(test.first, test.second) for test in found] == [("c0", "c1"), ("c0", "c2"), ("c1", "c2")]
    assert [test.p for test in found] == pytest.approx([one.pvalue for one in wanted])
    assert [test.p_holm for test in found] == pytest.approx(adjust_by_holm([one.pvalue for one in wanted]))
    for test, one in zip(found, wanted, strict=True):
        low, high = one.confidence_interval(0.90)
        assert (test.low, test.high) == pytest.approx((low, high))


def test_a_missing_pair_takes_its_reference_out_of_the_difference_and_not_the_paper():
    # Reference 1 is ten nats harder; the second candidate lacks it on paper 0.
    rows = [(p, r, c, 10.0 * r + (c == "b") + 0.1 * p * (c == "b")) for p in range(4) for r in (0, 1) for c in "ab"]
    rows = [row for row in rows if row[:3] != (0, 1, "b")]
    papers, references, names, values = map(list, zip(*rows, strict=True))
    (test,) = run_candidate_tests(values, papers, names, references)
    assert test.difference == pytest.approx(-(1 + 0.1 * 1.5))
    assert test.papers == 4
    with pytest.raises(ValueError, match="a and b do not have two papers in common"):
        run_candidate_tests([1.0, 2.0, 3.0], ["p", "p", "q"], ["a", "b", "a"])


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(2, 4))
def test_the_order_of_rows_changes_nothing_and_flipping_changes_the_sign(seed, papers, candidates):
    random = np.random.default_rng(seed)
    values, owners, names, references = table(random, np.zeros(candidates), papers)
    found = {frozenset((t.first, t.second)): t for t in run_candidate_tests(values, owners, names, references)}
    order = random.permutation(len(values))
    mixed = ([column[k] for k in order] for column in (values, owners, names, references))
    for test in run_candidate_tests(*mixed):
        other = found[frozenset((test.first, test.second))]
        other = other if other.first == test.first else other.with_candidates_reversed()
        assert (test.difference, test.low, test.high, test.p_holm) == pytest.approx(
            (other.difference, other.low, other.high, other.p_holm)
        )


def test_median_trimmed_mean_and_sign_test_are_scipys_and_turn_with_the_pair():
    random = np.random.default_rng(4)
    for papers in (7, 25, 113):
        one = random.standard_t(2, size=papers) + 0.3
        one[0] = 0.0  # a tie
        values, owners, names = [*one, *np.zeros(papers)], [*range(papers)] * 2, ["a"] * papers + ["b"] * papers
        (test,) = run_candidate_tests(values, owners, names)
        low, high = stats.mstats.trimmed_mean_ci(one, (0.1, 0.1), alpha=0.1)
        assert (test.trimmed_low, test.trimmed_high) == pytest.approx((low, high))
        assert (test.trimmed, test.median) == pytest.approx((stats.trim_mean(one, 0.1), np.median(one)))
        assert test.sign_p == pytest.approx(stats.binomtest(int((one > 0).sum()), int((one != 0).sum())).pvalue)
        assert test.win_rate == pytest.approx(((one > 0).sum() + 0.5) / papers)
        back = test.with_candidates_reversed()
        assert back.with_candidates_reversed() == test and back.win_rate == pytest.approx(1 - test.win_rate)
        assert (back.trimmed_low, back.ahead, back.median) == (-test.trimmed_high, test.behind, -test.median)


def test_a_pair_without_any_difference_is_ahead_of_nobody():
    (test,) = run_candidate_tests([1.0, 2.0, 1.0, 2.0], [0, 1, 0, 1], ["a", "a", "b", "b"])
    assert (test.sign_p, test.win_rate, test.surely_ahead, test.trimmed) == (1.0, 0.5, False, 0.0)
