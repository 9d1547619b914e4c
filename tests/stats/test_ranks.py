"""Ranks of candidates, and whether two boards or measures order them alike: published boards first, then properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gre_bench.ranking.published_boards import load
from gre_bench.stats.pair_tests import run_candidate_tests
from gre_bench.stats.ranks import (
    correlate_ranks_by_two_measures,
    count_significant_orders,
    leads_over_baseline,
    rank_consistency,
    rank_intervals,
    ranks,
)


def scored(random: np.random.Generator, means, papers: int, noise: float = 1.0):
    """Values, papers, candidates: two pairs a paper and candidate, papers and references of their own difficulty."""
    count = len(means)
    reference = 2 * random.normal(size=(papers, 1, 1)) + random.normal(size=(papers, 2, 1))
    values = np.asarray(means) + reference + noise * random.normal(size=(papers, 2, count))
    where = np.indices(values.shape)
    return values.ravel(), where[0].ravel(), [f"c{k}" for k in where[2].ravel()]


def test_the_consistency_of_two_published_boards_is_the_recomputed_one():
    boards = ({one.item: one.value for one in load(f"table{k}") if one.metric == "gem"} for k in (7, 10))
    found = rank_consistency(*boards)
    assert (round(found.spearman, 3), found.shared, len(found.left_out)) == (0.835, 18, 2)
    assert 0 < found.kendall < found.spearman and found.kendall_p < 1e-3


def test_far_apart_candidates_have_one_rank_each_and_equal_ones_may_have_any():
    found = rank_intervals(*scored(np.random.default_rng(1), [0, 10, 20], 30))
    assert [(one.candidate, one.rank, one.surely_low, one.surely_high) for one in found] == [
        ("c2", 1, 1, 1),
        ("c1", 2, 2, 2),
        ("c0", 3, 3, 3),
    ]
    found = rank_intervals(*scored(np.random.default_rng(2), [0, 0, 0, 0], 40))
    assert {(one.surely_low, one.surely_high) for one in found} == {(1, 4)}


def test_difficulty_that_candidates_share_does_not_blur_ranks():
    """Papers vary by 2 and more, the candidates by 0.5: paired, thirty papers tell them apart."""
    found = rank_intervals(*scored(np.random.default_rng(3), [0.0, 0.5], 60, noise=0.3))
    assert [(one.candidate, one.surely_low, one.surely_high) for one in found] == [("c1", 1, 1), ("c0", 2, 2)]


def test_a_candidate_that_lacks_pairs_is_ranked_by_those_it_has():
    values, papers, candidates = scored(np.random.default_rng(4), [0, 5, 10], 20)
    kept = [place for place in range(len(values)) if not (candidates[place] == "c2" and papers[place] < 3)]
    found = rank_intervals([values[k] for k in kept], [papers[k] for k in kept], [candidates[k] for k in kept])
    assert [one.candidate for one in found] == ["c2", "c1", "c0"]
    best = [values[k] for k in kept if candidates[k] == "c2"]
    assert found[0].mean == pytest.approx(np.mean(best)) and found[0].surely_high == 1
    assert ranks([5.0, 5.0, 1.0, 1.0, 4.0], "ppqqp", ["a", "b", "a", "b", "c"]) == {"a": 2, "b": 2, "c": 1}


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.floats(-1, 1), min_size=2, max_size=6))
def test_intervals_hold_the_rank_and_stay_on_the_board(seed, means):
    found = rank_intervals(*scored(np.random.default_rng(seed), means, 12))
    assert [one.rank for one in found] == sorted(one.rank for one in found)
    for one in found:
        assert 1 <= one.surely_low <= one.rank <= one.surely_high <= len(means)


def test_equal_means_and_those_that_differ_by_rounding_share_the_better_rank():
    found = rank_intervals([1.0, 3.0, 1.0, 3.0, 0.0, 1.0], "ababab", "xxyyzz")
    assert [(one.candidate, one.rank) for one in found] == [("x", 1), ("y", 1), ("z", 3)]
    first, second = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]  # added up in this order, they differ in the last place
    values = [*first, *second, *(value + 1 for value in first)]
    found = rank_intervals(values, [0, 1, 2] * 3, ["a"] * 3 + ["b"] * 3 + ["c"] * 3)
    assert sum(first) != sum(second)
    assert [(one.candidate, one.rank) for one in found] == [("c", 1), ("a", 2), ("b", 2)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rank_intervals([1.0, 2.0], "ab", "xx"), "two candidates"),
        (lambda: rank_intervals([1.0, 2.0], "aa", "xy"), "two papers"),
        (lambda: rank_intervals([1.0, 2.0, 3.0], "aab", "xyx"), "two papers in common"),
        (lambda: rank_intervals([1.0, math.nan], "ab", "xy"), "not finite"),
        (lambda: rank_consistency({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}), "three names in common, these have 2"),
        (
            lambda: rank_consistency({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 3}),
            "all scores of a board are equal",
        ),
        (
            lambda: correlate_ranks_by_two_measures([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], "ppqq", "abab"),
            "three names",
        ),
    ],
)
def test_boards_that_allow_no_rank_are_an_error_that_says_why(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def simulation(seed: int = 0, papers: int = 40, number: int = 6):
    """Columns of two noisy measures of candidates of rising strength, one pair a paper and reference."""
    random = np.random.default_rng(seed)
    p, c, r = (axis.ravel() for axis in np.indices((papers, number, 2)))
    strength = np.linspace(0, 3, number)[c]
    columns = [(scale * (strength + random.normal(size=len(c)))).tolist() for scale in (1.0, 50.0)]
    names = ["human", *(f"model-{k}" for k in range(1, number))]
    return columns, [f"p{k}" for k in p], [names[k] for k in c], [f"r{k}" for k in r]


def test_agreement_is_spearman_and_kendall_of_the_means():
    (one, other), papers, candidates, _ = simulation()
    found = correlate_ranks_by_two_measures(one, other, papers, candidates)
    names = list(dict.fromkeys(candidates))
    means = [
        [np.mean([v for v, c in zip(column, candidates, strict=True) if c == name]) for name in names]
        for column in (one, other)
    ]
    assert found.spearman == pytest.approx(scipy_stats.spearmanr(*means)[0])
    assert found.kendall == pytest.approx(scipy_stats.kendalltau(*means)[0])
    assert found.candidates == 6 and found.low <= found.spearman <= found.high


def test_papers_weigh_alike_in_every_rank_however_many_references_they_have():
    """By pairs, c leads by its one paper with many references; by papers, as on the board, it is last."""
    random = np.random.default_rng(0)
    rows = [(name, paper, mean + 5 * (name == "c") * (paper == 0) + 0.01 * random.normal())
            for name, mean in (("a", 2.0), ("b", 1.0), ("c", 0.0)) for paper in range(8)
            for _ in range(20 if paper == 0 else 1)]  # fmt: skip
    candidates, papers, values = map(list, zip(*rows, strict=True))
    assert ranks(values, papers, candidates) == {"a": 1, "b": 2, "c": 3}
    assert [one.candidate for one in rank_intervals(values, papers, candidates)] == ["a", "b", "c"]
    found = correlate_ranks_by_two_measures(
        values, [{"a": 3.0, "b": 2.0, "c": 1.0}[name] for name in candidates], papers, candidates
    )
    assert (found.spearman, found.kendall, found.high) == pytest.approx((1, 1, 1))


def test_the_interval_is_that_of_papers_drawn_again_one_by_one():
    (one, other), papers, candidates, _ = simulation(papers=12)
    found = correlate_ranks_by_two_measures(one, other, papers, candidates, resamples=400)
    random, names = np.random.default_rng(5), list(dict.fromkeys(candidates))
    table = np.zeros((2, 12, 6))
    for column, values in enumerate((one, other)):
        for value, paper, name in zip(values, papers, candidates, strict=True):
            table[column, int(paper[1:]), names.index(name)] += value / 2
    drawn = [scipy_stats.spearmanr(*table[:, random.integers(12, size=12)].mean(axis=1))[0] for _ in range(400)]
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=0.15)


@given(st.floats(0.01, 100), st.floats(-50, 50), st.integers(0, 20))
def test_a_measure_in_another_unit_is_the_same_measure(scale, shift, seed):
    (one, _), papers, candidates, references = simulation(seed, papers=8, number=4)
    other = [scale * value + shift for value in one]
    tests = [run_candidate_tests(column, papers, candidates, references) for column in (one, other)]
    said = count_significant_orders(*tests)
    assert said.only_first == said.only_second == len(said.contradict) == 0 and said.both + said.neither == 6
    assert ranks(one, papers, candidates) == ranks(other, papers, candidates)
    assert leads_over_baseline(tests[0], "human") == pytest.approx(leads_over_baseline(tests[1], "human"), rel=1e-6)
    assert correlate_ranks_by_two_measures(one, other, papers, candidates, resamples=20).spearman == pytest.approx(1)


def test_a_measure_turned_round_contradicts_in_all_that_is_sure():
    (one, _), papers, candidates, references = simulation()
    tests = [run_candidate_tests(column, papers, candidates, references) for column in (one, [-value for value in one])]
    said = count_significant_orders(*tests)
    sure = {(t.first, t.second) if t.difference > 0 else (t.second, t.first) for t in tests[0] if t.p_holm < 0.05}
    assert len(sure) > 5 and set(said.contradict) == sure
    assert (said.both, said.only_first, said.only_second, said.neither) == (0, 0, 0, 15 - len(sure))
    columns, papers, candidates, references = simulation(3, papers=10)
    said = count_significant_orders(
        *(run_candidate_tests(column, papers, candidates, references) for column in columns)
    )
    assert said.both + said.only_first + said.only_second + said.neither + len(said.contradict) == 15


def test_a_lead_is_students_t_by_paper():
    (one, _), papers, candidates, references = simulation()
    found = leads_over_baseline(run_candidate_tests(one, papers, candidates, references), "human")
    assert set(found) == {f"model-{k}" for k in range(1, 6)}
    by_paper = {
        name: [np.mean([v for v, p, c in zip(one, papers, candidates, strict=True) if (p, c) == (f"p{k}", name)])
               for k in range(40)] for name in ("human", "model-2")
    }  # fmt: skip
    assert found["model-2"] == pytest.approx(scipy_stats.ttest_rel(by_paper["model-2"], by_paper["human"]).statistic)
    assert all(math.isfinite(value) for value in found.values())
