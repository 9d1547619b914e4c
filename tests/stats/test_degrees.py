"""Curves of graded harms, from differences by paper whose mean and spread are known."""

from __future__ import annotations

import numpy as np
import pytest

from gre_bench.stats.degrees import ALPHA, PAPERS, POWER, compute_degree_curve
from gre_bench.stats.pair_tests import smallest_detectable_difference

SHAPE = np.random.default_rng(5).normal(size=400)
SHAPE = (SHAPE - SHAPE.mean()) / SHAPE.std(ddof=1)


def made(means, sd=1.0):
    """Differences of 400 papers with these means by degree and this standard deviation, each degree's own papers."""
    return np.stack([mean + sd * np.roll(SHAPE, 37 * place) for place, mean in enumerate(means)], axis=1)


def test_the_least_degree_told_is_where_the_mean_passes_the_least_difference_of_so_many_papers():
    means = [-0.06 * degree for degree in range(1, 11)]
    curve = compute_degree_curve(made(means))
    assert curve.means == pytest.approx(means) and curve.sds == pytest.approx([1.0] * 10)
    for papers in PAPERS:
        least = smallest_detectable_difference(1.0, papers, ALPHA, POWER)
        assert curve.told[str(papers)] == next(degree for degree in range(1, 11) if 0.06 * degree >= least)
    assert curve.told == {"60": 7, "113": 5, "300": 3}
    assert curve.monotone and curve.pays is None and curve.papers == 400


@pytest.mark.parametrize("papers", PAPERS)
def test_a_bootstrap_of_papers_has_the_power_that_the_least_degree_promises(papers):
    least = smallest_detectable_difference(1.0, papers, ALPHA, POWER)
    curve = compute_degree_curve(made([-least * 1.001] * 10))
    assert curve.told[str(papers)] == 1
    assert curve.power[str(papers)] == pytest.approx(POWER, abs=0.04)


def test_a_degree_is_not_told_below_one_that_is_not():
    curve = compute_degree_curve(made([-1, -1, 0, -1, -1, -1, -1, -1, -1, -1]))
    assert curve.told["300"] == 4 and not curve.monotone


def test_a_harm_pays_from_the_least_degree_whose_rise_is_told():
    curve = compute_degree_curve(made([0, 0, 0.02, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1]))
    assert curve.pays == 4 and curve.monotone
    assert set(curve.told.values()) == set(curve.power.values()) == {None}


def test_differences_that_do_not_vary_are_told_unless_they_are_zero():
    assert compute_degree_curve(np.zeros((5, 10))).told["60"] is None
    assert compute_degree_curve(np.zeros((5, 10))).monotone
    assert compute_degree_curve(np.full((5, 10), -1.0)).told["60"] == 1
    with pytest.raises(ValueError, match="at least 2 values"):
        compute_degree_curve(np.zeros((1, 10)))


def test_a_curve_of_some_degrees_names_these_degrees():
    means = [-0.06 * degree for degree in range(1, 11)]
    some = (2, 5, 10)
    curve = compute_degree_curve(made(means)[:, [degree - 1 for degree in some]], some)
    assert curve.means == pytest.approx([means[degree - 1] for degree in some])
    assert curve.told == {"60": 10, "113": 5, "300": 5}
    assert compute_degree_curve(made([0, 0.5, 0.6]), some).pays == 5
    with pytest.raises(ValueError, match="10 columns for 3 degrees"):
        compute_degree_curve(made(means), some)


def test_equal_differences_give_equal_curves():
    differences = made([-0.2] * 10)
    assert compute_degree_curve(differences, seed=3) == compute_degree_curve(differences, seed=3)
