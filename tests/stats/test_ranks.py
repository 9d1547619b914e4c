"""Ranks and consistency: the six consistencies of the published boards first, then properties, then faults."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.stats.ranks import consistency, rank_intervals

# Tables 6 (Llama-3.1 70B), 7 (8B) and 10 (8B, other writer) of seed 004: GEM, GEM-S(abstract), GEM-S(ASSW).
BOARDS = """
deepseek-chat | 19.27 6.88 1.74 | 47.51 17.40 11.98 |
deepseek-r1 | 17.28 7.23 1.94 | 47.45 18.89 13.80 |
gpt-4o-mini | 16.31 5.25 0.52 | 42.55 14.44 10.25 | 45.76 19.58 18.27
gpt-4o | 20.08 7.62 2.82 | 48.01 18.73 12.78 | 50.17 23.12 20.55
gpt-3.5-turbo | 19.28 6.31 1.40 | 45.62 15.86 10.72 | 48.56 20.92 19.04
claude-2 | 20.04 7.17 2.27 | 55.94 24.29 17.22 | 54.61 26.07 23.93
claude-3-haiku | 20.32 7.63 2.50 | 49.77 19.58 13.34 | 52.70 24.87 22.18
claude-3-sonnet | 24.11 9.53 4.25 | 56.49 24.16 16.52 | 54.83 25.82 22.78
claude-3-opus | 25.77 11.52 5.89 | 60.94 27.94 20.21 | 62.08 33.13 30.53
gemini-pro | 14.73 4.09 -0.26 | 40.65 12.86 9.49 | 46.75 21.33 20.43
gemini-pro-1.5 | 22.76 9.61 4.47 | 52.94 22.43 16.06 | 56.36 27.40 24.44
llama-3-8b | 16.68 5.81 1.07 | 43.50 15.49 11.24 | 47.36 20.96 19.86
llama-3-70b | 18.35 7.23 3.37 | 46.39 18.60 13.68 | 55.62 29.61 27.98
mixtral-8x7b | 16.86 5.22 1.23 | 45.18 15.61 11.25 | 50.53 22.83 21.08
mixtral-8x22b | 18.94 5.82 1.64 | 47.29 17.03 11.85 | 51.57 23.84 21.79
llama-3.1-8b | 18.74 7.60 2.40 | 46.51 18.33 12.69 | 51.04 24.51 22.28
llama-3.1-70b | 19.95 8.00 3.47 | 48.29 19.59 13.91 | 50.26 23.68 21.73
mistral-large | 20.40 7.44 2.72 | 47.84 17.84 12.52 | 51.81 23.59 21.20
mistral-small | 18.08 6.70 1.28 | 45.01 15.90 11.10 | 50.22 22.99 20.58
mistral-tiny | 17.21 4.11 0.15 | 43.90 13.34 9.94 | 48.42 20.04 18.86
"""


def published(table: int, metric: int) -> dict[str, float]:
    rows = [[part.strip() for part in line.split("|")] for line in BOARDS.strip().splitlines()]
    return {row[0]: float(row[table].split()[metric]) for row in rows if row[table]}


def scored(random: np.random.Generator, means, papers: int, noise: float = 1.0):
    """Values, papers, candidates: two pairs a paper and candidate, papers and references of their own difficulty."""
    count = len(means)
    reference = 2 * random.normal(size=(papers, 1, 1)) + random.normal(size=(papers, 2, 1))
    values = np.asarray(means) + reference + noise * random.normal(size=(papers, 2, count))
    where = np.indices(values.shape)
    return values.ravel(), where[0].ravel(), [f"c{k}" for k in where[2].ravel()]


@pytest.mark.parametrize(
    ("tables", "shared", "left_out", "spearman"),
    [((1, 2), 20, 0, (0.926, 0.904, 0.893)), ((2, 3), 18, 2, (0.835, 0.876, 0.882))],
)
def test_consistencies_of_the_published_boards_are_the_recomputed_ones(tables, shared, left_out, spearman):
    for metric, expected in enumerate(spearman):
        found = consistency(*(published(table, metric) for table in tables))
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
