"""Standings from pairs: ties and the papers they lack, ranks that tests allow, scores at the human length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gre_bench.ranking.rank_statistics import (
    RankStatistics,
    ScoredPairs,
    build_test_family,
    compute_rank_statistics,
    scores_at_human_length,
)
from gre_bench.stats.effects import adjust_by_holm


def board(means: dict[str, float], papers: int = 40, seed: int = 0, noise: float = 1.0) -> ScoredPairs:
    random = np.random.default_rng(seed)
    hard = {(paper, place): 3 * random.normal() for paper in range(papers) for place in (1, 2)}
    rows = [
        (name, f"p{paper}", f"r{paper}-{place}", mean + hard[paper, place] + noise * random.normal())
        for name, mean in means.items()
        for paper, place in hard
    ]
    return ScoredPairs(*map(list, zip(*rows, strict=True)))


def of_board(pairs: ScoredPairs, groups: list[dict[str, int]]) -> list[RankStatistics]:
    return compute_rank_statistics(pairs, groups, build_test_family(pairs, groups))


def ranked(pairs: ScoredPairs) -> dict[str, int]:
    names = sorted(set(pairs.candidates), key=lambda name: -np.mean(pairs.of_candidates([name]).values))
    return {name: place for place, name in enumerate(names, 1)}


def test_far_apart_neighbours_are_ranked_and_near_ones_tied():
    pairs = board({"human": 5, "a": 0.05, "b": 0, "c": -5})
    found = {row.candidate_id: row for row in of_board(pairs, [ranked(pairs)])}
    assert (found["human"].rank_low, found["human"].rank_high, found["human"].tied) == (1, 1, False)
    first, second = sorted(("a", "b"), key=lambda name: found[name].rank)
    assert found[first].tied and found[first].next_candidate == second
    assert (
        (found[first].rank_low, found[first].rank_high) == (2, 3) == (found[second].rank_low, found[second].rank_high)
    )
    assert (found["c"].rank, found["c"].rank_low, found["c"].next_candidate, found["c"].tied) == (4, 4, None, None)
    assert found["human"].difference_p_holm is None and found["a"].difference_p_holm < 1e-6
    assert {row.tests for row in found.values()} == {6}


def test_all_groups_of_a_board_and_its_tests_against_chance_are_one_family():
    pairs = board({"human": 1, "a": 0.7, "b": 0.3, "x": 2, "y": 1.7})
    above = {"human": 0.004, "a": 0.2, "b": 0.03, "x": 0.001, "y": 0.9, "unranked": 0.5}
    groups = [{"human": 1, "a": 2, "b": 3}, {"x": 1, "y": 2}]
    own = [pairs.of_candidates(names).tests() for names in groups]
    ps = [test.p for tests in own for test in tests] + [above[name] for name in (*groups[0], *groups[1])]
    wanted = adjust_by_holm(ps)
    found = build_test_family(pairs, groups, above)
    assert [test.p_holm for test in found.tests] == pytest.approx(wanted[:4]) and found.size == 9
    assert list(found.above.values()) == pytest.approx(wanted[4:]) and "unranked" not in found.above
    rows = {row.candidate_id: row for row in compute_rank_statistics(pairs, groups, found)}
    assert {row.tests for row in rows.values()} == {9} and rows["x"].difference_p_holm is None
    assert rows["x"].next_p == found.between("x", "y").p_holm == found.between("y", "x").p_holm
    # A contrast of two groups is corrected over the family and itself.
    assert found.correct_further_p_values([0.01]) == pytest.approx([adjust_by_holm([*ps, 0.01])[-1]])


def test_neighbours_whose_means_and_test_disagree_are_not_said_to_be_level():
    pairs = board({"a": 3, "b": 0})
    first = of_board(pairs, [{"b": 1, "a": 2}])[0]
    assert first.next_difference < 0 and first.next_p < 0.05 and first.tied is False


def test_no_test_is_a_reason_and_no_claim():
    one = ScoredPairs(["human"] * 2, ["p", "q"], ["r", "s"], [1.0, 2.0])
    (row,) = of_board(one, [{"human": 1}])
    assert (row.rank, row.rank_low, row.tied, row.problem) == (1, None, None, "nobody to be compared with")
    apart = ScoredPairs(["human", "a"], ["p", "q"], ["r", "s"], [1.0, 2.0])
    assert {row.problem for row in of_board(apart, [{"a": 1, "human": 2}])} == {
        "human and a do not have two papers in common"
    }
    assert of_board(one, []) == []


def test_a_score_that_length_alone_explains_is_the_same_at_the_human_length():
    random = np.random.default_rng(3)
    words = {(name, f"p{paper}"): int(times * (80 + 60 * random.random())) for name, times in (("human", 1), ("a", 3))
             for paper in range(60)}  # fmt: skip
    rows = [
        (name, paper, f"{paper}-{place}", 10 * math.log(count) + 0.1 * random.normal())
        for (name, paper), count in words.items()
        for place in (1, 2)
    ]
    pairs = ScoredPairs(*map(list, zip(*rows, strict=True)))
    at, scores = scores_at_human_length(pairs, words)
    human = [count for (name, _), count in words.items() if name == "human"]
    assert at == pytest.approx(stats.gmean(human))
    assert np.mean(pairs.of_candidates(["a"]).values) - np.mean(pairs.of_candidates(["human"]).values) > 10
    assert scores["a"].value == pytest.approx(scores["human"].value, abs=0.3)
    # Without a human candidate, the length is that of the human reviews, which are references.
    models = pairs.of_candidates(["a"])
    assert scores_at_human_length(models, words)[0] == pytest.approx(stats.gmean(human))
    # Without human reviews or with one candidate there is no length to hold.
    pairs = board({"a": 1, "b": 0}, papers=5)
    words = {(name, f"p{paper}"): 10 + paper for name in ("a", "b", "human") for paper in range(5)}
    assert scores_at_human_length(pairs, {key: count for key, count in words.items() if key[0] != "human"}) == (
        None,
        {},
    )
    alone = board({"human": 1}, papers=5)
    at, scores = scores_at_human_length(alone, words)
    assert at > 0 and scores == {}
