"""Computes the exact bias of an evaluation LM: its expected score minus the information, without sampling papers.

E[score] − I = KL(P(y | s) ‖ LM(y | s)) − KL(P(y | x, s) ‖ LM(y | x, s)). The first divergence is a mean over s, the
second a mean over (x, s). If the LM predicts y badly without x, scores are too high. If the LM misreads x, scores are
too low.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.records import Prediction
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.studies.simulations.known_lm import conditionals
from gre_bench.studies.simulations.simulation import (
    REVIEWS,
    SYNOPSES,
    Array,
    Simulation,
    conditional_information,
    information,
)


@dataclass(frozen=True, slots=True)
class Bias:
    """The expected score of an LM in a simulation, and what separates it from the true information; all in nats.

    - *truth*: the true mutual information.
    - *expected*: the expected score; equals *truth* + *marginal_error* − *conditional_error*.
    - *marginal_error*: the LM's mean divergence from the truth without the candidate's review.
    - *conditional_error*: the LM's mean divergence from the truth with the candidate's review.
    """

    truth: float
    expected: float
    marginal_error: float
    conditional_error: float

    @property
    def bias(self) -> float:
        """Returns the expected score minus the truth, in nats."""
        return self.expected - self.truth


def bias(simulation: Simulation, lm: EvaluationLM, with_synopsis: bool) -> Bias:
    """Returns the bias of GEM by *lm*, or of GEM-S if *with_synopsis*, for the candidate of *simulation*.

    Raises `SpanError` if the LM refuses a text.
    """
    joint = simulation.joint() if with_synopsis else simulation.joint().sum(axis=0, keepdims=True)
    synopses: tuple[str | None, ...] = SYNOPSES if with_synopsis else (None,)
    logs = _logprobs(lm, synopses)
    truth = np.log(conditionals(joint)[: len(synopses)])
    off = truth - logs
    marginal = float((joint.sum(axis=1) * off[:, -1]).sum())
    conditional = float((joint * off[:, :-1]).sum())
    known = conditional_information(joint) if with_synopsis else information(joint)
    expected = float((joint * (logs[:, :-1] - logs[:, -1:])).sum())
    return Bias(known, expected, marginal, conditional)


def _logprobs(lm: EvaluationLM, synopses: tuple[str | None, ...]) -> Array:
    """Returns log LM(y | x, s), shape (synopses, reviews + 1, reviews).

    The last index of x stands for no candidate's review.
    """
    predictions = [Prediction(x, s, y) for s in synopses for x in (*REVIEWS, None) for y in REVIEWS]
    totals = []
    for answer in lm.logprob(predictions):
        if isinstance(answer, SpanError):
            raise answer
        totals.append(answer.total)
    return np.array(totals).reshape(len(synopses), len(REVIEWS) + 1, len(REVIEWS))
