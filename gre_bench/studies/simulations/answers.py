"""Computes exact expected scores in a simulation, by enumeration, and an LM's divergence from the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gre_bench.studies.simulations.known_lm import TabulatedLM, conditionals
from gre_bench.studies.simulations.simulation import Array, Simulation


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far an LM's P(y | x, synopsis) is from the simulation's, in nats.

    Each field is the largest divergence over all (x, synopsis).

    - *forward*: KL(truth ‖ LM), which the proof of Prop. 3.1 needs.
    - *printed*: KL(LM ‖ truth), which Prop. 3.1 prints (Xu et al. 2025, §3.1 and appendix B).
    """

    forward: float
    printed: float


def expected_score(scores: Array, joint: Array) -> float:
    """Returns the expected score under the distribution *joint*, Σ P(s, x, y) · score, in the unit of *scores*.

    *joint*: shape (synopses, reviews, reviews). *scores*: the same shape, or (1, reviews, reviews) for a score without
    a synopsis.
    """
    return float((joint * scores).sum())


def divergence(simulation: Simulation, lm: TabulatedLM, with_synopsis: bool) -> Divergence:
    """Returns how far *lm* is from *simulation* in predicting the reference from the candidate's review.

    *with_synopsis*: whether the synopsis is given too.
    """
    truth = conditionals(simulation.joint())
    places = slice(0, -1) if with_synopsis else slice(-1, None)
    p, q = truth[places, :-1], lm.table[places, :-1]
    logs = np.log(p / q)
    return Divergence(float((p * logs).sum(axis=-1).max()), float((-q * logs).sum(axis=-1).max()))
