"""Above chance: worked by hand, then what must not matter to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gre_bench.stats.intervals import above_chance, clustered_test
from gre_bench.stats.pair_tests import in_one_family, pair_tests


def test_four_papers_by_hand():
    """Two exchanges, differences 1, 3 and 5, 7: their means are 2 and 6, mean 4, standard error 2, t = 2 with df 1."""
    found = above_chance([2.0, 3.0, 9.0, 10.0], [1.0, 3.0, 5.0, 7.0], list("abcd"), ["x", "x", "y", "y"])
    assert (found.above, found.chance, found.papers, found.swaps) == (4.0, 2.0, 4, 2)
    assert found.p == pytest.approx(2 * stats.t.sf(2, 1))
    half = stats.t.ppf(0.95, 1) * 2
    assert (found.low, found.high) == (pytest.approx(4 - half), pytest.approx(4 + half))


def test_one_exchange_has_no_test():
    found = above_chance([2.0, 3.0], [1.0, 3.0], ["a", "b"], ["x", "x"])
    assert (found.above, found.low, found.high, found.p, found.swaps) == (2.0, None, None, None, 1)


def test_no_pair_is_no_answer():
    with pytest.raises(ValueError, match="no pair"):
        above_chance([], [], [], [])


def test_what_is_always_at_chance_has_p_1():
    assert above_chance([1.0] * 4, [0.0] * 4, list("abcd"), ["x", "x", "y", "y"]).p == 1.0


@given(st.integers(2, 20), st.integers(0, 2**16))
def test_what_a_review_scores_anywhere_and_what_anything_scores_on_a_paper_cancel(exchanges, seed):
    """An effect of the review and one of the paper, however large, move neither the difference nor its interval."""
    random = np.random.default_rng(seed)
    papers = 2 * exchanges
    partner = np.arange(papers) ^ 1
    score = random.normal(size=(papers, papers))
    review, paper = 100 * random.normal(size=papers), 100 * random.normal(size=papers)

    def found(table):
        own = table[np.arange(papers), np.arange(papers)]
        return above_chance(own.tolist(), (own - table[partner, np.arange(papers)]).tolist(), range(papers),
                            (np.arange(papers) // 2).tolist())  # fmt: skip

    plain, moved = found(score), found(score + review[:, None] + paper[None, :])
    assert moved.above == pytest.approx(plain.above, abs=1e-9)
    assert moved.p == pytest.approx(plain.p, abs=1e-6)


def test_the_clustered_test_is_students_where_each_cluster_is_one_value():
    values = [0.3, -1.0, 2.0, 0.7, 1.1]
    test, known = clustered_test(values, list("abcde")), stats.ttest_1samp(values, 0)
    assert test.p == pytest.approx(known.pvalue)
    assert (test.low, test.high) == pytest.approx(tuple(known.confidence_interval(0.90)))


def test_further_tests_join_the_family_of_holms_correction():
    random = np.random.default_rng(0)
    values, papers = random.normal(size=60), list(range(20)) * 3
    tests = pair_tests(values, papers, [name for name in "abc" for _ in range(20)])
    together, others = in_one_family(tests, [0.001, 0.9])
    family = sorted([*(test.p for test in tests), 0.001, 0.9])
    assert others[0] == pytest.approx(min(1.0, 0.001 * (len(family) - family.index(0.001))))
    assert all(one.p_holm >= test.p_holm or math.isclose(one.p_holm, test.p_holm)
               for one, test in zip(together, tests, strict=True))  # fmt: skip
    assert in_one_family(tests, [])[0] == tests
