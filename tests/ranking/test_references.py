"""How a board moves with its references: by hand first, then properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gre_bench.ranking.rank_statistics import ScoredPairs, build_test_family
from gre_bench.ranking.reference_dependence import (
    compute_differences_without_ai_like_references,
    compute_paper_differences,
    compute_reference_likeness,
    describe_tipping_points,
    find_tipping_points,
    shifts_by_lm_likelihood,
    shifts_without_each_reviewer,
)
from gre_bench.stats.families import HolmFamily

PLACES = {f"p{paper}-{place}": place for paper in range(40) for place in (1, 2)}


def board(value_of, names=("human", "a", "b"), papers=4) -> ScoredPairs:
    rows = [
        (name, f"p{paper}", f"p{paper}-{place}", float(value_of(name, paper, place)))
        for name in names
        for paper in range(papers)
        for place in (1, 2)
    ]
    return ScoredPairs(*map(list, zip(*rows, strict=True)))


def test_a_reviewer_who_alone_likes_a_candidate_takes_its_lead_along():
    # b leads by 4 against reviewer 1 and by 0 against reviewer 2; a leads by 1 against both.
    worth = {"human": {1: 0, 2: 0}, "a": {1: 1, 2: 1}, "b": {1: 4, 2: 0}}
    found = {
        (row.what, row.candidate): row
        for row in shifts_without_each_reviewer(board(lambda n, p, k: worth[n][k] + p), PLACES, [["human", "a", "b"]])
    }
    gone = found["without reviewer 1", "b"]
    assert (gone.lead, gone.shift, gone.low, gone.high, gone.rank, gone.new_rank) == (2, -2, -2, -2, 1, 2)
    assert found["without reviewer 1", "a"].shift == 0
    assert found["without reviewer 1", "a"].new_rank == 1
    assert found["without reviewer 2", "b"].shift == 2
    assert shifts_without_each_reviewer(board(lambda n, p, k: p), dict.fromkeys(PLACES, 1), []) == [], (
        "one alone cannot be left out"
    )


def test_without_a_reviewer_candidates_have_ranks_only_within_their_group_on_the_board():
    worth = {"human": 0, "a": 1, "b": 4, "c": 3, "unranked": 9}
    pairs = board(lambda n, p, k: worth[n] + p, tuple(worth))
    found = shifts_without_each_reviewer(pairs, PLACES, [["human", "a", "b"], ["c"]])
    assert {row.candidate: (row.rank, row.new_rank) for row in found} == {
        "a": (2, 2), "b": (1, 1), "c": (1, 1), "unranked": (None, None)
    }  # fmt: skip


def test_strata_compare_leads_within_and_between_papers():
    # Reviewer 1 of every paper is likely an LM; a leads by 3 there and by 1 elsewhere.
    pairs = board(lambda n, p, k: (n == "a") * (3 if k == 1 else 1) + p, ("human", "a"))
    likelihood = {reference: 0.9 if place == 1 else 0.1 for reference, place in PLACES.items()}
    (row,) = shifts_by_lm_likelihood(pairs, likelihood, 0.5)
    assert (row.candidate, row.lead, row.shift) == ("a", 1, 2)
    assert shifts_by_lm_likelihood(pairs, likelihood, 0.95) == []
    assert shifts_by_lm_likelihood(pairs, {}, 0.5) == []


def test_papers_weigh_alike_in_leads_on_references_by_an_lm_however_many_references_they_have():
    # On paper 0, a leads by 10 on each of three references from reviewer 2; on three further papers, by 1 on one.
    rows = [(name, f"p{p}", f"p{p}-{place}-{k}", (name == "a") * (10.0 if p == 0 else 1.0) * (place == 2))
            for name in ("human", "a") for p in range(4) for place in (1, 2)
            for k in range(3 if p == 0 else 1)]  # fmt: skip
    likelihood = {reference: 0.9 if "-1-" in reference else 0.1 for _, _, reference, _ in rows}
    (row,) = shifts_by_lm_likelihood(ScoredPairs(*map(list, zip(*rows, strict=True))), likelihood, 0.5)
    lead = np.array([10.0, 1, 1, 1])
    assert (row.lead, row.shift) == pytest.approx((lead.mean(), -lead.mean()))
    assert (row.low, row.high) == pytest.approx(tuple(stats.ttest_1samp(-lead, 0).confidence_interval(0.90)))


def test_strata_cover_the_truth_when_the_pairs_of_a_paper_depend_on_each_other():
    random = np.random.default_rng(1)
    likelihood = {reference: random.random() for reference in PLACES}
    held, simulations = 0, 400
    for _ in range(simulations):
        shared = random.normal(size=40)
        noise = random.normal(size=(40, 3))
        pairs = board(lambda n, p, k: (n == "a") * (shared[p] + noise[p, k]), ("human", "a"), 40)  # noqa: B023
        (row,) = shifts_by_lm_likelihood(pairs, likelihood, 0.5)
        held += row.low <= 0 <= row.high
    assert abs(held / simulations - 0.90) < 0.05


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(-50, 50))
def test_references_that_are_harder_for_everybody_move_no_lead(seed, harder):
    random = np.random.default_rng(seed)
    values = {
        key: random.normal() for key in ((n, p, k) for n in ("human", "a", "b") for p in range(4) for k in (1, 2))
    }
    plain = shifts_without_each_reviewer(board(lambda n, p, k: values[n, p, k]), PLACES, [])
    moved = shifts_without_each_reviewer(board(lambda n, p, k: values[n, p, k] + harder * (k == 1)), PLACES, [])
    assert [row.shift for row in moved] == pytest.approx([row.shift for row in plain], abs=1e-9)


NAMES = ("human", "a", "b", "c", "d")
SIZE = 60


def scored(seed: int = 0) -> tuple[ScoredPairs, list[dict]]:
    """A board on which a leads b, c and d, which are level; and what each scores on the others' reviews."""
    random = np.random.default_rng(seed)
    worth = {"human": 0.0, "a": 6.0, "b": 3.0, "c": 3.0, "d": 3.0}
    pairs = board(lambda n, p, k: worth[n] + random.normal(0, 2), NAMES, SIZE)
    kin = {("b", "c"): 30.0, ("c", "b"): 12.0, ("b", "d"): 9.0}
    rows = [
        {
            "paper_id": f"p{p}", "candidate_id": x, "review_id": f"p{p}:{x}", "reference_by": y,
            "reference_id": f"p{p}:{y}", "value": (value := kin.get((x, y), 0.0) + random.normal(0, 5)),
            "cut": value / 2 + random.normal(),
        }
        for p in range(SIZE) for x in NAMES[1:] for y in NAMES[1:] if x != y
    ]  # fmt: skip
    rows += [
        {
            "paper_id": f"p{p}", "candidate_id": "human", "review_id": f"p{p}-{3 - k}", "reference_by": "human",
            "reference_id": f"p{p}-{k}", "value": random.normal(), "cut": None,
        }
        for p in range(SIZE) for k in (1, 2)
    ]  # fmt: skip
    return pairs, rows


