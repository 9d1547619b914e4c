"""Evaluation LMs that can score a reply to any chat, not only judgments.

An evaluation LM that runs a chat model renders each prediction to a chat and scores its reply. Such an LM can therefore
score any `Chat` that has a reply. The embedded n-gram LM works on the parts of a prediction instead, so it cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Chat, LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.protocol import EvaluationLM


class ChatLM(Protocol):
    """An evaluation LM that scores chats.

    ``logprob`` returns one answer for each chat, in the same order: log P(reply and end of turn | the chat before it).
    """

    @property
    def identity(self) -> LMIdentity: ...

    def logprob(self, predictions: Sequence[Prediction | Chat]) -> list[SpanLogprob | SpanError]: ...


def chat_lm(lm: EvaluationLM | ChatLM) -> ChatLM:
    """Returns *lm* as a `ChatLM`; raises `LMError` if it cannot score chats."""
    if not getattr(lm, "reads_chats", False):
        raise LMError(
            f"evaluation LM {lm.identity.name} scores judgments only: give a chat model "
            "(evaluation_lm.backend = transformers or vllm)"
        )
    return cast(ChatLM, lm)
