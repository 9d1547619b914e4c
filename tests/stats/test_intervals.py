"""Intervals of means, scores above chance, changes: published examples, SciPy, brute force, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gre_bench.stats import intervals
from gre_bench.stats.auc import compute_auc, compute_ordered_auc
from gre_bench.stats.intervals import (
    SampleMean,
    above_chance,
    clustered_test,
    compare_means_by_welch,
    flat_interval,
    paired_test,
    two_way_clustered_error,
)
from gre_bench.stats.pair_tests import correct_in_one_family, run_candidate_tests

# Student's sleep data (Student 1908, table of extra hours; ten patients, two drugs): t = -4.0621, df = 9, p = 0.002833.
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_paired_test_gives_the_published_values_of_students_sleep_data():
    found = paired_test([a - b for a, b in zip(SLEEP_1, SLEEP_2, strict=True)], level=0.95)
    assert found.value == pytest.approx(-1.58)
    assert (found.low, found.high) == (pytest.approx(-2.4598858, abs=1e-6), pytest.approx(-0.7001142, abs=1e-6))
    assert found.p == pytest.approx(0.002832890, abs=1e-8)


def test_flat_interval_is_mean_and_1645_standard_errors():
    found = flat_interval([1.0, 2.0, 3.0, 4.0])
    half = 1.6448536269514722 * math.sqrt(5 / 3) / 2
    assert (found.value, found.low, found.high) == (2.5, pytest.approx(2.5 - half), pytest.approx(2.5 + half))


def test_clustered_interval_does_not_take_copies_for_evidence():
    values = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0]
    once = clustered_test(values, range(6))
    twice = clustered_test(values * 2, [*range(6), *range(6)])
    assert (twice.low, twice.high) == (pytest.approx(once.low), pytest.approx(once.high))
    assert flat_interval(values * 2).high < flat_interval(values).high


@pytest.mark.parametrize("bad", [[1.0], [1.0, math.nan], [1.0, math.inf]])
def test_an_interval_of_too_few_or_broken_values_is_an_error(bad):
    with pytest.raises(ValueError):
        flat_interval(bad)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=12), st.lists(st.integers(-3, 3), min_size=2, max_size=12))
def test_auc_equals_counting_all_pairs_with_ties_half(x, y):
    counted = np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y])
    found = compute_auc(x, list(range(len(x))), y, [f"y{n}" for n in range(len(y))])
    assert found.auc == pytest.approx(counted)
    assert 0 <= found.low <= found.auc <= found.high <= 1


def test_student_quantiles_are_those_of_the_printed_tables():
    by_df = {row["df"]: row for row in intervals.student_quantiles(120)}
    for df, q90, q95 in [(1, 6.314, 12.706), (5, 2.015, 2.571), (30, 1.697, 2.042), (120, 1.658, 1.980)]:
        assert (round(by_df[df]["q90"], 3), round(by_df[df]["q95"], 3)) == (q90, q95)


LABELLED = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(0, 4)), min_size=6, max_size=40
).filter(lambda rows: min(len(set(column)) for column in zip(*rows, strict=True)) > 1)
"""Items as (score, label, paper)."""


@given(LABELLED)
def test_an_ordered_separation_is_somers_d_and_for_two_labels_the_separation(rows):
    scores, labels, papers = (list(column) for column in zip(*rows, strict=True))
    somers = scipy_stats.somersd(labels, scores).statistic
    try:
        found = compute_ordered_auc(scores, labels, papers)
    except ValueError:
        return
    assert found.auc == pytest.approx((somers + 1) / 2)
    two = [min(label, 1) for label in labels]
    same, other = [row for row, label in zip(rows, two, strict=True) if label], [row for row in rows if row[1] == 0]
    if len(same) < 2 or len(other) < 2:
        return
    expected = compute_auc([row[0] for row in same], [row[2] for row in same],
                                [row[0] for row in other], [row[2] for row in other])  # fmt: skip
    found = compute_ordered_auc(scores, two, papers)
    assert found.auc == pytest.approx(expected.auc)
    if found.low is None:
        assert expected.high - expected.low == pytest.approx(0, abs=1e-6)
    else:
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_an_ordered_separation_within_papers_ignores_what_differs_between_them():
    scores, labels = [1.0, 0.0, 11.0, 10.0, 5.0], [1, 0, 1, 0, 0]
    found = compute_ordered_auc(scores, labels, list("aabbc"), within=True)
    assert (found.auc, found.pairs, found.papers) == (1.0, 2, 2)
    assert found.low is found.high is None, "two papers without an exception leave the doubt unknown, not none"
    assert compute_ordered_auc(scores, labels, list("aabbc")).auc == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="fewer than two papers"):
        compute_ordered_auc(scores, labels, list("abcde"), within=True)


def test_simulated_coverage_of_the_ordered_separation_is_nominal():
    random, hits = np.random.default_rng(5), {False: 0, True: 0}
    papers = np.repeat(np.arange(60), 6)

    def true_auc(variance):
        return (2 * scipy_stats.norm.cdf(0.4 / variance**0.5) + scipy_stats.norm.cdf(0.8 / variance**0.5)) / 3

    truth = {False: 5 / 359 * true_auc(2.0) + 354 / 359 * true_auc(2.5), True: true_auc(2.0)}
    for _ in range(400):
        labels = random.integers(0, 3, len(papers)).astype(float)
        scores = 0.5 * random.normal(size=60)[papers] + random.normal(size=len(papers)) + 0.4 * labels
        for within in hits:
            found = compute_ordered_auc(scores, labels, papers, within)
            hits[within] += found.low <= truth[within] <= found.high
    assert all(0.93 <= count / 400 <= 0.97 for count in hits.values()), hits


def test_four_papers_by_hand():
    """Two exchanges, differences 1, 3 and 5, 7: their means are 2 and 6, mean 4, standard error 2, t = 2 with df 1."""
    found = above_chance([2.0, 3.0, 9.0, 10.0], [1.0, 3.0, 5.0, 7.0], list("abcd"), ["x", "x", "y", "y"])
    assert (found.above, found.chance, found.papers, found.swaps) == (4.0, 2.0, 4, 2)
    assert found.p == pytest.approx(2 * scipy_stats.t.sf(2, 1))
    half = scipy_stats.t.ppf(0.95, 1) * 2
    assert (found.low, found.high) == (pytest.approx(4 - half), pytest.approx(4 + half))


def test_one_exchange_has_no_test_what_is_always_at_chance_has_p_1_and_no_pair_is_no_answer():
    found = above_chance([2.0, 3.0], [1.0, 3.0], ["a", "b"], ["x", "x"])
    assert (found.above, found.low, found.high, found.p, found.swaps) == (2.0, None, None, None, 1)
    assert above_chance([1.0] * 4, [0.0] * 4, list("abcd"), ["x", "x", "y", "y"]).p == 1.0
    with pytest.raises(ValueError, match="no pair"):
        above_chance([], [], [], [])


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


def test_papers_that_either_candidate_exchanges_reviews_with_depend_on_each_other():
    """Four papers by hand: the first candidate exchanges a with b and c with d, the second a with c and b with d."""
    values, deviations = [1.0, 3.0, 5.0, 11.0], [-4.0, -2.0, 0.0, 6.0]
    first, second = ["x", "x", "y", "y"], ["u", "v", "u", "v"]
    squares = [2 * (6**2 + 6**2) / 16, 2 * (4**2 + 4**2) / 16, 4 / 3 * sum(d * d for d in deviations) / 16]
    assert two_way_clustered_error(values, first, second) == (
        pytest.approx((squares[0] + squares[1] - squares[2]) ** 0.5),
        2,
    )
    assert two_way_clustered_error(values, "abcd", "abcd") == (pytest.approx(scipy_stats.sem(values)), 4)
    # Opposite within each exchange: the three terms leave less than nothing, and the last of them stands.
    assert two_way_clustered_error([1.0, -1.0, 1.0, -1.0], first, first)[0] == 0
    assert two_way_clustered_error([1.0, -1.0, -1.0, 1.0], first, second)[0] == pytest.approx(
        scipy_stats.sem([1, -1, -1, 1])
    )


def test_of_differences_that_are_none_about_five_percent_are_found_though_papers_exchange_reviews():
    """By paper, it would be 15%: what the reviews of two papers score by chance depends on how alike the two are."""
    random, papers, found = np.random.default_rng(0), 60, {"exchange": 0, "paper": 0}
    for _ in range(1000):
        sides, swaps = [], []
        for _ in range(2):
            swap = np.empty(papers, dtype=int)
            swap[random.permutation(papers)] = np.arange(papers) // 2
            sides.append(2 * random.normal(size=papers // 2)[swap] + random.normal(size=papers))
            swaps.append(swap.tolist())
        difference = sides[0] - sides[1]
        error, units = two_way_clustered_error(difference.tolist(), *swaps)
        found["exchange"] += abs(difference.mean()) / error > scipy_stats.t.ppf(0.975, units - 1)
        found["paper"] += scipy_stats.ttest_1samp(difference, 0).pvalue < 0.05
    assert found["exchange"] < 75 and found["paper"] > 110, found


def test_the_clustered_test_is_students_where_each_cluster_is_one_value():
    values = [0.3, -1.0, 2.0, 0.7, 1.1]
    test, known = clustered_test(values, list("abcde")), scipy_stats.ttest_1samp(values, 0)
    assert test.p == pytest.approx(known.pvalue)
    assert (test.low, test.high) == pytest.approx(tuple(known.confidence_interval(0.90)))


def test_further_tests_join_the_family_of_holms_correction():
    random = np.random.default_rng(0)
    values, papers = random.normal(size=60), list(range(20)) * 3
    tests = run_candidate_tests(values, papers, [name for name in "abc" for _ in range(20)])
    together, others = correct_in_one_family(tests, [0.001, 0.9])
    family = sorted([*(test.p for test in tests), 0.001, 0.9])
    assert others[0] == pytest.approx(min(1.0, 0.001 * (len(family) - family.index(0.001))))
    assert all(one.p_holm >= test.p_holm or math.isclose(one.p_holm, test.p_holm)
               for one, test in zip(together, tests, strict=True))  # fmt: skip
    assert correct_in_one_family(tests, [])[0] == tests


def moment(values) -> SampleMean:
    return SampleMean(float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values))


@pytest.mark.parametrize(("sizes", "spread"), [((30, 30), (1, 1)), ((5, 80), (3, 0.2)), ((2, 3), (1, 1))])
def test_it_is_welchs_test(sizes, spread):
    random = np.random.default_rng(0)
    one, other = (random.normal(k, spread[k], sizes[k]) for k in (0, 1))
    expected = scipy_stats.ttest_ind(other, one, equal_var=False)
    low, high = expected.confidence_interval(0.90)
    found = compare_means_by_welch(moment(one), moment(other))
    assert (found.value, found.low, found.high, found.p) == pytest.approx(
        (other.mean() - one.mean(), low, high, expected.pvalue)
    )


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        ((SampleMean(0, 1, 1), SampleMean(0, 1, 9)), "two papers"),
        ((SampleMean(0, 0, 9), SampleMean(1, 0, 9)), "neither side varies"),
    ],
)
def test_what_says_nothing_is_refused(sides, message):
    with pytest.raises(ValueError, match=message):
        compare_means_by_welch(*sides)
