"""Length control: constructed data with a known slope first, then what must hold for any data, then faults."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.stats.length import adjusted, human_length, length_controlled

SLOPE = 7.0
QUALITY = {"human": 20.0, "terse": 22.0, "wordy": 18.0}
LOGS = {"human": 5.5, "terse": 4.5, "wordy": 6.5}


def board(random: np.random.Generator, papers: int, noise: float = 0.0):
    """Values, tokens, papers and candidates: two references a paper; terse is the best at equal length, wordy the worst."""
    rows = []
    for name, quality in QUALITY.items():
        effect = 5 * np.random.default_rng(1).normal(size=papers)
        logs = LOGS[name] + 0.3 * random.normal(size=papers)
        for _ in range(2):
            values = quality + SLOPE * (logs - 5.5) + effect + noise * random.normal(size=papers)
            rows += [(v, math.exp(n), f"p{k}", name) for k, (v, n) in enumerate(zip(values, logs, strict=True))]
    return [list(column) for column in zip(*rows, strict=True)]


def test_known_slope_and_known_scores_are_found_exactly_without_noise():
    values, tokens, papers, candidates = board(np.random.default_rng(2), 30)
    found = length_controlled(values, tokens, papers, math.exp(5.5), candidates)
    assert found.slope.value == pytest.approx(SLOPE)
    effect = float((5 * np.random.default_rng(1).normal(size=30)).mean())
    for name, quality in QUALITY.items():
        assert found.scores[name].value == pytest.approx(quality + effect)


def test_length_turns_the_order_of_the_plain_means_round():
    values, tokens, papers, candidates = board(np.random.default_rng(3), 100, noise=3.0)
    mean = {name: np.mean([v for v, c in zip(values, candidates, strict=True) if c == name]) for name in QUALITY}
    assert mean["wordy"] > mean["human"] > mean["terse"]
    found = length_controlled(values, tokens, papers, math.exp(5.5), candidates)
    terse, human, wordy = (found.scores[name] for name in ("terse", "human", "wordy"))
    assert terse.value > human.value > wordy.value and terse.low > wordy.high
    assert found.slope.low < SLOPE < found.slope.high


def test_human_score_stays_where_it_is():
    values, tokens, papers, candidates = board(np.random.default_rng(4), 50, noise=3.0)
    human = [place for place, name in enumerate(candidates) if name == "human"]
    found = length_controlled(values, tokens, papers, human_length([tokens[k] for k in human]), candidates)
    assert found.scores["human"].value == pytest.approx(np.mean([values[k] for k in human]))


def test_one_set_of_values_takes_its_slope_from_the_reviews_of_a_paper():
    random = np.random.default_rng(5)
    papers = np.repeat(np.arange(60), 3)
    logs = random.normal(5, 1, size=60)[papers] + 0.4 * random.normal(size=180)
    hard = -4 * random.normal(5, 1, size=60)[papers]
    found = length_controlled(hard + 2 * logs, np.exp(logs), papers, math.exp(5.0))
    assert found.slope.value == pytest.approx(2.0)
    assert found.scores["all"].value == pytest.approx(hard.mean() + 2 * 5.0)


def test_slope_equals_least_squares_with_all_dummies_on_unbalanced_data():
    random = np.random.default_rng(6)
    values, tokens, papers, candidates = board(random, 20, noise=2.0)
    kept = sorted(random.choice(len(values), size=80, replace=False))
    values, tokens, papers, candidates = ([column[k] for k in kept] for column in (values, tokens, papers, candidates))
    columns = [np.log(tokens)]
    columns += [np.array([float(p == q) for p in papers]) for q in sorted(set(papers))]
    columns += [np.array([float(c == d) for c in candidates]) for d in sorted(set(candidates))[1:]]
    slope = np.linalg.lstsq(np.stack(columns, axis=1), np.array(values), rcond=None)[0][0]
    assert length_controlled(values, tokens, papers, 200.0, candidates).slope.value == pytest.approx(slope)


def test_adjusted_values_of_a_candidate_have_its_controlled_mean():
    values, tokens, papers, candidates = board(np.random.default_rng(7), 25, noise=1.0)
    found = length_controlled(values, tokens, papers, 240.0, candidates)
    moved = adjusted(values, tokens, found)
    for name in QUALITY:
        mine = [place for place, candidate in enumerate(candidates) if candidate == name]
        assert moved[mine].mean() == pytest.approx(found.scores[name].value)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(-50, 50))
def test_neither_the_unit_of_length_nor_a_shift_of_a_paper_matters(seed, unit, shift):
    values, tokens, papers, candidates = board(np.random.default_rng(seed), 10, noise=2.0)
    one = length_controlled(values, tokens, papers, 240.0, candidates)
    two = length_controlled(values, [unit * n for n in tokens], papers, unit * 240.0, candidates)
    moved = [v + shift * (p == "p3") for v, p in zip(values, papers, strict=True)]
    three = length_controlled(moved, tokens, papers, 240.0, candidates)
    assert two.slope.value == pytest.approx(one.slope.value) == three.slope.value
    for name in QUALITY:
        assert two.scores[name].value == pytest.approx(one.scores[name].value)
        assert three.scores[name].value == pytest.approx(one.scores[name].value + shift / 10)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1.0, 2.0, 3.0], [10, 0, 12], "abb", 10), "no tokens"),
        (([1.0, 2.0, 3.0], [10, 11, 12], "aaa", 10), "two papers"),
        (([1.0, 2.0, 3.0], [10, 11], "aab", 10), "3 values, 2 lengths"),
        (([1.0, 2.0, 3.0], [10, 11, 12], "aab", 0), "must be positive"),
        (([1.0, 2.0, math.nan], [10, 11, 12], "aab", 10), "not finite"),
        (([1.0, 2.0, 3.0, 4.0], [10, 10, 12, 12], "aabb", 10), "length cannot be separated"),
        (([1.0, 2.0, 3.0, 4.0], [10, 20, 12, 24], "aabb", 10, "xyxy"), "length cannot be separated"),
    ],
)
def test_what_allows_no_length_control_is_an_error_that_says_why(arguments, says):
    with pytest.raises(ValueError, match=says):
        length_controlled(*arguments)
