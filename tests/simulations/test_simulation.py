"""Simulations: their information by other routes than the product's, what is drawn from them, the LMs that know them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SpanError
from gre_bench.core.judgments import count
from gre_bench.core.records import Prediction
from gre_bench.lm.protocol import checked
from gre_bench.studies.simulations.simulation import (
    REVIEWS,
    SYNOPSES,
    Simulation,
    TabulatedLM,
    bias,
    blind_lm,
    conditional_information,
    conditionals,
    counted_lm,
    divergence,
    exact_lm,
    expected_score,
    information,
    noisy_lm,
    random_simulation,
    sample_papers,
)
from tests.contracts import evaluation_lm as contract

seeds = st.integers(0, 10_000)


def joint_of(table: list[list[float]]) -> np.ndarray:
    return np.array(table)[None]


@pytest.mark.parametrize(
    ("table", "bits"),
    [
        # Cover & Thomas, example 2.2.1: I(X; Y) = 0.375 bits.
        ([[1 / 8, 1 / 16, 1 / 16, 1 / 4], [1 / 16, 1 / 8, 1 / 16, 0.0], [1 / 32, 1 / 32, 1 / 16, 0.0],
          [1 / 32, 1 / 32, 1 / 16, 0.0]], 0.375),
        ([[0.25, 0.25], [0.25, 0.25]], 0.0),
        # A binary symmetric channel that errs once in ten: 1 − H(0.1).
        ([[0.45, 0.05], [0.05, 0.45]], 1 + 0.1 * math.log2(0.1) + 0.9 * math.log2(0.9)),
    ],
)  # fmt: skip
def test_information_is_that_of_textbook_tables(table, bits):
    assert information(joint_of(table)) == pytest.approx(bits * math.log(2), abs=1e-9)


def test_conditional_information_of_an_exclusive_or_is_one_bit_though_the_pair_has_none():
    joint = np.array([[[0.25, 0.0], [0.0, 0.25]], [[0.0, 0.25], [0.25, 0.0]]])
    assert information(joint) == pytest.approx(0, abs=1e-12)
    assert conditional_information(joint) == pytest.approx(math.log(2))


@settings(max_examples=30)
@given(seeds)
def test_information_obeys_the_chain_rule_and_garbling_loses_some(seed):
    simulation = random_simulation(seed)
    joint = simulation.joint()
    assert joint.sum() == pytest.approx(1) and (joint > 0).all()
    # I(X; Y) = H(X) + H(Y) − H(X, Y), and I(X, S; Y) = I(S; Y) + I(X; Y | S).
    entropy = lambda p: -float((p * np.log(p)).sum())  # noqa: E731
    of_xy = joint.sum(axis=0)
    assert information(joint) == pytest.approx(entropy(of_xy.sum(1)) + entropy(of_xy.sum(0)) - entropy(of_xy))
    both = joint.reshape(1, -1, len(REVIEWS))
    of_sy = joint.sum(axis=1)[None]
    assert information(both) == pytest.approx(information(of_sy) + conditional_information(joint))
    chain = [information(simulation.joint(simulation.garbled(steps))) for steps in range(4)]
    assert chain == sorted(chain, reverse=True) and chain[-1] < chain[0]
    assert information(simulation.joint(simulation.evading())) <= chain[0]


@settings(max_examples=20)
@given(seeds)
def test_channels_are_distributions_and_the_same_seed_gives_the_same_simulation(seed):
    simulation, again = random_simulation(seed), random_simulation(seed)
    for name in ("candidate", "reference", "synopsis", "garbling"):
        channel = getattr(simulation, name)
        assert np.allclose(channel.sum(axis=1), 1) and (channel > 0).all()
        assert np.array_equal(channel, getattr(again, name))
    assert not np.array_equal(simulation.candidate, random_simulation(seed + 1).candidate)


def test_every_review_is_of_judgments_alone_and_none_is_there_twice():
    assert len(set(REVIEWS)) == len(REVIEWS) == 8 and len(set(SYNOPSES)) == len(SYNOPSES)
    assert all(count(review) == (3, 0) for review in REVIEWS)


def test_what_is_drawn_has_the_simulation_s_distribution():
    simulation = random_simulation(5)
    papers = sample_papers(simulation, 200_000, seed=1, garblings=1)
    for reference in range(2):
        found = np.zeros_like(simulation.joint())
        np.add.at(found, (papers.synopses, papers.candidates[:, 0], papers.references[:, reference]), 1 / 200_000)
        assert abs(found - simulation.joint()).max() < 0.002
    garbled = np.bincount(papers.candidates[:, 1], minlength=8) / 200_000
    assert abs(garbled - simulation.states @ simulation.garbled(1)).max() < 0.005
    # References depend on each other through the paper: their joint is not the product of its margins.
    pair = np.zeros((8, 8))
    np.add.at(pair, (papers.references[:, 0], papers.references[:, 1]), 1 / 200_000)
    assert information(pair[None] + 1e-12) > 0.05


@settings(max_examples=10)
@given(seeds)
def test_the_exact_lm_is_a_distribution_over_reviews_whatever_is_given(seed):
    lm = exact_lm(random_simulation(seed))
    for synopsis in (*SYNOPSES, None):
        for x in (*REVIEWS, None):
            spans = lm.logprob([Prediction(x, synopsis, y) for y in REVIEWS])
            assert math.fsum(math.exp(span.total) for span in spans) == pytest.approx(1)
            assert all(checked(span) is span for span in spans)


def test_a_line_has_its_probability_given_the_lines_before():
    simulation = random_simulation(2)
    of_y = simulation.joint().sum(axis=(0, 1))
    span = exact_lm(simulation).logprob([Prediction(None, None, REVIEWS[6])])[0]  # second, second, first
    first, second = of_y[4:].sum(), of_y[6:].sum()
    assert np.exp(span.logprobs[:3]) == pytest.approx([first, second / first, of_y[6] / second])
    assert span.logprobs[3] == 0.0 and len(set(span.ids)) == 4


APPLY = [rule for rule in contract.CONTRACT if rule is not contract.empty_texts_are_scored]


@pytest.mark.parametrize("rule", APPLY, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("open_lm", [exact_lm, blind_lm, lambda simulation: noisy_lm(simulation, 0.2, 1)])
def test_lms_of_simulations_keep_the_contract_on_texts_of_their_simulation(rule, open_lm, monkeypatch):
    """A simulation has no empty review, and no text but its own: the contract is asked about those."""
    x, y = REVIEWS[1], REVIEWS[6]
    own = (Prediction(x, None, y), Prediction(None, None, y), Prediction(x, SYNOPSES[0], y), Prediction(y, None, x))
    monkeypatch.setattr(contract, "ORDINARY", own)
    monkeypatch.setattr(contract, "EMPTY", ())
    rule(lambda: open_lm(random_simulation(4)))


@pytest.mark.parametrize(
    "asked", [Prediction("x", None, REVIEWS[0]), Prediction(None, "s", REVIEWS[0]), Prediction(None, None, "")]
)
def test_a_text_of_no_simulation_is_refused_in_its_place(asked):
    refused, span = exact_lm(random_simulation(0)).logprob([asked, Prediction(None, None, REVIEWS[0])])
    assert isinstance(refused, SpanError) and refused.code == "outside" and refused.final
    assert not isinstance(span, SpanError)


def test_the_divergence_of_a_mixture_is_that_of_a_hand_made_one():
    simulation = random_simulation(7)
    table = conditionals(simulation.joint())
    q = TabulatedLM("even", np.concatenate([np.full_like(table[:, :-1], 1 / 8), table[:, -1:]], axis=1))
    found = divergence(simulation, q, with_synopsis=False)
    p = table[-1, :-1]
    assert found.forward == pytest.approx((math.log(8) + (p * np.log(p)).sum(axis=1)).max())
    assert found.printed == pytest.approx((-math.log(8) - np.log(p).mean(axis=1)).max())
    assert divergence(simulation, exact_lm(simulation), True).forward == pytest.approx(0, abs=1e-12)


def test_bias_is_marginal_error_less_conditional_error():
    simulation = random_simulation(3)
    for lm in (exact_lm(simulation), noisy_lm(simulation, 0.3, 3), counted_lm(sample_papers(simulation, 50, 3))):
        for with_synopsis in (False, True):
            found = bias(simulation, lm, with_synopsis)
            assert found.bias == pytest.approx(found.marginal_error - found.conditional_error, abs=1e-12)
            assert found.marginal_error > -1e-12 and found.conditional_error > -1e-12
    assert bias(simulation, exact_lm(simulation), True).bias == pytest.approx(0, abs=1e-12)
    assert bias(simulation, noisy_lm(simulation, 0.3, 3), True).bias < -0.01


def test_counting_learns_the_simulation():
    simulation = random_simulation(6)
    errors = [
        abs(bias(simulation, counted_lm(sample_papers(simulation, n, 6)), True).bias) for n in (100, 10_000, 1_000_000)
    ]
    assert errors[0] > 5 * errors[1] > 25 * errors[2] and errors[2] < 0.001


def test_counting_nothing_gives_the_prior():
    nothing = sample_papers(random_simulation(0), 2, 0)
    nothing = replace(
        nothing, synopses=nothing.synopses[:0], candidates=nothing.candidates[:0], references=nothing.references[:0]
    )
    assert np.allclose(counted_lm(nothing).table, 1 / 8)


def test_the_identity_of_a_simulation_s_lm_tells_simulations_and_lms_apart():
    one, other = random_simulation(0), random_simulation(1)
    lms = [exact_lm(one), exact_lm(other), blind_lm(one), noisy_lm(one, 0.1, 0), exact_lm(one, one.garbled(1))]
    assert len({lm.identity.digest for lm in lms}) == len(lms)
    assert exact_lm(one).identity == exact_lm(random_simulation(0)).identity


def test_a_blackwell_garbling_scores_no_higher_by_an_lm_that_reads_the_candidate_rightly():
    """A hand-made simulation: x tells w, the garbled x is a coin. Prop. 3.1 with ε = 0."""
    even = np.full((2, 8), 1 / 8)
    told = 0.98 * np.eye(8)[[0, 7]] + 0.02 / 8
    simulation = Simulation(np.array([0.5, 0.5]), told, told, np.full((2, 3), 1 / 3), np.full((8, 8), 1 / 8))
    table = np.log(conditionals(simulation.joint())[-1, :-1] / simulation.joint().sum(axis=(0, 1)))
    assert np.allclose(simulation.garbled(1), even)
    assert expected_score(table, simulation.joint()) == pytest.approx(information(simulation.joint()))
    assert expected_score(table, simulation.joint(simulation.garbled(1))) < 0 < information(simulation.joint())