EVERY = ["a", "b", "c", "d", "human"]


def board_tests(pairs: ScoredPairs, names: list[str]) -> HolmFamily:
    return build_test_family(pairs, [names])


def by_paper(rows: list[dict], x: str, y: str, z: str, text: str) -> np.ndarray:
    of = {(row["candidate_id"], row["reference_by"], row["paper_id"]): row[text] for row in rows}
    return np.array([of[x, z, f"p{p}"] - of[y, z, f"p{p}"] for p in range(SIZE)])


def brute(delta: np.ndarray, other: np.ndarray) -> float:
    q = np.linspace(0, 1, 10_001)
    u = delta - q[:, None] * other
    failing = q[u.mean(axis=1) - stats.t.ppf(0.95, SIZE - 1) * stats.sem(u, axis=1) <= 0]
    return float(failing[0]) if len(failing) else 1.0


def test_an_order_stands_up_to_the_least_share_over_the_stand_ins_that_are_neither_of_the_two():
    pairs, rows = scored()
    found = {(row.first, row.second): row for row in find_tipping_points(pairs, rows, EVERY, board_tests(pairs, EVERY))}
    assert {row.first for row in found.values() if row.share is not None} == {"a"}
    for second in "bcd":
        row = found["a", second]
        of = {(n, p, r): v for n, p, r, v in zip(*pairs.columns, strict=True)}
        delta = np.array(
            [np.mean([of["a", f"p{p}", f"p{p}-{k}"] - of[second, f"p{p}", f"p{p}-{k}"] for k in (1, 2)])
             for p in range(SIZE)]
        )  # fmt: skip
        assert list(compute_paper_differences(pairs, "a", second).values()) == pytest.approx(delta)
        others = [name for name in "bcd" if name != second]
        for text, share in (("cut", row.share), ("value", row.uncut)):
            shares = {z: brute(delta, by_paper(rows, "a", second, z, text)) for z in others}
            assert share == pytest.approx(min(shares.values()), abs=2e-4)
            if text == "cut":
                assert shares[row.by] == min(shares.values())
        assert row.worst is not None and row.worst <= row.share
    assert "human" not in {name for key in found for name in key}


