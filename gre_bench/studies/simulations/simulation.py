"""A finite simulation: a paper's hidden state, reviews and a synopsis sampled from it, and evaluation LMs of it.

Given the state w of a paper, three things are sampled independently: its synopsis s from P(s | w), the candidate's
review x from P(x | w), and every reference y from P(y | w). A garbled candidate passes x through one more channel, Γ.
The original candidate therefore dominates the garbled one in Blackwell's order (Xu et al. 2025, §3.1). All sets are
finite, so mutual information is a finite sum.

One evaluation LM knows the joint distribution, two diverge from it in known ways, and one counts the reviews of sampled
papers. They treat each line of a review as one token. The log-probability of a line, log P(line | earlier lines, x,
synopsis), is computed by enumeration. These LMs refuse a text that is not in the simulation.

The bias of any evaluation LM is exact too, without sampling papers: E[score] − I = KL(P(y | s) ‖ LM(y | s)) −
KL(P(y | x, s) ‖ LM(y | x, s)). The first divergence is a mean over s, the second a mean over (x, s). If the LM predicts
y badly without x, scores are too high. If the LM misreads x, scores are too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.records import Case, LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.lm.protocol import EvaluationLM

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
        """Returns P(s, x, y), shape (synopses, reviews, reviews); *candidate* replaces P(x | w)."""
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
    """Returns I(X; Y | S) in nats of *joint* = P(s, x, y) (Xu et al. 2025, Prop. B.1)."""
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
    """Returns a case for every (synopsis, x, y), or every (x, y), in nested loops with y in the innermost."""
    synopses: list[int | None] = [*range(len(SYNOPSES))] if with_synopsis else [None]
    indices = range(len(REVIEWS))
    return tuple(case_of(s, x, y, f"s{s}", f"y{y}") for s in synopses for x in indices for y in indices)


def case_of(synopsis: int | None, x: int, y: int, paper_id: str, reference_id: str) -> Case:
    """Returns the case of review *x* against *y*, given *synopsis* unless it is None; all three are indices."""
    synopsis_text = None if synopsis is None else SYNOPSES[synopsis]
    return Case(paper_id, f"x{x}", reference_id, "judgments", REVIEWS[x], REVIEWS[y], synopsis_text)


def _pass(random: np.random.Generator, channel: Array, given: Numbers) -> Numbers:
    """Sends each of *given*, indices of inputs, once through *channel*, whose row i is P(output | input i)."""
    return np.asarray((random.random((len(given), 1)) > channel.cumsum(axis=1)[given, :-1]).sum(axis=1))


PRIOR = 2.0
"""Weight of the coarser distribution in backing off: as much as this number of counted pairs."""

_X: dict[str | None, int] = {text: index for index, text in enumerate((*REVIEWS, None))}
_S: dict[str | None, int] = {text: index for index, text in enumerate((*SYNOPSES, None))}
_Y = {text: index for index, text in enumerate(REVIEWS)}
_END = 2 * len(LINES)
_IDS = tuple((*(2 * line + side for line, side in enumerate(verdict)), _END) for verdict in VERDICTS)


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedLM:
    """An LM defined by its *table* P(y | x, synopsis), shape (synopses + 1, reviews + 1, reviews).

    The last index of the first axis stands for no synopsis, and the last index of the second axis for no x.
    """

    name: str
    table: Array
    identity: LMIdentity = field(init=False)
    _spans: dict[tuple[int, int, int], SpanLogprob] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        content = digest([self.name, REVIEWS, SYNOPSES, self.table.tolist()])
        object.__setattr__(self, "identity", LMIdentity(self.name, content, "tabulated-1"))
        object.__setattr__(self, "_spans", _spans(self.table))

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """Returns the log-probabilities of *predictions*, or a `SpanError` for a text outside the simulation."""
        return [self._span(prediction) for prediction in predictions]

    def _span(self, prediction: Prediction) -> SpanLogprob | SpanError:
        key = _S.get(prediction.synopsis), _X.get(prediction.x), _Y.get(prediction.reply)
        if None not in key:
            return self._spans[key]  # type: ignore[index]
        try:
            f"{prediction.x}{prediction.synopsis}{prediction.reply}".encode()
        except UnicodeEncodeError:
            return SpanError("bad_text", "the text holds a lone surrogate")
        return SpanError("outside", "a text is not one of this simulation's; ask another evaluation LM")


def exact_lm(simulation: Simulation, candidate: Array | None = None) -> TabulatedLM:
    """Returns an LM that knows P(s, x, y) of *simulation*; *candidate* replaces P(x | w)."""
    return TabulatedLM("exact", conditionals(simulation.joint(candidate)))


def noisy_lm(simulation: Simulation, share: float, seed: int) -> TabulatedLM:
    """Returns an LM that is exact without x, but partly wrong if it is given x.

    With x, P(y | x, ·) is a mixture: (1 − *share*) times the true distribution plus *share* times a random one.
    """
    table = conditionals(simulation.joint())
    wrong = np.random.default_rng([seed, 2]).dirichlet(np.full(len(REVIEWS), 0.3), table[:, :-1].shape[:2])
    table[:, :-1] = (1 - share) * table[:, :-1] + share * wrong
    return TabulatedLM("noisy", table)


def blind_lm(simulation: Simulation, rare: float = 0.1, factor: float = 1e-6) -> TabulatedLM:
    """Returns an LM with the true probabilities but one: after the commonest review, one reply is almost impossible.

    The review is the candidate's. The reply is the one whose true probability after this review is nearest to *rare*;
    its probability is multiplied by *factor*. KL(truth ‖ LM) is therefore large, while KL(LM ‖ truth) is small.
    """
    table = conditionals(simulation.joint())
    rows = table[:, simulation.common_review()]
    reply = int(abs(rows[-1] - rare).argmin())
    rows[:, reply] *= factor
    rows /= rows.sum(axis=1, keepdims=True)
    return TabulatedLM("blind", table)


def conditionals(joint: Array) -> Array:
    """Returns the table P(y | x, s) of a `TabulatedLM` from *joint* = P(s, x, y), which must be positive everywhere."""
    with_absent = np.concatenate([joint, joint.sum(axis=0, keepdims=True)])
    with_absent = np.concatenate([with_absent, with_absent.sum(axis=1, keepdims=True)], axis=1)
    return np.asarray(with_absent / with_absent.sum(axis=2, keepdims=True))


def _spans(table: Array) -> dict[tuple[int, int, int], SpanLogprob]:
    """Returns the log-probabilities of every possible prediction, by (index of synopsis, index of x, index of y)."""
    cells = table.reshape(*table.shape[:2], *[2] * len(LINES))
    heads: list[Any] = [np.log(cells.sum(axis=tuple(range(line + 2, cells.ndim)))) for line in range(len(LINES) + 1)]
    spans = {}
    for s, x in np.ndindex(*table.shape[:2]):
        for y, verdict in enumerate(VERDICTS):
            logs = [float(heads[line][(s, x, *verdict[:line])]) for line in range(len(LINES) + 1)]
            lines = (*(min(after - before, 0.0) for before, after in pairwise(logs)), 0.0)
            spans[s, x, y] = SpanLogprob(sum(lines), _IDS[y], lines)
    return spans


def counted_lm(papers: Papers, prior: float = PRIOR) -> TabulatedLM:
    """Returns an LM whose P(y | x, s) is estimated from the counts of (s, x, y) over the references of *papers*.

    Each estimate backs off to a coarser one: (count(·, y) + prior · coarser(y)) / (count(·) + prior). P(y | x, s) backs
    off to P(y | x). P(y | x) and P(y | s) back off to P(y), which backs off to the uniform distribution.
    """

    def backed_off(counts: Array, coarser: Array) -> Array:
        return np.asarray((counts + prior * coarser) / (counts.sum(axis=-1, keepdims=True) + prior))

    size = len(REVIEWS)
    counts = np.zeros((len(SYNOPSES), size, size))
    np.add.at(counts, (papers.synopses[:, None], papers.candidates[:, :1], papers.references), 1.0)
    of_y = backed_off(counts.sum(axis=(0, 1)), np.full(size, 1 / size))
    of_x, of_s = backed_off(counts.sum(axis=0), of_y), backed_off(counts.sum(axis=1), of_y)
    with_s = np.concatenate([backed_off(counts, of_x[None]), of_s[:, None]], axis=1)
    return TabulatedLM("counted", np.concatenate([with_s, np.concatenate([of_x, of_y[None]])[None]]))


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
    """Returns Σ P(s, x, y) · score, where *joint* has the shape (synopses, reviews, reviews).

    *scores* has the same shape, or (1, reviews, reviews) for a score without a synopsis.
    """
    return float((joint * scores).sum())


def divergence(simulation: Simulation, lm: TabulatedLM, with_synopsis: bool) -> Divergence:
    """Returns how far *lm* is from *simulation* in predicting the reference from the candidate's review."""
    truth = conditionals(simulation.joint())
    places = slice(0, -1) if with_synopsis else slice(-1, None)
    p, q = truth[places, :-1], lm.table[places, :-1]
    logs = np.log(p / q)
    return Divergence(float((p * logs).sum(axis=-1).max()), float((-q * logs).sum(axis=-1).max()))


