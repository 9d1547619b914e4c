"""Length control: constructed data with a known slope first, then what must hold for any data, then faults."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gre_bench.stats.length import (
    compute_human_length,
    contrast_at_length,
    estimate_length_slope,
    length_controlled_means,
)

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


def test_known_slope_and_known_scores_are_found_exactly_without_noise_and_the_human_score_stays_where_it_is():
    values, tokens, papers, candidates = board(np.random.default_rng(2), 30)
    assert estimate_length_slope(values, tokens, papers, candidates=candidates).value == pytest.approx(SLOPE)
    scores = length_controlled_means(values, tokens, papers, math.exp(5.5), candidates)
    effect = float((5 * np.random.default_rng(1).normal(size=30)).mean())
    for name, quality in QUALITY.items():
        assert scores[name].value == pytest.approx(quality + effect)
    values, tokens, papers, candidates = board(np.random.default_rng(4), 50, noise=3.0)
    human = [place for place, name in enumerate(candidates) if name == "human"]
    scores = length_controlled_means(
        values, tokens, papers, compute_human_length([tokens[k] for k in human]), candidates
    )
    assert scores["human"].value == pytest.approx(np.mean([values[k] for k in human]))


def test_one_set_of_values_takes_its_slope_from_the_reviews_of_a_group():
    random = np.random.default_rng(5)
    papers = np.repeat(np.arange(60), 3)
    logs = random.normal(5, 1, size=60)[papers] + 0.4 * random.normal(size=180)
    hard = -4 * random.normal(5, 1, size=60)[papers]
    assert estimate_length_slope(hard + 2 * logs, np.exp(logs), papers.tolist()).value == pytest.approx(2.0)
    # Two groups of a paper may differ: only reviews of one group are compared.
    groups = np.tile([0, 0, 1], 60) + 2 * papers
    told = estimate_length_slope(hard + 2 * logs + 9 * (groups % 2), np.exp(logs), papers.tolist(), groups.tolist())
    assert told.value == pytest.approx(2.0)


def test_slope_equals_least_squares_with_all_dummies_on_unbalanced_data():
    random = np.random.default_rng(6)
    values, tokens, papers, candidates = board(random, 20, noise=2.0)
    kept = sorted(random.choice(len(values), size=80, replace=False))
    values, tokens, papers, candidates = ([column[k] for k in kept] for column in (values, tokens, papers, candidates))
    columns = [np.log(tokens)]
    columns += [np.array([float(p == q) for p in papers]) for q in sorted(set(papers))]
    columns += [np.array([float(c == d) for c in candidates]) for d in sorted(set(candidates))[1:]]
    slope = np.linalg.lstsq(np.stack(columns, axis=1), np.array(values), rcond=None)[0][0]
    assert estimate_length_slope(values, tokens, papers, candidates=candidates).value == pytest.approx(slope)


def two(values, tokens, papers, candidates):
    """The slope, and what `contrast_at_length` takes of wordy and terse: their mean score and length by paper."""
    rows = {}
    for value, token, paper, name in zip(values, tokens, papers, candidates, strict=True):
        rows.setdefault((name, paper), []).append((value, token))
    means = {key: np.mean(pairs, axis=0) for key, pairs in rows.items()}
    columns = np.array([*means.values()]).T
    slope = estimate_length_slope(*columns, [paper for _, paper in means], candidates=[name for name, _ in means])
    shared = list(dict.fromkeys(papers))
    return slope, [shared, *([means[name, p][k] for p in shared] for k in (0, 1) for name in ("wordy", "terse"))]


def test_a_contrast_without_noise_is_the_true_one_in_both_forms():
    slope, columns = two(*board(np.random.default_rng(8), 40))
    found = contrast_at_length(slope, *columns)
    assert found.common.value == pytest.approx(QUALITY["wordy"] - QUALITY["terse"])
    assert found.own.value == pytest.approx(QUALITY["wordy"] - QUALITY["terse"])


def test_a_contrast_has_the_standard_error_of_least_squares_with_all_dummies_robust_by_paper():
    values, tokens, papers, candidates = board(np.random.default_rng(9), 25, noise=2.0)
    slope, columns = two(values, tokens, papers, candidates)
    found = contrast_at_length(slope, *columns)
    # The published formula of the sandwich, on the whole design: columns log tokens, candidates, papers.
    keys = sorted({(p, c) for p, c in zip(papers, candidates, strict=True)})
    mean = {
        key: np.mean([v for v, p, c in zip(values, papers, candidates, strict=True) if (p, c) == key]) for key in keys
    }
    token = {(p, c): t for t, p, c in zip(tokens, papers, candidates, strict=True)}
    names, owners = ["human", "terse", "wordy"], sorted(set(papers))
    design = np.array(
        [[math.log(token[key]), *[float(key[1] == n) for n in names], *[float(key[0] == p) for p in owners[1:]]]
         for key in keys]
    )  # fmt: skip
    y = np.array([mean[key] for key in keys])
    inverse = np.linalg.inv(design.T @ design)
    fit = inverse @ design.T @ y
    scores = design * (y - design @ fit)[:, None]
    by_paper = np.array([scores[[key[0] == p for key in keys]].sum(axis=0) for p in owners])
    weight = np.zeros(design.shape[1])
    weight[3], weight[2] = 1, -1  # wordy less terse
    error = math.sqrt(25 / 24 * float(weight @ inverse @ by_paper.T @ by_paper @ inverse @ weight))
    assert slope.value == pytest.approx(fit[0])
    assert found.common.value == pytest.approx(weight @ fit)
    t = stats.t.ppf(0.975, 24)
    assert (found.common.high - found.common.low) / 2 == pytest.approx(t * error)


def test_the_doubt_of_the_slope_widens_the_interval_of_a_contrast():
    slope, columns = two(*board(np.random.default_rng(10), 113, noise=20.0))
    known = replace(slope, influence=dict.fromkeys(slope.influence, 0.0))
    found, sure = (contrast_at_length(each, *columns) for each in (slope, known))
    assert sure.common.value == found.common.value
    assert found.common.high - found.common.low > 1.5 * (sure.common.high - sure.common.low)


def test_candidates_with_slopes_of_their_own_are_told_apart_only_if_both_forms_agree():
    random = np.random.default_rng(11)
    papers = [f"p{k}" for k in range(120)]
    logs = {"a": 6 + 0.4 * random.normal(size=120), "b": 5.6 + 0.4 * random.normal(size=120)}
    # The longer reviews of a gain nothing by length, those of b gain much: no common slope fits.
    values = {"a": 8 + random.normal(size=120), "b": 8 + 12 * (logs["b"] - 5.6) + random.normal(size=120)}
    slope = estimate_length_slope(
        [*values["a"], *values["b"]], np.exp([*logs["a"], *logs["b"]]), papers * 2, candidates=["a"] * 120 + ["b"] * 120
    )
    found = contrast_at_length(slope, papers, values["a"], values["b"], np.exp(logs["a"]), np.exp(logs["b"]))
    assert found.own.value == pytest.approx(-12 * 0.2, abs=1.0)
    assert found.p >= max(found.common.p, found.own.p) and found.overlap > 0.3


@pytest.mark.parametrize(("gap", "why"), [(0.0, None), (3.0, "lengths barely overlap")])
def test_lengths_that_barely_overlap_tell_nothing(gap, why):
    random = np.random.default_rng(12)
    papers = list(range(60))
    logs, others = 5 + gap + 0.3 * random.normal(size=60), 5 + 0.3 * random.normal(size=60)
    first, second = 9 + logs + 0.1 * random.normal(size=60), others + 0.1 * random.normal(size=60)
    slope = estimate_length_slope(
        [*first, *second], np.exp([*logs, *others]), papers * 2, candidates=["a"] * 60 + ["b"] * 60
    )
    found = contrast_at_length(slope, papers, first, second, np.exp(logs), np.exp(others))
    assert found.why_not == why and (found.p == 1.0) == (why is not None)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(-50, 50))
def test_neither_the_unit_of_length_nor_a_shift_of_a_paper_matters(seed, unit, shift):
    values, tokens, papers, candidates = board(np.random.default_rng(seed), 10, noise=2.0)
    one = length_controlled_means(values, tokens, papers, 240.0, candidates)
    two = length_controlled_means(values, [unit * n for n in tokens], papers, unit * 240.0, candidates)
    moved = [v + shift * (p == "p3") for v, p in zip(values, papers, strict=True)]
    three = length_controlled_means(moved, tokens, papers, 240.0, candidates)
    for name in QUALITY:
        assert two[name].value == pytest.approx(one[name].value)
        assert three[name].value == pytest.approx(one[name].value + shift / 10)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1.0, 2.0, 3.0], [10, 0, 12], "abb", 10, "xxx"), "no tokens"),
        (([1.0, 2.0, 3.0], [10, 11, 12], "aaa", 10, "xxx"), "two papers"),
        (([1.0, 2.0, 3.0], [10, 11], "aab", 10, "xxx"), "3 values, 2 lengths"),
        (([1.0, 2.0, 3.0], [10, 11, 12], "aab", 0, "xxx"), "must be positive"),
        (([1.0, 2.0, math.nan], [10, 11, 12], "aab", 10, "xxx"), "not finite"),
        (([1.0, 2.0, 3.0, 4.0], [10, 10, 12, 12], "aabb", 10, "xxxx"), "length cannot be separated"),
        (([1.0, 2.0, 3.0, 4.0], [10, 20, 12, 24], "aabb", 10, "xyxy"), "length cannot be separated"),
    ],
)
def test_what_allows_no_length_control_is_an_error_that_says_why(arguments, says):
    with pytest.raises(ValueError, match=says):
        length_controlled_means(*arguments)
