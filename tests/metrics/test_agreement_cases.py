"""Graded reviews: all ordered pairs, means over the other reviews, and a reason for whatever has no score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.metrics import METRICS
from gre_bench.core.records import NO_REFERENCE, Paper, Problem, Score
from gre_bench.metrics.agreement import GradedItem, ReviewScore, average_pair_scores_by_review, plan_agreement
from gre_bench.metrics.cases import ReviewWithJudgments

GEM, LENGTH = METRICS["gem"], METRICS["length"]


def response(review_id, judgments="The reviewer suggests {}."):
    return ReviewWithJudgments(
        review_id, f"Text of {review_id}.", {"w": judgments.format(review_id)} if judgments else {}
    )


def item(paper_id, *ids, grades=None, abstract=None):
    grades = {one: float(place) for place, one in enumerate(ids)} if grades is None else grades
    synopses = {"abstract": abstract} if abstract else {}
    return GradedItem(Paper(paper_id, abstract=abstract), tuple(response(one) for one in ids), grades, synopses)


def scored(planned, values):
    return [
        Score("s", pair.paper_id, pair.candidate_id, pair.reference_id, values[pair.candidate_id, pair.reference_id])
        for pair in planned
        if pair.state == "due" and (pair.candidate_id, pair.reference_id) in values
    ]


def test_a_review_s_score_is_the_mean_over_the_other_reviews_of_its_item():
    items = [item("p", "a", "b", "c", grades={"a": 3.0, "b": 1.0, "c": 2.0})]
    planned = plan_agreement(items, GEM, "w")
    values = {
        ("review:a", "b"): 1.0, ("review:a", "c"): 4.0, ("review:b", "a"): -2.0, ("review:b", "c"): 0.0,
        ("review:c", "a"): 0.5, ("review:c", "b"): 0.25,
    }  # fmt: skip
    assert {(pair.candidate_id, pair.reference_id) for pair in planned} == set(values)
    assert average_pair_scores_by_review(items, planned, scored(planned, values)) == [
        ReviewScore("p", "a", 3.0, 2.5, 2, 2),
        ReviewScore("p", "b", 1.0, -1.0, 2, 2),
        ReviewScore("p", "c", 2.0, 0.375, 2, 2),
    ]
    assert (planned[0].candidate_id, planned[0].reference_id) == ("review:a", "b")
    case = planned[0].case
    assert (case.candidate, case.reference) == ("The reviewer suggests a.", "The reviewer suggests b.")


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_all_ordered_pairs_are_planned_once_and_single_reviews_are_excluded(sizes):
    items = [item(f"p{n}", *(f"p{n}r{k}" for k in range(size))) for n, size in enumerate(sizes)]
    planned = plan_agreement(items, GEM, "w")
    due = {(pair.candidate_id, pair.reference_id) for pair in planned if pair.state == "due"}
    assert len(due) == sum(size * (size - 1) for size in sizes) == sum(pair.state == "due" for pair in planned)
    excluded = [pair for pair in planned if pair.state == "excluded"]
    assert [pair.reason for pair in excluded] == ["no_reference"] * sizes.count(1)
    alone = plan_agreement(items, LENGTH, "w")
    assert [(pair.state, pair.reference_id) for pair in alone] == [("due", NO_REFERENCE)] * sum(sizes)


def test_a_review_without_a_grade_serves_as_a_reference_only():
    items = [item("p", "a", "b", grades={"a": 1.0})]
    planned = plan_agreement(items, GEM, "w")
    assert [(pair.candidate_id, pair.reference_id, pair.state, pair.reason) for pair in planned] == [
        ("review:a", "b", "due", None),
        ("review:b", NO_REFERENCE, "excluded", "no_grade"),
    ]
    assert [row.review_id for row in average_pair_scores_by_review(items, planned, [])] == ["a"]


def test_what_is_missing_is_counted_and_what_has_no_score_says_why():
    silent = response("c", judgments=None)
    graded = GradedItem(Paper("p"), (response("a"), response("b"), silent), {"a": 1.0, "b": 2.0, "c": 3.0})
    items = [graded, item("q", "d")]
    planned = plan_agreement(items, GEM, "w")
    assert [(pair.state, pair.reason) for pair in planned if pair.reason and "no_judgments" in pair.reason] == [
        ("excluded", "reference: no_judgments"),
        ("excluded", "reference: no_judgments"),
        ("failed", "no_judgments"),
        ("failed", "no_judgments"),
    ]
    problem = Score("s", "p", "review:b", "a", None, Problem("not_finite", "a NaN"))
    rows = average_pair_scores_by_review(items, planned, [*scored(planned, {("review:a", "b"): 1.5}), problem])
    assert rows == [
        ReviewScore("p", "a", 1.0, 1.5, 1, 1),
        ReviewScore("p", "b", 2.0, None, 0, 1, "not_finite"),
        ReviewScore("p", "c", 3.0, None, 0, 2, "no_judgments"),
        ReviewScore("q", "d", 0.0, None, 0, 0, "no_reference"),
    ]
    items = [item("p", "a", "b")]
    assert {row.reason for row in average_pair_scores_by_review(items, plan_agreement(items, GEM, "w"), [])} == {
        "not_scored"
    }


@pytest.mark.parametrize(("abstract", "state"), [("An abstract.", "due"), (None, "excluded")])
def test_a_synopsis_is_that_of_the_item(abstract, state):
    planned = plan_agreement([item("p", "a", "b", abstract=abstract)], METRICS["gem_s_abstract"], "w")
    assert {pair.state for pair in planned} == {state}
    assert {pair.case and pair.case.synopsis for pair in planned} == {abstract}
