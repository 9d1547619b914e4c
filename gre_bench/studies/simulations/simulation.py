"""A finite simulation: a paper's hidden state, and reviews and a synopsis sampled from it through known channels.

Given the state w of a paper, three things are sampled independently: its synopsis s from P(s | w), the candidate's
review x from P(x | w), and every reference y from P(y | w). A garbled candidate passes x through one more channel, Γ.
The original candidate therefore dominates the garbled one in Blackwell's order (Xu et al. 2025, §3.1). All sets are
finite, so mutual information is a finite sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

LINES = (
    ("The reviewer appreciates the clear writing.", "The reviewer criticizes the confusing notation."),
    ("The reviewer appreciates the novelty of the idea.", "The reviewer questions how it differs from earlier work."),
    ("The reviewer suggests adding stronger baselines.", "The reviewer appreciates the thorough experiments."),
)
"""For each line of a review, the two judgments that it may hold."""

VERDICTS = tuple(product(range(2), repeat=len(LINES)))
"""Every review, as the index of its judgment on each line."""

REVIEWS = tuple("\n".join(pair[side] for pair, side in zip(LINES, verdict, strict=True)) for verdict in VERDICTS)
"""Every review, as the text of its judgments."""

SYNOPSES = (
    "We prove a bound on the error of a known estimator.",
    "We measure how two known methods compare on public data.",
    "We propose a new architecture and train it from scratch.",
)
_LEAST = 1e-3
"""The uniform share of each channel, so that nothing is impossible and every logarithm is finite."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The distributions of a simulation with W states of a paper; each row of an array is a distribution.

    - *states*: P(w), shape (W,).
    - *candidate*: P(x | w), shape (W, reviews).
    - *reference*: P(y | w), shape (W, reviews).
    - *synopsis*: P(s | w), shape (W, synopses).
    - *garbling*: the channel Γ, shape (reviews, reviews).
    """

    states: Array
    candidate: Array
    reference: Array
    synopsis: Array
    garbling: Array

    def garbled(self, steps: int) -> Array:
        """Returns P(x | w) after *steps* passes of the candidate's review through Γ; 0 steps leave it as it is."""
        return self.candidate @ np.linalg.matrix_power(self.garbling, steps)

    def joint(self, candidate: Array | None = None) -> Array:
        """Returns P(s, x, y), shape (synopses, reviews, reviews).

        *candidate*, if given, replaces the simulation's P(x | w).
        """
        of_x = self.candidate if candidate is None else candidate
        return np.einsum("w,ws,wx,wy->sxy", self.states, self.synopsis, of_x, self.reference)

    def common_review(self) -> int:
        """Returns the index of the review that the candidate writes most often."""
        return int((self.states @ self.candidate).argmax())

    def evading(self) -> Array:
        """Returns P(x | w) of a candidate who always writes another review instead of `common_review`.

        The replacement is the review with the most similar P(y | x). This is a garbling too, by a channel that changes
        one review only. If an LM misreads just the replaced review, the garbled candidate scores higher.
        """
        joint = self.joint().sum(axis=0)
        of_y = joint / joint.sum(axis=1, keepdims=True)
        common = self.common_review()
        away = (of_y[common] * np.log(of_y[common] / of_y)).sum(axis=1)
        away[common] = np.inf
        channel = np.eye(len(REVIEWS))
        channel[common] = channel[int(away.argmin())]
        return self.candidate @ channel


def random_simulation(seed: int, states: int = 6) -> Simulation:
    """Returns a random simulation with *states* states of a paper.

    Each state has one fitting review and one fitting synopsis. Reviewers and synopses are noisy channels of the state.
    A channel emits the fitting text with a probability drawn at random (reviews: 20 to 70%, synopses: 20 to 90%), else
    any text.
    """
    random = np.random.default_rng([seed, 1])
    fitting = random.permutation(len(REVIEWS))[np.arange(states) % len(REVIEWS)]
    synopsis_of = random.permutation(states) % len(SYNOPSES)
    return Simulation(
        random.dirichlet(np.full(states, 2.0)),
        _channel(random, np.eye(len(REVIEWS))[fitting], random.uniform(0.2, 0.7)),
        _channel(random, np.eye(len(REVIEWS))[fitting], random.uniform(0.2, 0.7)),
        _channel(random, np.eye(len(SYNOPSES))[synopsis_of], random.uniform(0.2, 0.9)),
        _channel(random, np.eye(len(REVIEWS)), random.uniform(0.4, 0.9)),
    )


def information(joint: Array) -> float:
    """Returns the mutual information I(X; Y) in nats of the distribution *joint* = P(s, x, y)."""
    return conditional_information(joint.sum(axis=0, keepdims=True))


def conditional_information(joint: Array) -> float:
    """Returns the mutual information I(X; Y | S) in nats of *joint* = P(s, x, y) (Xu et al. 2025, Prop. B.1).

    Impossible outcomes add nothing.
    """
    of_s, of_sx, of_sy = (np.broadcast_to(joint.sum(axis=axes, keepdims=True), joint.shape) for axes in ((1, 2), 2, 1))
    possible = joint > 0
    return float(
        (joint[possible] * np.log(joint[possible] * of_s[possible] / (of_sx[possible] * of_sy[possible]))).sum()
    )


def _channel(random: np.random.Generator, fitting: Array, share: float) -> Array:
    """Returns a channel that emits the fitting output of an input with probability *share*.

    Otherwise the channel emits an output from a random distribution. *fitting*: shape (inputs, outputs), with a 1 at
    the fitting output of each input.
    """
    rows, size = fitting.shape
    mixed = share * fitting + (1 - share) * random.dirichlet(np.full(size, 0.5), rows)
    return np.asarray((1 - _LEAST) * mixed + _LEAST / size)
