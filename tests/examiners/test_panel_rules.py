"""Exam, chair and position bias after PRE: number tables, then the scripted server over real HTTP."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.examiners import templates as scales
from gre_bench.examiners.pairwise import TextPair, ask_preferences, list_games_from_preferences, measure_position_bias
from gre_bench.examiners.panel import (
    ExaminerExamResult,
    compute_exam_result,
    compute_exam_weight,
    compute_exam_weights,
    convert_decision_to_game_score,
    decide_by_weighted_mean,
    measure_answer_agreement,
    stretch_to_unit_scale,
)
from tests.examiners.test_grading import writer
from tests.servers.chat import scripted_chat
from tests.servers.scripted_examiner import chooser_writer


@pytest.mark.parametrize(
    ("given", "wanted", "measure", "value"),
    [
        ((4, 4, 3, 5, 1), (4, 4, 3, 4, 2), "exact", 0.6), ((4, None, 3), (4, 4, 3), "exact", 2 / 3),
        ((0.0, 0.5, 1.0), (0.0, 1.0, 0.5), "squared_error", 1 - 0.5 / 3), ((1.0,), (0.0,), "squared_error", 0.0),
        ((None, None), (1.0, 0.0), "squared_error", 0.0), ((1, 0, 0.5), (1, 0, 1), "exact", 2 / 3),
    ],
)  # fmt: skip
def test_agreement_is_the_table_and_scores_are_stretched_to_their_scale(given, wanted, measure, value):
    assert measure_answer_agreement(given, wanted, measure) == pytest.approx(value)
    assert stretch_to_unit_scale([1, 3, 5, None], scales.FIVE) == [0.0, 0.5, 1.0, None]
    assert stretch_to_unit_scale([-100, 0, 50], scales.FIFTIES) == [0.0, 0.5, 0.75]


@pytest.mark.parametrize(("gold", "again", "passed", "score"), [
    ((4, 4, 3, 4, 2), None, True, 0.6), ((4, 4, 2, 4, 2), None, False, 0.4),
    ((4, 4, 3, 4, 2), (4, 4, 3, 5, 2), True, 0.6), ((4, 4, 3, 4, 2), (1, 1, 1, 1, 1), False, 0.6),
])  # fmt: skip
def test_an_exam_is_passed_with_each_of_its_parts_at_the_threshold(gold, again, passed, score):
    found = compute_exam_result("a", (4, 4, 3, 5, 1), gold, again)
    assert (found.passed, found.score) == (passed, pytest.approx(score))
    assert found.consistency == (again and pytest.approx(0.8 if passed else 0.2))


@pytest.mark.parametrize(
    ("rule", "p", "alpha", "value"),
    [
        ("uniform", 0.7, 1, 1.0), ("log", 0.8, 1, math.log(4)), ("log", 1.0, 1, math.log(99)),
        ("log", 0.0, 1, -math.log(99)), ("exp", 0.8, 1, math.exp(0.8)), ("exp", 0.8, 2, math.exp(1.6)),
        ("poly", 0.8, 1, 0.8), ("poly", 0.8, 3, 0.512), ("poly", 1.0, 1, 0.99),
    ],
)  # fmt: skip
def test_the_chairs_weights_are_the_formulas(rule, p, alpha, value):
    assert compute_exam_weight(p, rule, alpha) == pytest.approx(value)


def test_the_decision_is_the_weighted_mean_of_those_who_have_an_answer():
    exams = [
        ExaminerExamResult("a", 0.9, None, 10, 0, True),
        ExaminerExamResult("b", 0.6, None, 10, 0, True),
        ExaminerExamResult("c", 0.3, None, 10, 0, False),
    ]
    by = compute_exam_weights(exams, "poly")
    assert by == {"a": pytest.approx(0.6), "b": pytest.approx(0.4)}
    given = {"a": [1.0, None, None], "b": [0.0, 0.25, None], "c": [0.0, 0.0, 1.0]}
    one, two, three = decide_by_weighted_mean(given, by)
    assert (one, two, three.code) == (pytest.approx(0.6), 0.25, "no_voice")
    assert [
        convert_decision_to_game_score(one),
        convert_decision_to_game_score(two),
        convert_decision_to_game_score(three),
    ] == [1.0, 0.0, None]


def test_a_panel_that_nobody_qualified_for_is_refused_in_one_line():
    with pytest.raises(SettingsError, match="no examiner passed the qualification exam; the best, b, has 0.50"):
        compute_exam_weights(
            [ExaminerExamResult("a", 0.4, None, 10, 0, False), ExaminerExamResult("b", 0.5, None, 10, 0, False)], "log"
        )
    with pytest.raises(SettingsError, match="examiner a has no positive weight by rule log"):
        compute_exam_weights([ExaminerExamResult("a", 0.5, None, 10, 0, True)], "log")


@given(st.lists(st.floats(0.6, 1), min_size=1, max_size=6), st.sampled_from(["uniform", "log", "exp", "poly"]))
def test_weights_sum_to_one_and_a_better_exam_never_weighs_less(scores, rule):
    by = compute_exam_weights(
        [ExaminerExamResult(str(place), score, None, 1, 0, True) for place, score in enumerate(scores)], rule
    )
    assert sum(by.values()) == pytest.approx(1)
    order = sorted(range(len(scores)), key=lambda place: scores[place])
    assert all(by[str(one)] <= by[str(other)] + 1e-12 for one, other in itertools.pairwise(order))


# -- pairs


def pairs(*qualities: tuple[float, float]) -> list[TextPair]:
    return [TextPair(str(place), "The paper.", "one", "two", *(f"quality {one}" for one in each))
            for place, each in enumerate(qualities)]  # fmt: skip


def test_each_pair_is_asked_in_both_orders_and_the_better_text_is_preferred(tmp_path):
    with scripted_chat(write=chooser_writer()) as server:
        found = ask_preferences(pairs((0.9, 0.1), (0.2, 0.8)), writer(server, tmp_path), "review")
        assert server.count == 4
    assert [one.score for one in found] == [1.0, 0.0]
    assert [one.positions for one in found] == [(0, 1), (1, 0)]
    report = measure_position_bias(found)
    assert (report.consistent, report.always_first, report.always_second, report.unanswered) == (2, 0, 0, 0)
    assert (report.first_share.value, report.p) == (0.5, None)


def test_an_lm_that_names_the_first_place_whatever_is_found_out(tmp_path):
    asked = pairs(*[(place / 100, (place + 50) / 100) for place in range(40)])
    with scripted_chat(write=chooser_writer(bias=0.5)) as server:
        found = ask_preferences(asked, writer(server, tmp_path), "review")
    report = measure_position_bias(found)
    assert report.always_first + report.consistent == 40 and report.always_second == 0
    assert 8 <= report.always_first <= 32
    assert report.first_share.value == pytest.approx(0.5 + report.always_first / 80)
    assert report.first_share.low > 0.5
    assert report.p == pytest.approx(2 * 0.5**report.always_first)
    assert {one.score for one in found} == {0.0, 0.5}


def test_a_choice_that_cannot_be_read_is_missing(tmp_path):
    with scripted_chat(write=lambda body: "Both are fine.") as server:
        [found] = ask_preferences(pairs((0.9, 0.1)), writer(server, tmp_path), "review")
        assert server.count == 6
    assert (found.score, found.problem.code) == (None, "unparsable")
    assert list_games_from_preferences([found]) == []
    assert measure_position_bias([found]).unanswered == 1
