"""Tests the estimates of detectable differences on generated differences with known terms, and on an edition."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.bench import power
from tests.flows.refreshing import EDITION, add_reviews, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM


@pytest.mark.parametrize(("paper", "reference"), [(2.0, 3.0), (0.0, 1.0), (4.0, 0.5)])
def test_the_terms_of_made_differences_are_told_apart(paper, reference):
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5, 4000)
    groups = [rng.normal(0, paper) + rng.normal(0, reference, size) for size in sizes]
    found = power.terms(groups)
    assert found is not None
    assert found.paper == pytest.approx(paper, abs=0.15) and found.reference == pytest.approx(reference, rel=0.05)
    pairs = [rng.normal(0, paper) + rng.normal(0, reference, 2) for _ in range(4000)]
    assert found.error(4000, 2) == pytest.approx(power.measured(pairs, rng, None), rel=0.05)


SAID = {
    "careful": "The reviewer criticizes the missing baselines of paper {n}.\nThe reviewer suggests more seeds.",
    "hasty": "The reviewer appreciates the idea of paper {n}.",
    "fond": "The reviewer appreciates the clear proofs.\nThe reviewer appreciates the experiments of paper {n}.",
}


def test_one_reference_a_paper_tells_nothing_of_the_terms():
    assert power.terms([np.array([1.0]), np.array([2.0])]) is None


def test_a_test_shows_the_least_difference_with_the_promised_probability():
    rng, papers, error = np.random.default_rng(2), 40, 0.5
    shift = power.least(error, papers, 1)
    from scipy import stats

    samples = rng.normal(shift, error * np.sqrt(papers), (4000, papers))
    assert np.mean(stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05) == pytest.approx(power.POWER, abs=0.02)


def test_the_differences_of_an_edition_are_printed(tmp_path, monkeypatch, capsys):
    state = refreshed(tmp_path / "state")
    use(OverlapLM())
    for name, said in SAID.items():
        rows = reviews_by(name)
        add_reviews(state, [row | {"judgments": said.format(n=n)} for n, row in enumerate(rows, 1)])
    assert run(state)["outcome"] == "done"
    monkeypatch.setattr(sys, "argv", ["power", EDITION, "gem", "--state", str(state)])
    capsys.readouterr()
    power.main()
    said = capsys.readouterr().out
    assert "3 differences of 3 candidates" in said and "| one of 6 tests: papers |" in said
    assert "all references (2.0 a paper) against two: " in said
