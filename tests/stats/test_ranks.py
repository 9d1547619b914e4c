"""Ranks and consistency: the six consistencies of the published boards first, then properties, then faults."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.ranking.published import load
from gre_bench.stats.ranks import consistency, rank_intervals

def scored(random: np.random.Generator, means, papers: int, noise: float = 1.0):
    """Values, papers, candidates: two pairs a paper and candidate, papers and references of their own difficulty."""
    count = len(means)
    reference = 2 * random.normal(size=(papers, 1, 1)) + random.normal(size=(papers, 2, 1))
    values = np.asarray(means) + reference + noise * random.normal(size=(papers, 2, count))
    where = np.indices(values.shape)
    return values.ravel(), where[0].ravel(), [f"c{k}" for k in where[2].ravel()]


@pytest.mark.parametrize(
    ("tables", "shared", "left_out", "spearman"),
    [((6, 7), 20, 0, (0.926, 0.904, 0.893)), ((7, 10), 18, 2, (0.835, 0.876, 0.882))],
)
def test_consistencies_of_the_published_boards_are_the_recomputed_ones(tables, shared, left_out, spearman):
    for metric, expected in zip(("gem", "gem_s_abstract", "gem_s_assw"), spearman, strict=True):
        boards = ({one.item: one.value for one in load(f"table{k}") if one.metric == metric} for k in tables)
        found = consistency(*boards)
        assert round(found.spearman, 3) == expected
        assert (found.shared, len(found.left_out)) == (shared, left_out)
        assert 0 < found.kendall < found.spearman and found.kendall_p < 1e-3


def test_far_apart_candidates_have_one_rank_each():
    found = rank_intervals(*scored(np.random.default_rng(1), [0, 10, 20], 30))
    assert [(one.candidate, one.rank, one.low, one.high, one.surely_low, one.surely_high) for one in found] == [
        ("c2", 1, 1, 1, 1, 1),
        ("c1", 2, 2, 2, 2, 2),
        ("c0", 3, 3, 3, 3, 3),
    ]


def test_equal_candidates_may_have_any_rank():
    found = rank_intervals(*scored(np.random.default_rng(2), [0, 0, 0, 0], 40))
    assert {(one.surely_low, one.surely_high) for one in found} == {(1, 4)}
    assert max(one.high - one.low for one in found) >= 2


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


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.floats(-1, 1), min_size=2, max_size=6))
def test_intervals_hold_the_rank_and_stay_on_the_board(seed, means):
    found = rank_intervals(*scored(np.random.default_rng(seed), means, 12), resamples=200)
    assert [one.rank for one in found] == sorted(one.rank for one in found)
    for one in found:
        assert 1 <= one.low <= one.high <= len(means)
        assert 1 <= one.surely_low <= one.rank <= one.surely_high <= len(means)


def test_equal_means_share_the_better_rank():
    found = rank_intervals([1.0, 3.0, 1.0, 3.0, 0.0, 1.0], "ababab", "xxyyzz", resamples=50)
    assert [(one.candidate, one.rank) for one in found] == [("x", 1), ("y", 1), ("z", 3)]


def test_means_that_differ_by_rounding_share_a_rank():
    first, second = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]  # added up in this order, they differ in the last place
    values = [*first, *second, *(value + 1 for value in first)]
    found = rank_intervals(values, [0, 1, 2] * 3, ["a"] * 3 + ["b"] * 3 + ["c"] * 3, resamples=200)
    assert sum(first) != sum(second)
    assert [(one.candidate, one.rank) for one in found] == [("c", 1), ("a", 2), ("b", 2)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rank_intervals([1.0, 2.0], "ab", "xx"), "two candidates"),
        (lambda: rank_intervals([1.0, 2.0], "aa", "xy"), "two papers"),
        (lambda: rank_intervals([1.0, 2.0, 3.0], "aab", "xyx"), "two papers in common"),
        (lambda: rank_intervals([1.0, math.nan], "ab", "xy"), "not finite"),
        (lambda: consistency({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}), "three names in common, these have 2"),
        (lambda: consistency({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 3}), "all scores of a board are equal"),
    ],
)
def test_boards_that_allow_no_rank_are_an_error_that_says_why(call, says):
    with pytest.raises(ValueError, match=says):
        call()
