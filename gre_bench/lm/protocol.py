"""What an evaluation LM is.

An evaluation LM gives log P(reply | first review, synopsis) in nats for each prediction. A prediction
whose log-probability cannot be had is answered by a `SpanError` in its place, so that one hostile text
never takes its neighbours down; an exception means that the LM as a whole cannot be used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from gre_bench.core.errors import SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob

ALLOWED_EXCESS = 1e-6
"""A log-probability may exceed zero by rounding alone, in nats."""


class EvaluationLM(Protocol):
    """One answer for each prediction, in the same order; ``identity`` goes into every signature."""

    @property
    def identity(self) -> LMIdentity: ...

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]: ...


def take_remarks(lm: EvaluationLM) -> tuple[str, ...]:
    """What *lm* has put into its list ``remarks``, if it keeps one: what it did otherwise than asked. Each once."""
    remarks = getattr(lm, "remarks", [])
    taken = tuple(dict.fromkeys(remarks))
    remarks.clear()
    return taken


def checked(span: SpanLogprob | SpanError) -> SpanLogprob | SpanError:
    """*span*, or the `SpanError` that says why its numbers cannot be trusted.

    Not finite, positive, empty, misaligned, or all exactly zero: each is a broken evaluation LM.
    """
    if isinstance(span, SpanError):
        return span
    if not span.logprobs or len(span.ids) != len(span.logprobs):
        return _broken("misaligned", f"{len(span.ids)} tokens but {len(span.logprobs)} log-probabilities")
    # A sum is finite only if all its terms are; token by token takes six times as long, and nearly all spans are sound.
    suspect = not math.isfinite(sum(span.logprobs)) or max(span.logprobs) > ALLOWED_EXCESS
    for place, value in enumerate(span.logprobs if suspect else ()):
        if not math.isfinite(value):
            return _broken("not_finite", f"log-probability {value} at token {place}")
        if value > ALLOWED_EXCESS:
            return _broken("positive", f"log-probability {value} above zero at token {place}")
    if not math.isfinite(span.total) or span.total > ALLOWED_EXCESS:
        return _broken("not_finite", f"log-probability of the whole reply is {span.total}")
    if not any(span.logprobs):
        return _broken("all_zero", "every log-probability is exactly zero")
    return span


def _broken(code: str, what: str) -> SpanError:
    return SpanError(code, f"the evaluation LM answered with: {what}", broken=True)
