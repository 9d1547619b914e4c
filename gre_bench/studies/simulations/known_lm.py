"""Evaluation LMs of a simulation: one that knows its joint distribution, and two with a known divergence from it.

They have the interface of evaluation LMs, and treat each line of a review as one token. The log-probability of a line,
log P(line | earlier lines, x, synopsis), is computed by enumeration. These LMs refuse a text that is not in the
simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.studies.simulations.simulation import LINES, REVIEWS, SYNOPSES, VERDICTS, Array, Simulation

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
