"""Evaluation LMs that give the log-probability of a reply to any chat, not only of judgments.

An evaluation LM that runs a chat model renders a prediction to a chat and scores its reply; handed a `Chat` with a
reply, it does the same. The embedded n-gram LM reads the parts of a prediction instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Chat, LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.protocol import EvaluationLM


class ChatLM(Protocol):
    """One answer for each chat, in the same order: log P(its reply and the end of the turn | what stands before)."""

    @property
    def identity(self) -> LMIdentity: ...

    def logprob(self, predictions: Sequence[Prediction | Chat]) -> list[SpanLogprob | SpanError]: ...


def chat_lm(lm: EvaluationLM | ChatLM) -> ChatLM:
    """*lm* if it reads chats; `LMError` if it does not."""
    if not getattr(lm, "reads_chats", False):
        raise LMError(
            f"evaluation LM {lm.identity.name} scores judgments only: give a chat model "
            "(evaluation_lm.backend = transformers or vllm)"
        )
    return cast(ChatLM, lm)
