"""How a board moves with its references: by hand first, then properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gre_bench.ranking.hygiene import reviewers, strata, swap
from gre_bench.ranking.rank_statistics import Pairs

PLACES = {f"p{paper}-{place}": place for paper in range(40) for place in (1, 2)}


def board(value_of, names=("human", "a", "b"), papers=4) -> Pairs:
    rows = [
        (name, f"p{paper}", f"p{paper}-{place}", float(value_of(name, paper, place)))
        for name in names
        for paper in range(papers)
        for place in (1, 2)
    ]
    return Pairs(*map(list, zip(*rows, strict=True)))


def test_a_reviewer_who_alone_likes_a_candidate_takes_its_lead_along():
    # b leads by 4 against reviewer 1 and by 0 against reviewer 2; a leads by 1 against both.
    worth = {"human": {1: 0, 2: 0}, "a": {1: 1, 2: 1}, "b": {1: 4, 2: 0}}
    found = {(row.what, row.candidate): row for row in reviewers(board(lambda n, p, k: worth[n][k] + p), PLACES)}
    gone = found["without reviewer 1", "b"]
    assert (gone.lead, gone.shift, gone.low, gone.high, gone.rank, gone.new_rank) == (2, -2, -2, -2, 1, 2)
    assert found["without reviewer 1", "a"].shift == 0
    assert found["without reviewer 1", "a"].new_rank == 1
    assert found["without reviewer 2", "b"].shift == 2
    assert reviewers(board(lambda n, p, k: p), dict.fromkeys(PLACES, 1)) == [], "one alone cannot be left out"


def test_a_tenth_of_the_references_moves_a_lead_by_a_tenth_of_what_all_would():
    pairs = board(lambda n, p, k: {"human": 0, "a": 1, "b": 2}[n] + p)
    rows = [
        (name, f"p{p}", f"p{p}:a", value)
        for name, value in (("human", 0.0), ("a", 51.0), ("b", 22.0))
        for p in range(4)
    ]
    found = {row.candidate: row for row in swap(pairs, Pairs(*map(list, zip(*rows, strict=True))), "a")}
    assert found["a"].shift == pytest.approx(5.0) and found["a"].upper_bound
    assert found["b"].shift == pytest.approx(2.0) and not found["b"].upper_bound
    assert found["b"].papers == 4


def test_the_interval_of_a_swap_is_students_over_papers():
    random = np.random.default_rng(0)
    noise = random.normal(size=30)
    pairs = board(lambda n, p, k: 0, ("human", "a"), 30)
    rows = [("human", f"p{p}", "x", 0.0) for p in range(30)] + [("a", f"p{p}", "x", noise[p]) for p in range(30)]
    (row,) = swap(pairs, Pairs(*map(list, zip(*rows, strict=True))), "b")
    low, high = stats.ttest_1samp(0.1 * noise, 0).confidence_interval(0.90)
    assert (row.low, row.high) == pytest.approx((low, high))


def test_strata_compare_leads_within_and_between_papers():
    # Reviewer 1 of every paper is likely an LM; a leads by 3 there and by 1 elsewhere.
    pairs = board(lambda n, p, k: (n == "a") * (3 if k == 1 else 1) + p, ("human", "a"))
    likelihood = {reference: 0.9 if place == 1 else 0.1 for reference, place in PLACES.items()}
    (row,) = strata(pairs, likelihood, 0.5)
    assert (row.candidate, row.lead, row.shift) == ("a", 1, 2)
    assert strata(pairs, likelihood, 0.95) == []
    assert strata(pairs, {}, 0.5) == []


def test_papers_weigh_alike_in_leads_on_references_by_an_lm_however_many_references_they_have():
    # On paper 0, a leads by 10 on each of three references from reviewer 2; on three further papers, by 1 on one.
    rows = [(name, f"p{p}", f"p{p}-{place}-{k}", (name == "a") * (10.0 if p == 0 else 1.0) * (place == 2))
            for name in ("human", "a") for p in range(4) for place in (1, 2)
            for k in range(3 if p == 0 else 1)]  # fmt: skip
    likelihood = {reference: 0.9 if "-1-" in reference else 0.1 for _, _, reference, _ in rows}
    (row,) = strata(Pairs(*map(list, zip(*rows, strict=True))), likelihood, 0.5)
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
        (row,) = strata(pairs, likelihood, 0.5)
        held += row.low <= 0 <= row.high
    assert abs(held / simulations - 0.90) < 0.05


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(-50, 50))
def test_references_that_are_harder_for_everybody_move_no_lead(seed, harder):
    random = np.random.default_rng(seed)
    values = {
        key: random.normal() for key in ((n, p, k) for n in ("human", "a", "b") for p in range(4) for k in (1, 2))
    }
    plain = reviewers(board(lambda n, p, k: values[n, p, k]), PLACES)
    moved = reviewers(board(lambda n, p, k: values[n, p, k] + harder * (k == 1)), PLACES)
    assert [row.shift for row in moved] == pytest.approx([row.shift for row in plain], abs=1e-9)
