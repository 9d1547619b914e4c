"""Boards by rank, boards with other benchmarks, figures side by side."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.ranking.published import Figure, beside, consistency, load, printed_consistency, with_benchmarks


@pytest.mark.parametrize(
    ("one", "other", "n", "recomputed", "printed"),
    [
        ("table6", "table7", 20, (0.926, 0.904, 0.893), (0.93, 0.92, 0.90)),
        ("table7", "table10", 18, (0.835, 0.876, 0.882), (0.89, 0.85, 0.83)),
    ],
)
def test_the_published_boards_agree_as_recomputed_not_as_the_text_prints(one, other, n, recomputed, printed):
    rows = consistency(load(one), load(other))
    assert [row.metric for row in rows] == ["gem", "gem_s_abstract", "gem_s_assw"]
    assert [row.n for row in rows] == [n] * 3
    assert tuple(round(row.spearman, 3) for row in rows) == recomputed
    assert tuple(printed_consistency(one, other)[row.metric] for row in rows) == printed
    assert printed_consistency(other, one) == printed_consistency(one, other)


def test_models_of_one_board_alone_are_left_out_and_named():
    row = consistency(load("table7"), load("table10"))[0]
    assert row.only_first == ("deepseek/deepseek-chat", "deepseek/deepseek-r1") and row.only_second == ()


def board(metric: str, **scores: float) -> list[Figure]:
    return [Figure(metric, name, value) for name, value in scores.items()]


def test_spearman_of_a_worked_example_with_ties():
    # Ranks 1, 2.5, 2.5, 4 against 2, 1, 3, 4: Pearson of the ranks is 3 / sqrt(4.5 · 5).
    row = consistency(board("gem", a=1, b=2, c=2, d=9), board("gem", a=5, b=4, c=6, d=7))[0]
    assert row.spearman == pytest.approx(3.0 / math.sqrt(4.5 * 5))


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1, "b": 2}, {"a": 1, "b": 2}), ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 3})]
)
def test_what_has_no_rank_correlation_is_said_to_have_none(one, other):
    (row,) = consistency(board("gem", **one), board("gem", **other))
    assert (row.spearman, row.p, row.n) == (None, None, len(one))


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e3, 1e3), min_size=3, max_size=12))
def test_a_board_agrees_with_itself_and_the_order_of_boards_does_not_matter(scores):
    one = [Figure("gem", name, value) for name, value in scores.items()]
    reverse = [Figure("gem", name, -value) for name, value in scores.items()]
    (same,), (there,), (back,) = consistency(one, one), consistency(one, reverse), consistency(reverse, one)
    if len(set(scores.values())) == 1:
        assert same.spearman is None
    else:
        assert same.spearman == pytest.approx(1) and there.spearman == pytest.approx(-1)
        assert there.spearman == pytest.approx(back.spearman)


def test_missing_benchmark_entries_are_left_out_and_counted():
    one = board("gem", a=1.0, b=2.0, c=4.0, d=8.0)
    (row,) = with_benchmarks(one, {"MMLU": {"a": 10.0, "b": 11.0, "c": 13.0, "stranger": 99.0}})
    assert (row.n, row.left_out, row.spearman) == (3, 1, pytest.approx(1.0))
    assert row.pearson == pytest.approx(1.0)


def test_spearman_and_pearson_differ_where_the_relation_is_bent():
    (row,) = with_benchmarks(board("gem", a=1.0, b=2.0, c=3.0, d=100.0), {"X": {"a": 1, "b": 2, "c": 3, "d": 4}})
    assert row.spearman == pytest.approx(1.0) and row.pearson < 0.85


def test_sizes_are_no_metric():
    assert {row.metric for row in with_benchmarks(load("table6"), {"X": {}})} == {"gem", "gem_s_abstract", "gem_s_assw"}


def test_figures_stand_beside_each_other_and_none_is_dropped():
    run = [Figure("gem", "sentence_deletion", -0.30, -0.44, -0.16), Figure("gem", "shuffled_lines", 0.01)]
    rows = beside(load("table3"), run)
    assert len(rows) == 31
    by_key = {(row.metric, row.item): row for row in rows}
    met = by_key["gem", "sentence_deletion"]
    assert met.difference == pytest.approx(0.101) and met.overlap is True
    assert by_key["gem", "completion"].found is None and by_key["gem", "completion"].difference is None
    assert by_key["gem", "shuffled_lines"].printed is None
    apart = beside([Figure("m", "i", 0, -1, 1)], [Figure("m", "i", 5, 4, 6)])[0]
    assert apart.overlap is False
