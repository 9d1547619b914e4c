"""The interface of an engine: it takes conversations and returns the log-probabilities of their spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gre_bench.core.errors import SpanError
from gre_bench.lm.span import Conversation

Logprobs = list[float] | SpanError
"""The log-probability of each token of a span in nats, or the reason why there is none."""


class Engine(Protocol):
    """An engine runs a model on conversations.

    `version` goes into signatures, because log-probabilities of two versions may differ in the last bits.
    """

    @property
    def version(self) -> str: ...

    @property
    def plan(self) -> str:
        """Says how this engine divides its work into forward passes.

        In half precision, the division changes the log-probabilities, so the plan goes into the signature.
        """
        ...

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns for each conversation the log-probabilities of its span's tokens, or the error that prevents them.

        The results are in the order of *conversations*. All conversations must belong to one paper, and no two may be
        equal.
        """
        ...


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether *error* means that a tensor did not fit into memory.

    On the CPU, torch has no error class for this, so the message is checked.
    """
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def give_back() -> None:
    """Frees the GPU memory that torch still holds after a failed attempt."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def out_of_memory(conversation: Conversation) -> SpanError:
    """Returns the `SpanError` for a *conversation* that does not fit into memory."""
    length = len(conversation.ids)
    message = f"no memory left for a conversation of {length} tokens; use a larger device or a shorter text"
    return SpanError("out_of_memory", message, final=False)
