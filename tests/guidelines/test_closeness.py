"""RMSE, bias, Spearman and their intervals, differences between conditions, and what accounts for every paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from gre_bench.core.records import Problem
from gre_bench.guidelines.outcomes import (
    average_human_ratings,
    compare_conditions_by_model,
    compare_rmse_of_prompt_conditions,
    compute_closeness,
    compute_condition_results,
    compute_rmse_reference,
    compute_wording_statistics,
    moving_type_token_ratio,
    rmse,
    split_into_lower_case_words,
)
from gre_bench.guidelines.ratings import (
    ImportedReview,
    Rating,
    convert_imported_reviews_to_ratings,
    derive_condition_name,
    strip_shared_name_parts,
)


def test_rmse_bias_and_mean_error_of_a_worked_table_and_none_of_two_papers():
    # errors 1, -1, 3, 1: squares 1, 1, 9, 1.
    found = compute_closeness([6, 4, 8, 5], [5, 5, 5, 4], resamples=200)
    assert found.rmse.value == pytest.approx(math.sqrt(3))
    assert (found.bias.value, found.mae, found.papers) == (1.0, 1.5, 4)
    assert compute_closeness([1, 2], [1, 2]) is None, "two papers are too few"


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 10), st.integers(2, 20)), min_size=3, max_size=40))
def test_rmse_squared_is_bias_squared_plus_the_variance_of_the_errors(pairs):
    ratings, human = [float(a) for a, _ in pairs], [b / 2 for _, b in pairs]
    found = compute_closeness(ratings, human, resamples=200)
    errors = np.array(ratings) - np.array(human)
    assert found.rmse.value**2 == pytest.approx(found.bias.value**2 + errors.var(), abs=1e-9)
    assert abs(found.bias.value) <= found.rmse.value + 1e-9
    if found.spearman:
        assert found.spearman.value == pytest.approx(spearmanr(ratings, human).statistic)


def test_the_interval_of_the_rmse_covers_what_it_should():
    random = np.random.default_rng(11)
    for scale, skewed in ((1.3, False), (0.8, True)):
        hits = 0
        for run in range(1000):
            errors = random.normal(0.5, 1.2, 60) if not skewed else random.exponential(scale, 60)
            truth = math.sqrt(0.25 + 1.44) if not skewed else scale * math.sqrt(2)
            found = rmse(errors, resamples=400, seed=run % 40)
            hits += found.low <= truth <= found.high
        assert abs(hits / 1000 - 0.95) < 0.02 + 0.02 * skewed, hits / 1000


def test_an_rmse_whose_errors_are_all_alike_has_no_width():
    assert rmse(np.array([2.0, -2.0, 2.0])) == rmse(np.array([2.0] * 5))
    assert (rmse(np.array([2.0] * 5)).low, rmse(np.array([2.0] * 5)).high) == (2, 2)


def by_paper(values):
    return {f"p{place}": float(value) for place, value in enumerate(values)}


def test_conditions_are_compared_on_the_papers_that_both_rate():
    human = by_paper([5] * 40)
    close, far = by_paper([5, 6] * 20), by_paper([8, 9] * 20)
    del far["p0"]
    (found,) = compare_rmse_of_prompt_conditions({"close": close, "far": far}, human, resamples=500)
    assert (found.first, found.second, found.papers) == ("close", "far", 39)
    assert found.rmse.value < -2 and found.rmse.high < 0 and found.p < 1e-10 and found.p_holm == found.p


def test_the_same_ratings_differ_by_nothing_and_are_not_tested():
    human, ratings = by_paper([5, 6, 7, 8]), by_paper([4, 6, 8, 8])
    (found,) = compare_rmse_of_prompt_conditions({"a": ratings, "b": dict(ratings)}, human, resamples=200)
    assert (found.rmse.value, found.rmse.low, found.rmse.high, found.p, found.p_holm) == (0, 0, 0, None, None)


def test_differences_change_their_sign_with_their_order_and_holm_counts_all_pairs():
    random = np.random.default_rng(5)
    human = by_paper(random.integers(3, 9, 60))
    tables = {name: by_paper(random.integers(1, 11, 60)) for name in "abc"}
    there, back = (
        compare_rmse_of_prompt_conditions(tables, human, 500),
        compare_rmse_of_prompt_conditions(dict(reversed(tables.items())), human, 500),
    )
    assert {(item.first, item.second): item.rmse.value for item in there} == pytest.approx(
        {(item.second, item.first): -item.rmse.value for item in back}
    )
    lowest = min(there, key=lambda item: item.p)
    assert lowest.p_holm == pytest.approx(min(1, 3 * lowest.p))


def test_every_planned_paper_is_scored_excluded_failed_or_missing():
    ratings = [
        Rating("p1", "m", "none", 6, text="good good paper"), Rating("p2", "m", "none", 4), Rating("p3", "m", "none", 7),
        Rating("p4", "m", "none", None, Problem("unparsable", "no_rating")),
        Rating("p5", "m", "none", None, Problem("rate_limited", "429", final=False)),
        Rating("p6", "m", "none", 9),
    ]  # fmt: skip
    (found,) = compute_condition_results(ratings, by_paper(range(6)), resamples=100)
    assert (found.planned, found.scored, found.excluded, found.failed, found.missing) == (6, 3, 1, 1, 1)
    assert found.reasons == {"unparsable: no_rating": 1, "rate_limited": 1, "no_human_rating": 1}
    assert found.distribution == {**dict.fromkeys(range(1, 11), 0), 4: 1, 6: 1, 7: 1, 9: 1}
    assert (found.wording.mean_words, found.wording.type_token_ratio) == (3, 2 / 3)


def test_comparisons_stay_within_a_model():
    ratings = [
        Rating(f"p{place}", model, name, 5 + (place % 2) * (name == "arr"))
        for model in "mn"
        for name in ("none", "arr")
        for place in range(4)
    ]
    found = compare_conditions_by_model(ratings, by_paper([5] * 4), resamples=100)
    pairs = {model: [(row.first, row.second) for row in rows] for model, rows in found.items()}
    assert pairs == {model: [("none", "arr")] for model in "mn"}


def test_the_yardstick_is_a_constant_and_one_reviewer_against_the_others():
    found = compute_rmse_reference({"a": (4.0, 6.0), "b": (8.0,), "c": ()})
    assert (found.papers, found.mean, found.constant) == (2, 6.5, 1.5)
    assert (found.reviewer, found.ratings) == (2.0, 2)
    assert {rating: count for rating, count in found.distribution.items() if count} == {5: 1, 8: 1}
    assert compute_rmse_reference({"c": ()}) is None
    assert average_human_ratings({"a": (4.0, 6.0), "c": ()}) == {"a": 5.0}


def test_given_reviews_become_ratings_and_a_paper_without_one_is_accounted_for():
    reviews = [
        ImportedReview("p1", "m", "run", "6"), ImportedReview("p2", "m", "run", "6.0"), ImportedReview("p3", "m", "run", "6.5"),
        ImportedReview("p4", "m", "run", None), ImportedReview("p5", "m", "run", "eleven"), ImportedReview("p6", "m", "run", "11"),
        ImportedReview("p9", "m", "run", "3"),
    ]  # fmt: skip
    found = {
        rating.paper_id: rating
        for rating in convert_imported_reviews_to_ratings(reviews, [f"p{place}" for place in range(1, 8)])
    }
    assert {paper: rating.value for paper, rating in found.items() if rating.value} == {"p1": 6, "p2": 6, "p9": 3}
    problems = {paper: rating.problem for paper, rating in found.items() if rating.problem}
    assert {paper: (problem.code, problem.message) for paper, problem in problems.items()} == {
        "p3": ("unparsable", "rating_not_integer: 6.5"), "p4": ("unparsable", "no_rating"),
        "p5": ("unparsable", "no_rating: 'eleven'"), "p6": ("unparsable", "rating_off_scale: 11"),
        "p7": ("no_review", "the run has no review of the paper"),
    }  # fmt: skip


def test_a_rating_that_is_no_finite_number_is_refused():
    reviews = [ImportedReview(rating, "m", "run", rating) for rating in ("nan", "inf", "-inf", "1e400")]
    assert [rating.value for rating in convert_imported_reviews_to_ratings(reviews, [])] == [None] * 4


def test_a_run_is_named_without_its_model_and_by_what_it_does_not_share():
    assert derive_condition_name("gpt-4o", "gpt-4o_temp_0_1") == "temp_0_1"
    assert derive_condition_name("gpt-4o", "gpt-4o") == derive_condition_name("gpt-4o", "") == "given"
    names = ["temp_0_1_pages_all", "temp_0_1_reflect_5_pages_all", "temp_0_1_reflect_5_ensemble_5_pages_all"]
    assert list(strip_shared_name_parts(names).values()) == ["plain", "reflect_5", "reflect_5_ensemble_5"]
    assert strip_shared_name_parts(["a_b"]) == {"a_b": "a_b"}
    assert strip_shared_name_parts(["a_a", "a_a_a"]) == {"a_a": "plain", "a_a_a": "a"}


def test_words_and_their_variety():
    assert split_into_lower_case_words("The paper's well-known GAN, 3.5% — the PAPER’s!") == [
        "the", "paper's", "well-known", "gan", "3.5", "the", "paper’s",
    ]  # fmt: skip
    assert compute_wording_statistics(["a b a c"]).type_token_ratio == 0.75
    assert moving_type_token_ratio(list("abc"), window=4) is compute_wording_statistics(["", "..."]) is None


@given(st.lists(st.sampled_from("abcdef"), min_size=5, max_size=60))
def test_the_moving_ratio_is_the_mean_over_all_windows(tokens):
    windows = [tokens[place : place + 5] for place in range(len(tokens) - 4)]
    assert moving_type_token_ratio(tokens, 5) == pytest.approx(
        sum(len(set(window)) / 5 for window in windows) / len(windows)
    )
