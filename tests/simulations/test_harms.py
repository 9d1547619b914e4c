"""Curves of harms in a finite world, by an LM that knows it: what each degree of a harm is worth, and what it costs.

A paper has ten claims, each right or wrong with equal chance. A reviewer judges every claim and errs with probability
ε, independently. So what one review tells of another is a sum over claims, log P(y_j | x_j) − log ½. With agreement q =
(1 − ε)² + ε², its mean is I = log 2 + q log q + (1 − q) log(1 − q) for a judgment, the mutual information, and J =
log 2 + q log(1 − q) + (1 − q) log q for its contrary.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from gre_bench.core.records import Case, LMIdentity, Prediction, SpanLogprob
from gre_bench.perturbations.by_name import apply_perturbation
from gre_bench.perturbations.harms import DEGREES, HARMS
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.stats.degrees import DegreeCurve, compute_degree_curve
from tests.scripted_lms import scores_of

CLAIMS, PAPERS, ERROR = 10, 400, 0.1
AGREE = (1 - ERROR) ** 2 + ERROR**2
TOLD = math.log(2) + AGREE * math.log(AGREE) + (1 - AGREE) * math.log(1 - AGREE)
LIED = math.log(2) + AGREE * math.log(1 - AGREE) + (1 - AGREE) * math.log(AGREE)


class KnowsTheWorld:
    """An LM that knows the world: it reads a claim's number and stance, in any words, and nothing else.

    *believes*: the share of pairs of reviews that it thinks agree on a claim; the truth is `AGREE`.
    """

    def __init__(self, believes: float = AGREE):
        self.identity = LMIdentity("knows-the-world", "0" * 64, "1")
        self.gain = math.log(believes / (1 - believes))

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob]:
        return [self._span(prediction) for prediction in predictions]

    def _span(self, prediction: Prediction) -> SpanLogprob:
        odds = [0.0] * CLAIMS
        for claim, right in self._read(prediction.x or ""):
            odds[claim] += self.gain if right else -self.gain
        logprobs = tuple(
            -math.log1p(math.exp(-odds[claim] if right else odds[claim]))
            for claim, right in self._read(prediction.reply)
        )
        return SpanLogprob(math.fsum(logprobs), tuple(range(len(logprobs))), logprobs)

    @staticmethod
    def _read(text: str) -> list[tuple[int, bool]]:
        lines = [line.rstrip(".").split() for line in text.splitlines()]
        return [(int(words[-1]), words[2] == "appreciates") for words in lines if words[-1].isdigit()]


def written(claims: Sequence[bool], chance: random.Random) -> str:
    said = [right != (chance.random() < ERROR) for right in claims]
    stance = {True: "appreciates", False: "criticizes"}
    return "\n".join(f"The reviewer {stance[right]} the novel method of claim {j}." for j, right in enumerate(said))


@pytest.fixture(scope="module")
def world() -> list[tuple[PerturbationInput, str]]:
    """By paper: a review with what harms need, and another reviewer's review."""
    chance = random.Random(3)
    papers = [[chance.random() < 0.5 for _ in range(CLAIMS)] for _ in range(PAPERS)]
    reviews = [(written(claims, chance), written(claims, chance)) for claims in papers]
    return [
        (PerturbationInput(f"p{index}", own, "T", "We study claims. We prove them.", (reviews[index - 1][0],)), other)
        for index, (own, other) in enumerate(reviews)
    ]


def curve_of(harm: str, world: list[tuple[PerturbationInput, str]], lm: KnowsTheWorld) -> DegreeCurve:
    def scores(change: str | None) -> np.ndarray:
        cases = [
            Case(
                own.key,
                "human",
                "r",
                "judgments",
                apply_perturbation(change, "judgments", own) if change else own.text,
                other,
            )
            for own, other in world
        ]
        return np.array([score.value for score in scores_of("gem", lm, cases)])

    before = scores(None)
    return compute_degree_curve(np.stack([scores(f"{harm}-{degree}0") - before for degree in DEGREES], axis=1))


EXPECTED = {
    "garbling": [-TOLD * min(degree, CLAIMS - 1) for degree in DEGREES],
    "negation": [(LIED - TOLD) * degree for degree in DEGREES],
    "laundering": [0.0] * 10,
    "padding": [0.0] * 10,
    "copying": [0.0] * 10,
}


@pytest.mark.parametrize("harm", EXPECTED)
def test_each_degree_costs_the_information_that_it_takes(harm, world):
    curve = curve_of(harm, world, KnowsTheWorld())
    for mean, low, high, wanted in zip(curve.means, curve.lows, curve.highs, EXPECTED[harm], strict=True):
        assert mean == pytest.approx(wanted, abs=max(1e-9, 1.5 * (high - low)))
    assert curve.monotone and curve.pays is None
    assert (curve.told["60"] is not None) == (HARMS[harm].family == "degradation")


def test_lies_cost_more_than_silence_and_inventions_lie_between_negations_and_silence(world):
    by_harm = {harm: curve_of(harm, world, KnowsTheWorld()).means for harm in ("garbling", "invention", "negation")}
    for silence, invention, contrary in zip(*by_harm.values(), strict=True):
        assert contrary < invention < silence < 0


def test_an_lm_that_trusts_reviews_too_little_tells_less_and_one_that_trusts_none_tells_nothing(world):
    told = [curve_of("negation", world, KnowsTheWorld(share)).means[-1] for share in (AGREE, 0.6, 0.5)]
    assert told[0] < told[1] < told[2] == 0


def test_a_harm_pays_where_the_lm_reads_it_the_wrong_way(world):
    curve = curve_of("negation", world, KnowsTheWorld(1 - AGREE))
    assert curve.pays == 1 and curve.told["300"] is None
