"""How much of an order depends on who wrote the references: by brute force, in exact worlds, by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from gre_bench.stats.reference_shares import (
    STEPS,
    find_tipping_share,
    find_tipping_share_of_worst_assignment,
    measure_ai_likeness,
    reversal_share,
    trim_ai_like_references,
)

GRID = np.linspace(0, 1, 20_001)


def made(seed: int, papers: int = 30, mean: float = 1.5, other: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    shared = random.normal(0, 1, papers)
    return mean + shared + random.normal(0, 1, papers), other + shared + random.normal(0, 4, papers)


def bounds(delta: np.ndarray, other: np.ndarray, level: float, side: int) -> np.ndarray:
    u = delta - GRID[:, None] * other
    return u.mean(axis=1) + side * stats.t.ppf(level, len(delta) - 1) * stats.sem(u, axis=1)


@pytest.mark.parametrize("other", [-3.0, 0.0, 2.0, 6.0, 20.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_tipping_share_is_where_the_lower_bound_first_meets_zero(seed, other):
    delta, stand_in = made(seed, other=other)
    failing = GRID[~(bounds(delta, stand_in, 0.95, -1) > 0)]
    share = find_tipping_share(delta, stand_in)
    if len(failing) and failing[0] == 0:
        assert share is None
    else:
        assert share == pytest.approx(failing[0] if len(failing) else 1.0, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_an_order_is_surely_turned_from_where_the_upper_bound_falls_below_zero(seed):
    delta, stand_in = made(seed, other=12.0)
    turned = GRID[bounds(delta, stand_in, 0.99, 1) < 0]
    share = reversal_share(delta, stand_in, 0.99)
    assert share == pytest.approx(turned[0], abs=1e-4) if len(turned) else share is None
    assert share is None or share > find_tipping_share(delta, stand_in)


def test_an_order_that_is_not_told_has_no_share_and_a_stand_in_that_helps_the_second_never_turns_it():
    delta, stand_in = made(0)
    assert find_tipping_share(delta - delta.mean(), stand_in) is None
    assert find_tipping_share(-delta, stand_in) is None
    assert find_tipping_share(delta, -np.abs(stand_in)) == 1.0
    assert reversal_share(delta, -np.abs(stand_in), 0.95) is None


def test_in_a_world_without_noise_the_share_is_the_quotient_of_the_differences():
    delta, stand_in = np.full(10, 2.0), np.full(10, 8.0)
    assert find_tipping_share(delta, stand_in) == pytest.approx(0.25)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.6])
def test_where_humans_see_no_difference_at_all_the_share_is_the_planted_one(share):
    _, stand_in = made(3, other=9.0)
    assert find_tipping_share(share * stand_in, stand_in) == pytest.approx(share)


def test_a_level_order_is_said_to_stand_above_the_planted_share_in_one_of_twenty_worlds_at_most():
    random, planted, above, point, worlds = np.random.default_rng(7), 0.2, 0, 0, 600
    for _ in range(worlds):
        humans, z = random.normal(0, 4, 60), [random.normal(mean, 6, 60) for mean in (8.0, 5.0, 8.0)]
        delta = (1 - planted) * humans + planted * z[0]
        shares = [find_tipping_share(delta, other) for other in z]
        above += None not in shares and min(shares) > planted
        point += min(delta.mean() / other.mean() for other in z) > planted
    limit = stats.binom.ppf(0.999, worlds, 0.05)
    assert above <= limit, "a bound covers"
    assert point > limit, "the point minimum does not"


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_assignment_fills_whole_papers_where_the_stand_in_helps_most(seed):
    delta, stand_in = made(seed, mean=4.0)
    gain, size = stand_in - delta, len(delta)
    last = None
    for step in range(STEPS + 1):
        q, left, within = step / STEPS, step / STEPS * size, np.zeros(size)
        for paper in sorted(range(size), key=lambda paper: -gain[paper]):
            within[paper] = min(1.0, max(0.0, left))
            left -= within[paper]
        u = delta - q * stand_in - (within - q) * gain
        if not u.mean() - stats.t.ppf(0.95, size - 1) * stats.sem(u) > 0:
            break
        last = q
    assert find_tipping_share_of_worst_assignment(delta, stand_in) == pytest.approx(last)
    assert find_tipping_share_of_worst_assignment(delta, stand_in) <= find_tipping_share(delta, stand_in)


def test_likeness_is_what_models_get_less_what_humans_get_in_units_of_its_spread():
    models = np.array([[3.0, 5.0], [1.0, np.nan], [np.nan, np.nan], [0.0, 2.0]])
    humans = np.array([1.0, 2.0, 0.0, np.nan])
    raw = np.array([4.0 - 1.0, 1.0 - 2.0])
    found = measure_ai_likeness(models, humans)
    assert found[:2] == pytest.approx(raw / raw.std(ddof=1))
    assert np.isnan(found[2:]).all()


def test_the_trimmed_order_and_its_control_are_those_of_every_choice():
    random = np.random.default_rng(2)
    values, like = random.normal(1, 2, 9), random.normal(size=9)
    papers = ["a", "a", "b", "b", "b", "c", "d", "d", "d"]
    like[8] = np.nan

    def mean(left_out: set[int]) -> float:
        kept = {}
        for index, paper in enumerate(papers):
            if index not in left_out:
                kept.setdefault(paper, []).append(values[index])
        return float(np.mean([np.mean(own) for own in kept.values()]))

    (row,) = trim_ai_like_references(values, papers, like, [0.4], resamples=20_000)
    assert row.left_out == 3
    assert row.difference == pytest.approx(mean(set(sorted(range(8), key=lambda index: -like[index])[:3])))
    every = [mean(set(chosen)) for chosen in combinations(range(8), 3)]
    assert row.control == pytest.approx(np.mean(every), abs=0.02)
    assert row.p == pytest.approx(np.mean(np.abs(np.array(every) - np.mean(every)) >= abs(row.difference - np.mean(every))), abs=0.02)  # fmt: skip


def test_leaving_out_by_a_likeness_of_chance_is_no_alarm():
    random = np.random.default_rng(4)
    papers = [paper for paper in range(30) for _ in range(3)]
    p = [
        trim_ai_like_references(random.normal(size=90), papers, random.normal(size=90), [0.2], 99, seed)[0].p
        for seed in range(300)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.09
