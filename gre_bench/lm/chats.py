"""Evaluation LMs that can score a reply to any chat, not only judgments.

An evaluation LM that runs a chat model renders each prediction to a chat first. Such an LM can therefore score any
`Chat` that has a reply. The n-gram LM `cache-ngram` cannot, because it renders no chats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Chat, LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.protocol import EvaluationLM


class ChatLM(Protocol):
    """An evaluation LM that scores chats.

    ``logprob`` returns log P(reply and end of turn | system and user message) of each chat in nats, in the order given.
    """

    @property
    def identity(self) -> LMIdentity: ...

    def logprob(self, predictions: Sequence[Prediction | Chat]) -> list[SpanLogprob | SpanError]: ...


def chat_lm(lm: EvaluationLM | ChatLM) -> ChatLM:
    """Returns *lm* as a `ChatLM`; raises `LMError` if *lm* cannot score chats."""
    if not getattr(lm, "reads_chats", False):
        raise LMError(
            f"evaluation LM {lm.identity.name} scores judgments only: give a chat model "
            "(evaluation_lm.backend = transformers or vllm)"
        )
    return cast(ChatLM, lm)
