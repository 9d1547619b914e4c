"""Runs one conversation at a time: simple, slow and right. Other engines are checked against this one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from gre_bench.core.errors import SpanError
from gre_bench.lm.engine.protocol import Logprobs, give_back, is_out_of_memory, out_of_memory
from gre_bench.lm.span import Conversation
from gre_bench.lm.weights import Weights


class OneByOne:
    """An `Engine` that runs each conversation in a forward pass of its own."""

    version = "one-by-one-1"

    def __init__(self, weights: Weights):
        self._model = weights.model
        self._keeps = "logits_to_keep" in inspect.signature(weights.model.forward).parameters

    @property
    def plan(self) -> str:
        """Says how this engine divides its work into forward passes, and on which kind of device."""
        return f"one text on {self._model.device.type}"

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probability of each token of each span in nats.

        A conversation that does not fit into memory gets a `SpanError`.
        """
        return [self._span(conversation) for conversation in conversations]

    def _span(self, conversation: Conversation) -> list[float] | SpanError:
        try:
            return self._forward(conversation)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Outside the handler, because its traceback still holds the tensors.
        give_back()
        return out_of_memory(conversation)

    def _forward(self, conversation: Conversation) -> list[float]:
        """Returns the log-probability of each token of the span in nats, in float32 whatever the weights' dtype.

        The model reads all tokens except the last, because no scored token follows the last one.
        """
        import torch

        ids = torch.tensor([conversation.ids], device=self._model.device)
        wanted = conversation.last - conversation.first + 1
        keep = {"logits_to_keep": wanted} if self._keeps else {}
        with torch.inference_mode():
            read = ids[:, :-1]
            logits = self._model(read, attention_mask=torch.ones_like(read), use_cache=False, **keep).logits
            rows = torch.log_softmax(logits[0, -wanted:], dim=-1, dtype=torch.float32)
            return rows.gather(1, ids[0, -wanted:, None])[:, 0].tolist()
