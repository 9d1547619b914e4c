"""Reviews moved to other papers: who changes places with whom, and what a specific metric makes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core import controls
from gre_bench.core.metrics import METRICS, find_recipe
from gre_bench.core.records import HUMAN, Candidate, LMIdentity, Paper
from gre_bench.core.settings import ScoringSettings
from gre_bench.metrics.agreement import GradedItem, build_review_candidate, plan_agreement, plan_review_moves
from gre_bench.metrics.cases import (
    BLOCK,
    MovableReview,
    ReviewWithJudgments,
    SampledPaper,
    plan_edition_pairs,
    plan_moves,
    plan_response_moves,
)
from gre_bench.metrics.scoring import build_predictions, build_signature
from tests.scripted_lms import OverlapLM, scores_of


def placed(*words: int, item: str = "p{}") -> list[MovableReview]:
    names = [item.format(number) for number in range(len(words))]
    return [MovableReview(name, name, frozenset((name,)), count) for name, count in zip(names, words, strict=True)]


LENGTHS = st.lists(st.integers(1, 500), min_size=2, max_size=60)


@given(LENGTHS, st.integers(0, 5), st.randoms(use_true_random=False))
def test_each_review_is_used_once_elsewhere_in_an_exchange_of_two_or_three_whatever_their_order(words, seed, random):
    reviews = placed(*words)
    found = plan_moves(reviews, seed)
    assert [move.key for move in found] == [review.key for review in reviews]
    assert sorted(move.source for move in found) == sorted(review.key for review in reviews)
    assert all(move.key != move.source for move in found)
    sizes = Counter(Counter(move.swap for move in found).values())
    odd = len(words) % 2
    assert (sizes[2], sizes[3]) == (len(words) // 2 - odd, odd) and sizes.total() == len(words) // 2
    source = {move.key: move for move in found}
    for move in found:
        assert source[move.source].swap == move.swap
    mixed = reviews.copy()
    random.shuffle(mixed)
    assert {move.key: move for move in plan_moves(mixed, seed)} == source


def test_reviews_change_places_with_reviews_of_like_length_and_a_single_one_or_those_of_one_item_with_none():
    reviews = placed(*range(1, 301))
    words = {review.key: review.words for review in reviews}
    assert max(abs(words[move.key] - words[move.source]) for move in plan_moves(reviews, 0)) < 2 * BLOCK
    assert plan_moves(placed(5), 0) == []
    assert plan_moves([MovableReview(f"r{n}", "p", frozenset(("p",)), 5) for n in range(4)], 0) == []


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=2, max_size=40), st.integers(0, 3))
def test_reviews_of_one_item_never_change_places_with_each_other(rows, seed):
    reviews = [
        MovableReview(f"r{n}", f"p{item}", frozenset((f"p{item}",)), words) for n, (item, words) in enumerate(rows)
    ]
    at = {review.key: review.item for review in reviews}
    found = plan_moves(reviews, seed)
    assert all(at[move.key] != at[move.source] for move in found)
    assert len({move.source for move in found}) == len(found)


def response(name: str) -> ReviewWithJudgments:
    return ReviewWithJudgments(name, f"text of {name}", {"w": f"The reviewer appreciates the clear {name}."})


def entries(count: int) -> list[SampledPaper]:
    return [
        SampledPaper(
            Paper(f"p{n}"), response(f"h{n}"), (response(f"a{n}"), response(f"b{n}")), {"m": response(f"m{n}")}
        )
        for n in range(count)
    ]


CANDIDATES = (Candidate(HUMAN, "human"), Candidate("m", "model"), *controls.CONTROLS.values())


@given(st.integers(2, 30), st.integers(0, 5))
def test_a_borrowed_review_never_comes_home_by_being_moved(count, seed):
    """The control other-paper has the human review of another paper: moved, it may not stand on that paper."""
    given_entries = entries(count)
    for one in plan_response_moves(given_entries, CANDIDATES, find_recipe("gem_specific"), "w", seed):
        own = int(one.paper_id[1:])
        assert one.candidate_id != controls.GENERIC and (one.candidate_id == "m") == (one.response.review_id[0] == "m")
        assert one.response.review_id != {HUMAN: f"h{own}", "m": f"m{own}"}.get(one.candidate_id, f"h{own}")


def test_changed_reviews_change_places_as_the_human_ones_do():
    """Their lengths differ, and another exchange would be judged with the change."""
    given_entries = [
        replace(
            entry,
            responses={"human~cut": ReviewWithJudgments(f"c{n}", "text " * (9 * n % 7 + 1), {"w": "x " * (n % 5 + 1)})},
        )
        for n, entry in enumerate(entries(20))
        if n != 7
    ]
    given_entries[3].responses.clear()
    found = plan_response_moves(given_entries, (CANDIDATES[0], Candidate("human~cut", "change")), find_recipe("gem_specific"),
                            "w", 0)  # fmt: skip
    human, changed = (
        {one.paper_id: (one.response.review_id[1:], one.swap) for one in found if one.candidate_id == name}
        for name in (HUMAN, "human~cut")
    )
    assert len(human) == 19 and 17 <= len(changed) < 19
    assert changed.items() <= human.items()


def planned(metric: str, count: int = 6, seed: int = 0):
    given_entries = entries(count)
    moved = {
        (one.candidate_id, one.paper_id): one.response
        for one in plan_response_moves(given_entries, CANDIDATES, find_recipe("gem_specific"), "w", seed)
    }
    return plan_edition_pairs(given_entries, CANDIDATES, find_recipe(metric), "w", moved=moved)


def test_a_specific_pair_is_the_pair_of_its_metric_with_the_review_of_another_paper_beside():
    plain, specific = planned("gem"), planned("gem_specific")
    assert [(pair.paper_id, pair.candidate_id, pair.reference_id) for pair in plain] == [
        (pair.paper_id, pair.candidate_id, pair.reference_id) for pair in specific
    ]
    assert (
        build_predictions(find_recipe("gem"), plain[0].case, ScoringSettings())[0]
        == build_predictions(find_recipe("gem_specific"), specific[0].case, ScoringSettings())[0]
    ), "the conditional on the own review is the one that the metric asks"
    for one, other in zip(plain, specific, strict=True):
        assert one.case.moved is None and other.case.moved
        assert (one.case.candidate, one.case.reference) == (other.case.candidate, other.case.reference)
        assert (other.case.moved == other.case.candidate) == (other.candidate_id == controls.GENERIC)


def test_a_specific_score_is_the_metric_s_own_less_that_of_the_moved_review():
    lm = OverlapLM()
    own = scores_of("gem", lm, [pair.case for pair in planned("gem")])
    cases = [pair.case for pair in planned("gem_specific")]
    found = scores_of("gem_specific", lm, cases)
    by_chance = scores_of(
        "gem", lm,
        [type(case)(case.paper_id, case.candidate_id, case.reference_id, "judgments", case.moved, case.reference)
         for case in cases],
    )  # fmt: skip
    for one, other, elsewhere in zip(own, found, by_chance, strict=True):
        assert other.value == pytest.approx(one.value - elsewhere.value)
    assert {score.value for score in found if score.candidate_id == controls.GENERIC} == {0.0}


def test_a_pair_without_a_review_of_another_paper_is_excluded_with_its_reason():
    alone = plan_edition_pairs(entries(1), CANDIDATES[:2], find_recipe("gem_specific"), "w", moved={})
    assert {(pair.state, pair.reason) for pair in alone} == {("excluded", "no_other_paper")}


def test_a_review_that_the_writer_has_not_judged_is_not_moved():
    """A pilot has judgments of its first papers alone: these change places among themselves."""
    given_entries = entries(6)
    for entry in given_entries[3:]:
        entry.human.judgments.clear()
    found = plan_response_moves(given_entries, CANDIDATES[:1], find_recipe("gem_specific"), "w", 0)
    assert {one.paper_id for one in found} == {"p0", "p1", "p2"}
    assert {one.response.review_id for one in found} == {"h0", "h1", "h2"}
    raw = plan_response_moves(given_entries, CANDIDATES[:1], find_recipe("gem_raw_specific"), "w", 0)
    assert len(raw) == 6 and {one.writer for one in raw} == {"none (original reviews)"}


def test_graded_reviews_are_moved_to_other_items():
    items = [
        GradedItem(Paper(f"p{n}"), (response(f"p{n}-1"), response(f"p{n}-2")), {f"p{n}-1": 1.0, f"p{n}-2": 2.0})
        for n in range(5)
    ]
    found = plan_review_moves(items, find_recipe("gem_specific"), "w", 0)
    assert len(found) == 10 and all(one.response.review_id[:2] != one.paper_id for one in found)
    moved = {(one.candidate_id, one.paper_id): one.response for one in found}
    pairs = plan_agreement(items, find_recipe("gem_specific"), "w", moved=moved)
    assert {pair.state for pair in pairs} == {"due"} and len(pairs) == 10
    assert build_review_candidate("p0-1").candidate_id in {pair.candidate_id for pair in pairs}


def test_every_gem_has_a_specific_form_which_settings_plan_beside_it_unless_chance_is_off():
    specific = {name for name, recipe in METRICS.items() if recipe.formula == "specific"}
    assert specific == {f"{name}_specific" for name, recipe in METRICS.items() if recipe.formula == "pmi"}
    asked = ScoringSettings(metrics=("gem", "bleu", "gem_specific", "gem_raw"))
    assert asked.metrics_and_specific_forms == ("gem", "bleu", "gem_specific", "gem_raw", "gem_raw_specific")
    assert ScoringSettings(metrics=("gem", "bleu"), chance=False).metrics_and_specific_forms == ("gem", "bleu")


def test_the_signature_of_a_score_above_chance_tells_the_rule_and_the_seed():
    lm = LMIdentity("lm", "d", "1")
    assert build_signature(find_recipe("gem"), lm, ScoringSettings(), "w").chance == "none"
    assert build_signature(find_recipe("gem_specific"), lm, ScoringSettings(), "w").chance == "moved-1, seed 0"


def test_neighbours_in_length_are_not_always_partners():
    """Partners are drawn: else two papers whose reviews happen to be alike in length would always be set against
    each other, whatever the seed."""
    found = {
        seed: {frozenset((move.key, move.source)) for move in plan_moves(placed(*range(1, 17)), seed)}
        for seed in range(9)
    }
    assert all(one != other for one, other in pairwise(found.values()))
