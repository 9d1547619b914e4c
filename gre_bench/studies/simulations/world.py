"""A finite world: a paper's hidden state, reviews and a synopsis drawn from it by known channels.

Given the state w of a paper, its synopsis s, the candidate's review x and every reference y are drawn
independently by P(s | w), P(x | w) and P(y | w). A garbled candidate passes x on through a channel Γ, so the
candidate dominates it in Blackwell's order (Xu et al. 2025, §3.1). All is finite: information is a sum.
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
"""The judgments of a review, line by line: each is the one or the other."""

VERDICTS = tuple(product(range(2), repeat=len(LINES)))
"""Which of the two each line of a review is."""

REVIEWS = tuple("\n".join(pair[side] for pair, side in zip(LINES, verdict, strict=True)) for verdict in VERDICTS)
"""All reviews that there are, as judgments."""

SYNOPSES = (
    "We prove a bound on the error of a known estimator.",
    "We measure how two known methods compare on public data.",
    "We propose a new architecture and train it from scratch.",
)
_LEAST = 1e-3
"""Share of each channel that is even, so that nothing is impossible and every logarithm is finite."""


@dataclass(frozen=True, slots=True)
class World:
    """*states* P(w) of shape (W,); *candidate*, *reference* (W, reviews), *synopsis* (W, synopses), *garbling*
    (reviews, reviews): rows are distributions."""

    states: Array
    candidate: Array
    reference: Array
    synopsis: Array
    garbling: Array

    def garbled(self, steps: int) -> Array:
        """P(x | w) of the candidate whose review passed *steps* times through Γ; with 0, the candidate itself."""
        return self.candidate @ np.linalg.matrix_power(self.garbling, steps)

    def joint(self, candidate: Array | None = None) -> Array:
        """P(s, x, y) of shape (synopses, reviews, reviews); of another *candidate*'s P(x | w) if one is given."""
        of_x = self.candidate if candidate is None else candidate
        return np.einsum("w,ws,wx,wy->sxy", self.states, self.synopsis, of_x, self.reference)

    def common_review(self) -> int:
        """The review that the candidate writes most often."""
        return int((self.states @ self.candidate).argmax())

    def evading(self) -> Array:
        """P(x | w) of a candidate that gives up `common_review` for the one that says most nearly the same of y.

        It is garbled too, by a channel that moves one review; it gains where an LM misreads just that one.
        """
        joint = self.joint().sum(axis=0)
        of_y = joint / joint.sum(axis=1, keepdims=True)
        common = self.common_review()
        away = (of_y[common] * np.log(of_y[common] / of_y)).sum(axis=1)
        away[common] = np.inf
        channel = np.eye(len(REVIEWS))
        channel[common] = channel[int(away.argmin())]
        return self.candidate @ channel


def draw_world(seed: int, states: int = 6) -> World:
    """A world drawn at random: reviewers tend to say what fits the state, some more clearly than others."""
    random = np.random.default_rng([seed, 1])
    fitting = random.permutation(len(REVIEWS))[np.arange(states) % len(REVIEWS)]
    told = random.permutation(states) % len(SYNOPSES)
    return World(
        random.dirichlet(np.full(states, 2.0)),
        _channel(random, np.eye(len(REVIEWS))[fitting], random.uniform(0.2, 0.7)),
        _channel(random, np.eye(len(REVIEWS))[fitting], random.uniform(0.2, 0.7)),
        _channel(random, np.eye(len(SYNOPSES))[told], random.uniform(0.2, 0.9)),
        _channel(random, np.eye(len(REVIEWS)), random.uniform(0.4, 0.9)),
    )


def information(joint: Array) -> float:
    """I(X; Y) in nats of P(s, x, y)."""
    return conditional_information(joint.sum(axis=0, keepdims=True))


def conditional_information(joint: Array) -> float:
    """I(X; Y | S) in nats of P(s, x, y) (Xu et al. 2025, Prop. B.1); what cannot be adds nothing."""
    of_s, of_sx, of_sy = (np.broadcast_to(joint.sum(axis=axes, keepdims=True), joint.shape) for axes in ((1, 2), 2, 1))
    can = joint > 0
    return float((joint[can] * np.log(joint[can] * of_s[can] / (of_sx[can] * of_sy[can]))).sum())


def _channel(random: np.random.Generator, fitting: Array, share: float) -> Array:
    """Rows that say what fits with probability *share*, else follow a distribution of their own."""
    rows, size = fitting.shape
    mixed = share * fitting + (1 - share) * random.dirichlet(np.full(size, 0.5), rows)
    return np.asarray((1 - _LEAST) * mixed + _LEAST / size)