@dataclass(frozen=True, slots=True)
class Bias:
    """The expected score of an LM in a simulation, and what separates it from the true information; all in nats.

    - *truth*: the true mutual information.
    - *expected*: the expected score; equals *truth* + *marginal_error* − *conditional_error*.
    - *marginal_error*, *conditional_error*: the LM's mean divergence from the truth without the candidate's review, and
      with it.
    """

    truth: float
    expected: float
    marginal_error: float
    conditional_error: float

    @property
    def bias(self) -> float:
        return self.expected - self.truth


def bias(simulation: Simulation, lm: EvaluationLM, with_synopsis: bool) -> Bias:
    """Returns the bias of GEM by *lm*, or of GEM-S *with_synopsis*; raises `SpanError` if the LM refuses a text."""
    joint = simulation.joint() if with_synopsis else simulation.joint().sum(axis=0, keepdims=True)
    synopses: tuple[str | None, ...] = SYNOPSES if with_synopsis else (None,)
    totals = []
    for answer in lm.logprob([Prediction(x, s, y) for s in synopses for x in (*REVIEWS, None) for y in REVIEWS]):
        if isinstance(answer, SpanError):
            raise answer
        totals.append(answer.total)
    # log LM(y | x, s); the last index of x stands for no candidate's review.
    logs = np.array(totals).reshape(len(synopses), len(REVIEWS) + 1, len(REVIEWS))
    off = np.log(conditionals(joint)[: len(synopses)]) - logs
    known = conditional_information(joint) if with_synopsis else information(joint)
    return Bias(
        known,
        expected=float((joint * (logs[:, :-1] - logs[:, -1:])).sum()),
        marginal_error=float((joint.sum(axis=1) * off[:, -1]).sum()),
        conditional_error=float((joint * off[:, :-1]).sum()),
    )
