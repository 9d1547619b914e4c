"""A finite simulation: a paper's hidden state, and reviews and a synopsis sampled from it through known channels.

Given the state w of a paper, three things are sampled independently: its synopsis s from P(s | w), the candidate's
review x from P(x | w), and every reference y from P(y | w). A garbled candidate passes x through one more channel, Γ.
The original candidate therefore dominates the garbled one in Blackwell's order (Xu et al. 2025, §3.1). All sets are
finite, so mutual information is a finite sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from gre_bench.core.records import Case

Array = np.ndarray[Any, np.dtype[np.float64]]
Numbers = np.ndarray[Any, np.dtype[np.intp]]
REFERENCES = 2
"""References per paper (Xu et al. 2025, §5)."""

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


@dataclass(frozen=True, slots=True)
class Papers:
    """Sampled papers as indices into `SYNOPSES` and `REVIEWS`.

    - *synopses*: shape (papers,).
    - *candidates*: shape (papers, garblings + 1). Column 0 is the candidate's review. Column n is this review after n
      passes through the garbling channel Γ.
    - *references*: shape (papers, 2).
    """

    synopses: Numbers
    candidates: Numbers
    references: Numbers

    def reviews(self) -> list[list[str]]:
        """Returns the training data: for each paper, the texts of the candidate's review and of the references."""
        rows = np.concatenate([self.candidates[:, :1], self.references], axis=1)
        return [[REVIEWS[index] for index in row] for row in rows]


def sample_papers(simulation: Simulation, count: int, seed: int, garblings: int = 0) -> Papers:
    """Returns *count* papers sampled from *simulation* with *seed*.

    The two references of a paper are independent, given the hidden state of the paper. *garblings*: the number of
    garbled versions of each candidate's review; each version garbles the one before.
    """
    random = np.random.default_rng([seed, 3])
    states = random.choice(len(simulation.states), size=count, p=simulation.states)
    candidates = [_pass(random, simulation.candidate, states)]
    for _ in range(garblings):
        candidates.append(_pass(random, simulation.garbling, candidates[-1]))
    references = [_pass(random, simulation.reference, states) for _ in range(REFERENCES)]
    return Papers(_pass(random, simulation.synopsis, states), np.stack(candidates, 1), np.stack(references, 1))


@cache
def all_cases(with_synopsis: bool) -> tuple[Case, ...]:
    """Returns one case for every (synopsis, x, y), or for every (x, y) if *with_synopsis* is false.

    The cases are in the order of nested loops, with y in the innermost one.
    """
    synopses: list[int | None] = [*range(len(SYNOPSES))] if with_synopsis else [None]
    indices = range(len(REVIEWS))
    return tuple(case_of(s, x, y, f"s{s}", f"y{y}") for s in synopses for x in indices for y in indices)


def case_of(synopsis: int | None, x: int, y: int, paper_id: str, reference_id: str) -> Case:
    """Returns the case of review *x* against reference *y*, given *synopsis* unless it is None.

    *x*, *y* and *synopsis* are indices into `REVIEWS` and `SYNOPSES`.
    """
    synopsis_text = None if synopsis is None else SYNOPSES[synopsis]
    return Case(paper_id, f"x{x}", reference_id, "judgments", REVIEWS[x], REVIEWS[y], synopsis_text)


def _pass(random: np.random.Generator, channel: Array, given: Numbers) -> Numbers:
    """Sends each of *given*, indices of inputs, once through *channel*; returns the sampled indices of outputs.

    Row i of *channel* is the distribution of outputs for input i.
    """
    return np.asarray((random.random((len(given), 1)) > channel.cumsum(axis=1)[given, :-1]).sum(axis=1))