def test_neighbours_that_are_level_have_no_share_and_the_line_counts_those_that_have():
    pairs, rows = scored()
    found = find_tipping_points(pairs, rows, EVERY, board_tests(pairs, EVERY))
    level = [row for row in found if row.first != "a"]
    assert level and all(row.share is row.uncut is row.worst is row.turned is row.by is None for row in level)
    line = describe_tipping_points(found)
    assert line.startswith("a over ") and "AI-written references, if neither's own model wrote them" in line
    assert "of 3 orders told apart, the weakest" in line
    assert "none has a share" in describe_tipping_points(level)
    assert (
        describe_tipping_points([]) is None
        and find_tipping_points(pairs, [], ["a", "b"], board_tests(pairs, ["a", "b"])) == []
    )


def test_a_share_is_printed_rounded_down():
    pairs, rows = scored()
    (row, *_) = find_tipping_points(pairs, rows, ["a", "c", "human"], board_tests(pairs, ["a", "c", "human"]))
    assert f"stands up to {int(row.share * 100)}% AI" in describe_tipping_points([row])


def test_a_stand_in_that_gives_the_first_no_more_than_humans_do_turns_no_order():
    pairs, rows = scored()
    kept = [row | {"cut": -row["cut"] if row["candidate_id"] == "a" else row["cut"]} for row in rows if row["cut"]]
    for row in kept:
        row["cut"] = -50.0 if row["candidate_id"] == "a" else 0.0
    assert {
        row.share
        for row in find_tipping_points(pairs, kept, ["a", "b", "human"], board_tests(pairs, ["a", "b", "human"]))
    } == {1.0}


def test_likeness_leaves_the_two_candidates_and_human_out():
    pairs, rows = scored()
    like, names = compute_reference_likeness(pairs, rows, ("a", "b"))
    assert names == ["c", "d"]
    of = {(n, r): v for n, _, r, v in zip(*pairs.columns, strict=True)}
    other = {row["reference_id"]: row["value"] for row in rows if row["reference_by"] == "human"}
    raw = {r: (of["c", r] + of["d", r]) / 2 - other[r] for r in other}
    spread = np.std(list(raw.values()), ddof=1)
    assert {r: like[r.partition("-")[0], r] * spread for r in raw} == pytest.approx(raw)


def test_the_trimmed_order_leaves_out_the_references_most_like_an_ais():
    pairs, rows = scored()
    like, _ = compute_reference_likeness(pairs, rows, ("a", "b"))
    of = {(n, p, r): v for n, p, r, v in zip(*pairs.columns, strict=True)}
    for row in compute_differences_without_ai_like_references(pairs, rows, "a", "b"):
        gone = sorted(like, key=lambda key: -like[key])[: round(row.share * len(like))]
        kept = {}
        for paper, reference in like:
            if (paper, reference) not in gone:
                kept.setdefault(paper, []).append(of["a", paper, reference] - of["b", paper, reference])
        assert row.left_out == len(gone)
        assert row.difference == pytest.approx(np.mean([np.mean(own) for own in kept.values()]))


def test_a_reference_that_no_reviewer_place_has_stays_when_reviewers_are_left_out():
    # Where every human review is a reference, models are scored on the human baseline's own too.
    pairs = board(lambda n, p, k: {"human": 0, "a": 1}[n] + p, ("human", "a"))
    more = ScoredPairs(*([*column, *extra] for column, extra in zip(
        pairs.columns, (["a"] * 4, [f"p{p}" for p in range(4)], [f"own-{p}" for p in range(4)], [9.0] * 4), strict=True
    )))  # fmt: skip
    rows = shifts_without_each_reviewer(more, PLACES, [])
    assert [(row.what, row.lead, row.shift) for row in rows] == [
        ("without reviewer 1", 1, 0), ("without reviewer 2", 1, 0)
    ]  # fmt: skip
