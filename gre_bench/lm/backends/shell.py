"""What all evaluation LMs that run a chat model share: rendering, encoding, length limit, and one result a prediction.

log P(reply | prompt) in nats is the sum of the log-softmax of the logits over the span (`gre_bench.lm.span`). The
softmax is computed in float32 whatever the weights' dtype, and the sum in float64 (Xu et al. 2025, §3.2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from gre_bench.core.errors import SpanError
from gre_bench.core.records import Chat, LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.engine.protocol import Logprobs
from gre_bench.lm.protocol import checked
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.prompts.library import render


class ChatBackend(ABC):
    """An evaluation LM that renders each prediction to a chat.

    - *identity*: the part of a signature that identifies this LM.
    - *limit*: the most tokens of a conversation; None means no limit. *way_out*: the end of the message beyond it.
    - `remarks`: messages for the user about departures from the settings.
    """

    reads_chats = True

    def __init__(self, template: ChatTemplate, identity: LMIdentity, limit: int | None, way_out: str = ""):
        self.template = template
        self.identity = identity
        self.remarks: list[str] = []
        self._limit, self._way_out = limit, way_out

    @abstractmethod
    def _logprobs(self, conversations: Sequence[Conversation]) -> Sequence[Logprobs]:
        """Returns the log-probabilities of the spans of *conversations*, which all differ, in their order."""

    def logprob(self, predictions: Sequence[Prediction | Chat]) -> list[SpanLogprob | SpanError]:
        """Returns the log-probability of each reply in nats, in the order of *predictions*.

        If a reply cannot be scored, its result is a `SpanError`. Predictions that render to the same conversation are
        computed once.
        """
        encoded = {prediction: self._encoded(prediction) for prediction in dict.fromkeys(predictions)}
        due = list(dict.fromkeys(item for item in encoded.values() if isinstance(item, Conversation)))
        logprobs = dict(zip(due, self._logprobs(due), strict=True)) if due else {}
        answers: dict[Conversation, SpanLogprob | SpanError] = {}
        for item, values in logprobs.items():
            if not isinstance(values, SpanError):
                span = SpanLogprob(math.fsum(values), item.ids[item.first :], tuple(values), item.escaped)
                values = checked(span)
            answers[item] = values
        items = (encoded[prediction] for prediction in predictions)
        return [item if isinstance(item, SpanError) else answers[item] for item in items]

    def _encoded(self, prediction: Prediction | Chat) -> Conversation | SpanError:
        try:
            conversation = self.template.encode(render(prediction))
        except SpanError as error:
            return error
        length = len(conversation.ids)
        if self._limit is not None and length > self._limit:
            problem = f"the conversation has {length} tokens, the evaluation LM takes {self._limit}"
            return SpanError("too_long", problem + self._way_out)
        return conversation
