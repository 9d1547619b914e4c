"""What an engine is: conversations in, the log-probabilities of their spans out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gre_bench.core.errors import SpanError
from gre_bench.lm.span import Conversation

Logprobs = list[float] | SpanError
"""The log-probability of each token of a span in nats, or why it cannot be had."""


class Engine(Protocol):
    """A way to run a model. *version* goes into signatures: another version may differ in low bits."""

    @property
    def version(self) -> str: ...

    @property
    def plan(self) -> str:
        """How its forwards are cut, which in half precision moves the numbers visibly."""
        ...

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """One answer for each of *conversations* (of one paper, no two equal), in their order."""
        ...


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether *error* says that a tensor did not fit; on the CPU torch has no class of its own for that."""
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def give_back() -> None:
    """Returns to the device what a failed try held."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def out_of_memory(conversation: Conversation) -> SpanError:
    """The answer for a *conversation* that does not fit."""
    length = len(conversation.ids)
    message = f"no memory left for a conversation of {length} tokens; use a larger device or a shorter text"
    return SpanError("out_of_memory", message, final=False)
