"""What scores must come to in a world: exact expectations by enumeration, and how far an LM is from the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gre_bench.studies.simulations.known_lm import TabulatedLM, conditionals
from gre_bench.studies.simulations.world import Array, World


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far P_LM(y | x, synopsis) is from P, in nats: the largest over (x, synopsis).

    *forward*: KL(truth ‖ LM), which the proof of Prop. 3.1 needs; *printed*: KL(LM ‖ truth), which the proposition
    prints (Xu et al. 2025, §3.1 and appendix B).
    """

    forward: float
    printed: float


def expected_score(scores: Array, joint: Array) -> float:
    """Σ P(s, x, y) · score; *scores* has the shape of *joint*, or (reviews, reviews) where no synopsis is given."""
    return float((joint * scores).sum())


def divergence(world: World, lm: TabulatedLM, with_synopsis: bool) -> Divergence:
    """How far *lm* is from what the candidate's review says of the reference in *world*."""
    truth = conditionals(world.joint())
    places = slice(0, -1) if with_synopsis else slice(-1, None)
    p, q = truth[places, :-1], lm.table[places, :-1]
    logs = np.log(p / q)
    return Divergence(float((p * logs).sum(axis=-1).max()), float((-q * logs).sum(axis=-1).max()))
