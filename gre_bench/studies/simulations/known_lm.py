"""Evaluation LMs of a world: one that knows its joint distribution, and two that are off by a known divergence.

Both answer through the protocol, a token a line: log P(line | lines before, x, synopsis), by enumeration.
A text that is not of the world is refused in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.studies.simulations.world import LINES, REVIEWS, SYNOPSES, VERDICTS, Array, World

_X: dict[str | None, int] = {text: place for place, text in enumerate((*REVIEWS, None))}
_S: dict[str | None, int] = {text: place for place, text in enumerate((*SYNOPSES, None))}
_Y = {text: place for place, text in enumerate(REVIEWS)}
_END = 2 * len(LINES)
_IDS = tuple((*(2 * line + side for line, side in enumerate(verdict)), _END) for verdict in VERDICTS)


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedLM:
    """*table*: P(y | x, synopsis) of shape (synopses + 1, reviews + 1, reviews); the last of x and synopsis: absent."""

    name: str
    table: Array
    identity: LMIdentity = field(init=False)
    _spans: dict[tuple[int, int, int], SpanLogprob] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        content = digest([self.name, REVIEWS, SYNOPSES, self.table.tolist()])
        object.__setattr__(self, "identity", LMIdentity(self.name, content, "tabulated-1"))
        object.__setattr__(self, "_spans", _spans(self.table))

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """One span for each of *predictions*, `SpanError` for a text that is not of the world."""
        return [self._one(prediction) for prediction in predictions]

    def _one(self, asked: Prediction) -> SpanLogprob | SpanError:
        place = _S.get(asked.synopsis), _X.get(asked.x), _Y.get(asked.reply)
        if None not in place:
            return self._spans[place]  # type: ignore[index]
        try:
            f"{asked.x}{asked.synopsis}{asked.reply}".encode()
        except UnicodeEncodeError:
            return SpanError("bad_text", "the text holds a lone surrogate")
        return SpanError("outside", "a text is not one of this world's; ask another evaluation LM")


def exact_lm(world: World, candidate: Array | None = None) -> TabulatedLM:
    """Knows the joint distribution of synopsis, candidate (or of another one's P(x | w), if given) and references."""
    return TabulatedLM("exact", conditionals(world.joint(candidate)))


def noisy_lm(world: World, share: float, seed: int) -> TabulatedLM:
    """Mixes a *share* of a wrong channel into P(y | x, ·) of the exact LM; without x it is exact."""
    table = conditionals(world.joint())
    wrong = np.random.default_rng([seed, 2]).dirichlet(np.full(len(REVIEWS), 0.3), table[:, :-1].shape[:2])
    table[:, :-1] = (1 - share) * table[:, :-1] + share * wrong
    return TabulatedLM("noisy", table)


def blind_lm(world: World, rare: float = 0.1, left: float = 1e-6) -> TabulatedLM:
    """Exact but for one review, the candidate's commonest: given it, one reply is thought all but impossible.

    The reply is the one whose probability is nearest to *rare*; a share of *left* of it remains. KL(LM ‖ truth) hardly
    sees this, KL(truth ‖ LM) does.
    """
    table = conditionals(world.joint())
    rows = table[:, world.common_review()]
    reply = int(abs(rows[-1] - rare).argmin())
    rows[:, reply] *= left
    rows /= rows.sum(axis=1, keepdims=True)
    return TabulatedLM("blind", table)


def conditionals(joint: Array) -> Array:
    """P(y | x, synopsis) of P(s, x, y) > 0, with an absent x and an absent synopsis as the last of each."""
    with_absent = np.concatenate([joint, joint.sum(axis=0, keepdims=True)])
    with_absent = np.concatenate([with_absent, with_absent.sum(axis=1, keepdims=True)], axis=1)
    return np.asarray(with_absent / with_absent.sum(axis=2, keepdims=True))


def _spans(table: Array) -> dict[tuple[int, int, int], SpanLogprob]:
    """All spans, by the places of synopsis, x and y."""
    cells = table.reshape(*table.shape[:2], *[2] * len(LINES))
    heads: list[Any] = [np.log(cells.sum(axis=tuple(range(line + 2, cells.ndim)))) for line in range(len(LINES) + 1)]
    spans = {}
    for s, x in np.ndindex(*table.shape[:2]):
        for y, verdict in enumerate(VERDICTS):
            logs = [float(heads[line][(s, x, *verdict[:line])]) for line in range(len(LINES) + 1)]
            lines = (*(min(after - before, 0.0) for before, after in pairwise(logs)), 0.0)
            spans[s, x, y] = SpanLogprob(sum(lines), _IDS[y], lines)
    return spans
