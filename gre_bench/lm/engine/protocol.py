"""The interface of an engine: it takes conversations and returns the log-probabilities of their spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gre_bench.core.errors import SpanError
from gre_bench.lm.span import Conversation

Logprobs = list[float] | SpanError
"""The log-probability of each token of a span in nats, or the reason why there is none."""


class Engine(Protocol):
    """A way to run a model. *version* goes into signatures, because versions may differ in low bits."""

    @property
    def version(self) -> str: ...

    @property
    def plan(self) -> str:
        """How this engine divides its work into forwards; in half precision this changes the numbers visibly."""
        ...

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns one answer for each of *conversations*, in their order.

        They belong to one paper and are all different.
        """
        ...


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether *error* says that a tensor did not fit; torch has no such class of error for the CPU."""
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def give_back() -> None:
    """Returns the memory of a failed attempt to the device."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def out_of_memory(conversation: Conversation) -> SpanError:
    """Returns the answer for a *conversation* that does not fit the memory."""
    length = len(conversation.ids)
    message = f"no memory left for a conversation of {length} tokens; use a larger device or a shorter text"
    return SpanError("out_of_memory", message, final=False)
