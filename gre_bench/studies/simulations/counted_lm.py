"""Trains an evaluation LM by counting the reviews of sampled papers of a simulation."""

from __future__ import annotations

import numpy as np

from gre_bench.studies.simulations.known_lm import TabulatedLM
from gre_bench.studies.simulations.papers import Papers
from gre_bench.studies.simulations.simulation import REVIEWS, SYNOPSES, Array

PRIOR = 2.0
"""Weight of the coarser distribution in backing off: as much as this number of counted pairs."""


def counted_lm(papers: Papers, prior: float = PRIOR) -> TabulatedLM:
    """Returns an LM whose P(y | x, s) is estimated from the counts of (s, x, y) over the references of *papers*.

    Each estimate backs off to a coarser one: (count(·, y) + prior · coarser(y)) / (count(·) + prior). P(y | x, s) backs
    off to P(y | x). P(y | x) and P(y | s) back off to P(y), which backs off to the uniform distribution.
    """
    size = len(REVIEWS)
    counts = np.zeros((len(SYNOPSES), size, size))
    np.add.at(counts, (papers.synopses[:, None], papers.candidates[:, :1], papers.references), 1.0)
    of_y = _backed_off(counts.sum(axis=(0, 1)), np.full(size, 1 / size), prior)
    of_x = _backed_off(counts.sum(axis=0), of_y, prior)
    of_s = _backed_off(counts.sum(axis=1), of_y, prior)
    with_s = np.concatenate([_backed_off(counts, of_x[None], prior), of_s[:, None]], axis=1)
    without = np.concatenate([of_x, of_y[None]])
    return TabulatedLM("counted", np.concatenate([with_s, without[None]]))


def _backed_off(counts: Array, coarser: Array, prior: float) -> Array:
    return np.asarray((counts + prior * coarser) / (counts.sum(axis=-1, keepdims=True) + prior))
