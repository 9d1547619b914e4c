"""Two measures of the same candidates: agreement of order, whatever their units."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gre_bench.stats.pair_tests import pair_tests
from gre_bench.stats.ranks import agreement, leads, orders, ranks


def simulation(seed: int = 0, papers: int = 40, number: int = 6):
    """Columns of two noisy measures of candidates of rising strength, one pair a paper and reference."""
    random = np.random.default_rng(seed)
    p, c, r = (axis.ravel() for axis in np.indices((papers, number, 2)))
    strength = np.linspace(0, 3, number)[c]
    columns = [(scale * (strength + random.normal(size=len(c)))).tolist() for scale in (1.0, 50.0)]
    names = ["human", *(f"model-{k}" for k in range(1, number))]
    return columns, [f"p{k}" for k in p], [names[k] for k in c], [f"r{k}" for k in r]


def test_agreement_is_spearman_and_kendall_of_the_means():
    (one, other), papers, candidates, _ = simulation()
    found = agreement(one, other, papers, candidates)
    names = list(dict.fromkeys(candidates))
    means = [
        [np.mean([v for v, c in zip(column, candidates, strict=True) if c == name]) for name in names]
        for column in (one, other)
    ]
    assert found.spearman == pytest.approx(stats.spearmanr(*means)[0])
    assert found.kendall == pytest.approx(stats.kendalltau(*means)[0])
    assert found.candidates == 6 and found.low <= found.spearman <= found.high


def test_the_interval_is_that_of_papers_drawn_again_one_by_one():
    (one, other), papers, candidates, _ = simulation(papers=12)
    found = agreement(one, other, papers, candidates, resamples=400)
    random, names = np.random.default_rng(5), list(dict.fromkeys(candidates))
    table = np.zeros((2, 12, 6))
    for column, values in enumerate((one, other)):
        for value, paper, name in zip(values, papers, candidates, strict=True):
            table[column, int(paper[1:]), names.index(name)] += value / 2
    drawn = [stats.spearmanr(*table[:, random.integers(12, size=12)].mean(axis=1))[0] for _ in range(400)]
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=0.15)


@given(st.floats(0.01, 100), st.floats(-50, 50), st.integers(0, 20))
def test_a_measure_in_another_unit_is_the_same_measure(scale, shift, seed):
    (one, _), papers, candidates, references = simulation(seed, papers=8, number=4)
    other = [scale * value + shift for value in one]
    tests = [pair_tests(column, papers, candidates, references) for column in (one, other)]
    said = orders(*tests)
    assert said.only_first == said.only_second == len(said.contradict) == 0 and said.both + said.neither == 6
    assert ranks(one, papers, candidates) == ranks(other, papers, candidates)
    assert leads(tests[0], "human") == pytest.approx(leads(tests[1], "human"), rel=1e-6)
    assert agreement(one, other, papers, candidates, resamples=20).spearman == pytest.approx(1)


def test_a_measure_turned_round_contradicts_in_all_that_is_sure():
    (one, _), papers, candidates, references = simulation()
    tests = [pair_tests(column, papers, candidates, references) for column in (one, [-value for value in one])]
    said = orders(*tests)
    sure = {(t.first, t.second) if t.difference > 0 else (t.second, t.first) for t in tests[0] if t.p_holm < 0.05}
    assert len(sure) > 5 and set(said.contradict) == sure
    assert (said.both, said.only_first, said.only_second, said.neither) == (0, 0, 0, 15 - len(sure))


def test_every_two_candidates_are_counted_once():
    columns, papers, candidates, references = simulation(3, papers=10)
    said = orders(*(pair_tests(column, papers, candidates, references) for column in columns))
    assert said.both + said.only_first + said.only_second + said.neither + len(said.contradict) == 15


def test_a_lead_is_students_t_by_paper():
    (one, _), papers, candidates, references = simulation()
    found = leads(pair_tests(one, papers, candidates, references), "human")
    assert set(found) == {f"model-{k}" for k in range(1, 6)}
    by_paper = {
        name: [np.mean([v for v, p, c in zip(one, papers, candidates, strict=True) if (p, c) == (f"p{k}", name)])
               for k in range(40)] for name in ("human", "model-2")
    }  # fmt: skip
    assert found["model-2"] == pytest.approx(stats.ttest_rel(by_paper["model-2"], by_paper["human"]).statistic)
    assert all(math.isfinite(value) for value in found.values())


def test_two_candidates_have_no_order_to_correlate():
    with pytest.raises(ValueError, match="three names"):
        agreement([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], ["p", "p", "q", "q"], ["a", "b", "a", "b"])
