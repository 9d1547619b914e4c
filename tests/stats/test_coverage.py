"""Simulated coverage of some cells of the table that `tests.bench.bench_coverage` prints whole, in 150 to 2,000 simulations."""

from __future__ import annotations

import numpy as np
import pytest

from gre_bench.stats.correlation import correlate
from tests.bench.coverage import (
    auc,
    contains_truth,
    coverage,
    draw_grades,
    effects,
    lengths,
    means,
    ranks,
    true_correlations,
)


def spearman(random, papers, share, tails):
    first, _, grades = draw_grades(random, papers, share, tails, 5)
    found = correlate("spearman", first, grades, np.repeat(np.arange(papers), 5), resamples=250)
    return {"Spearman, by group, 95%": contains_truth(found, true_correlations(tails)["spearman"])}


SIMULATIONS = {means: 2000, auc: 1000, spearman: 1000, effects: 500, lengths: 500}


@pytest.mark.parametrize(
    ("trial", "papers", "share", "tails", "name"),
    [
        (means, 30, 0.6, "normal", "mean, by paper, 90%"),
        (means, 100, 0.6, "lognormal", "mean, by paper, 90%"),
        (means, 30, 0.6, "lognormal", "paired difference, 90%"),
        (auc, 100, 0.6, "lognormal", "AUC, by paper, 95%"),
        (effects, 30, 0.6, "normal", "d, by paper, 95%"),
        (effects, 100, 0.3, "lognormal", "d, by paper, 95%"),
        (spearman, 30, 0.6, "normal", "Spearman, by group, 95%"),
        (lengths, 30, 0.3, "normal", "score at human length, 90%"),
        (lengths, 30, 0.3, "lognormal", "slope of length, 90%"),
    ],
)
def test_interval_covers_at_its_nominal_level_within_two_points(trial, papers, share, tails, name):
    nominal = float(name[-3:-1]) / 100
    assert coverage(trial, papers, share, tails, SIMULATIONS[trial])[name] == pytest.approx(nominal, abs=0.02)


@pytest.mark.parametrize("papers", [30, 100])
def test_intervals_of_ranks_promise_no_more_than_they_hold(papers):
    found = coverage(ranks, papers, 0.3, "normal", 150)
    assert found["all ranks, by Holm, 90%"] > 0.88


def test_flat_intervals_cover_less_than_they_say_when_pairs_depend_on_each_other():
    assert coverage(means, 100, 0.6, "normal", SIMULATIONS[means])["mean, flat, 90%"] < 0.85
    assert coverage(effects, 30, 0.6, "normal", 500)["d, flat, 95%"] < 0.90
