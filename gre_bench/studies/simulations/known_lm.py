"""Evaluation LMs of a simulation, and their exact divergence from it.

One knows the joint distribution, two diverge from it in known ways, and one counts the reviews of sampled papers. They
have the interface of evaluation LMs, and treat each line of a review as one token. The log-probability of a line,
log P(line | earlier lines, x, synopsis), is computed by enumeration. These LMs refuse a text that is not in the
simulation.

The bias of any evaluation LM is exact too, without sampling papers: E[score] − I = KL(P(y | s) ‖ LM(y | s)) −
KL(P(y | x, s) ‖ LM(y | x, s)). The first divergence is a mean over s, the second a mean over (x, s). If the LM predicts
y badly without x, scores are too high. If the LM misreads x, scores are too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.studies.simulations.simulation import (
    LINES,
    REVIEWS,
    SYNOPSES,
    VERDICTS,
    Array,
    Papers,
    Simulation,
    conditional_information,
    information,
)

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
        """Returns the log-probabilities of each of *predictions*.

        A prediction with a text outside the simulation gets a `SpanError` in its place.
        """
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
    """Returns an LM that knows the joint distribution P(s, x, y) of *simulation*.

    *candidate*, if given, replaces the simulation's P(x | w).
    """
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
    """Returns how far *lm* is from *simulation* in predicting the reference from the candidate's review.

    *with_synopsis*: whether the synopsis is given too.
    """
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
    """Returns the bias of GEM by *lm*, or of GEM-S if *with_synopsis*, for the candidate of *simulation*.

    Raises `SpanError` if the LM refuses a text.
    """
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
