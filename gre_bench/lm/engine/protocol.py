"""The interface of an engine, and the two plain engines: one conversation at a time, and padded batches.

An engine takes conversations and returns the log-probabilities of their spans.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from gre_bench.core.errors import SpanError
from gre_bench.lm.span import Conversation
from gre_bench.lm.weights import Weights

Result = TypeVar("Result")
Logprobs = list[float] | SpanError
"""The log-probability of each token of a span in nats, or the reason why there is none."""

ON_CPU, ON_GPU = 2048, 16384
"""Tokens in a batch, padding included."""
_LOGITS = 2**28
"""Largest number of logits in a batch."""


class Engine(Protocol):
    """An engine runs a model on conversations.

    `version` goes into signatures, because log-probabilities of two versions may differ in the last bits.
    """

    @property
    def version(self) -> str: ...

    @property
    def plan(self) -> str:
        """Says how this engine divides its work into forward passes: their size and the kind of device.

        In half precision, the division changes the log-probabilities, so the plan goes into the signature.
        """
        ...

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probability of each token of each span in nats, or the error that prevents them.

        The results are in the order of *conversations*. All conversations must belong to one paper, and no two may be
        equal. A conversation that does not fit into memory gets a `SpanError`.
        """
        ...


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether *error* means that a tensor did not fit into memory.

    On the CPU, torch has no error class for this, so the message is checked.
    """
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def within_memory(forward: Callable[..., Result], *arguments: object) -> Result | None:
    """Returns the result of *forward*; None if a tensor did not fit into memory. Then frees what torch still holds."""
    try:
        return forward(*arguments)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Outside the handler, because its traceback still holds the tensors.
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def out_of_memory(conversation: Conversation) -> SpanError:
    """Returns the `SpanError` for a *conversation* that does not fit into memory."""
    length = len(conversation.ids)
    message = f"no memory left for a conversation of {length} tokens; use a larger device or a shorter text"
    return SpanError("out_of_memory", message, final=False)


class _Plain:
    """An engine that reads every conversation in full."""

    def __init__(self, weights: Weights):
        self._model = weights.model
        self._keeps = "logits_to_keep" in inspect.signature(weights.model.forward).parameters

    def _forward(self, batch: Sequence[Conversation]) -> list[list[float]]:
        """Returns the log-probability of each token of each span in nats, in float32 whatever the weights' dtype.

        The model reads all tokens except the last, because no scored token follows the last one.
        """
        import torch

        longest = max(conversation.last for conversation in batch)
        ids = torch.zeros((len(batch), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, conversation in enumerate(batch):
            ids[row, : conversation.last] = torch.tensor(conversation.ids[: conversation.last])
            mask[row, : conversation.last] = 1
        first = min(conversation.first for conversation in batch) - 1
        keep = {"logits_to_keep": longest - first} if self._keeps else {}
        answers = []
        with torch.inference_mode():
            device = self._model.device
            logits = self._model(ids.to(device), attention_mask=mask.to(device), use_cache=False, **keep).logits
            start = first if self._keeps else 0
            for row, conversation in enumerate(batch):
                rows = logits[row, conversation.first - 1 - start : conversation.last - start]
                rows = torch.log_softmax(rows, -1, dtype=torch.float32)
                wanted = torch.tensor(conversation.ids[conversation.first :], device=device)
                answers.append(rows.gather(1, wanted[:, None])[:, 0])
        return [answer.tolist() for answer in answers]


class OneByOne(_Plain):
    """An `Engine` that runs each conversation in a forward pass of its own: simple, slow and right.

    Other engines are checked against this one.
    """

    version = "one-by-one-1"

    def __init__(self, weights: Weights):
        super().__init__(weights)
        self.plan = f"one text on {weights.model.device.type}"

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probabilities as `Engine` says."""
        computed = ((each, within_memory(self._forward, [each])) for each in conversations)
        return [values[0] if values else out_of_memory(each) for each, values in computed]


class Batches(_Plain):
    """An `Engine` that runs batches, padded on the right, for models that the trie engine cannot run.

    *budget* is the most tokens in a batch, padding included; None means `ON_CPU` or `ON_GPU`. A conversation longer
    than the budget forms a batch alone. A batch that runs out of memory is halved.
    """

    version = "batches-1"

    def __init__(self, weights: Weights, budget: int | None = None):
        super().__init__(weights)
        self._budget = budget or (ON_CPU if weights.model.device.type == "cpu" else ON_GPU)
        self.plan = f"{self._budget} tokens on {weights.model.device.type}"
        self.remarks: list[str] = []

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probabilities as `Engine` says."""
        answers: dict[int, Logprobs] = {}
        due = self._batches(conversations)[::-1]
        while due:
            batch = due.pop()
            values = within_memory(self._forward, [conversations[number] for number in batch])
            if values is not None:
                answers |= dict(zip(batch, values, strict=True))
            elif len(batch) > 1:
                self.remarks.append("a batch did not fit the memory and was halved; a smaller token budget avoids it")
                due += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
            else:
                answers[batch[0]] = out_of_memory(conversations[batch[0]])
        return [answers[number] for number in range(len(conversations))]

    def _batches(self, conversations: Sequence[Conversation]) -> list[list[int]]:
        """Groups the indices of *conversations* into batches within the token budget, longest conversations first."""
        vocabulary = self._model.get_output_embeddings().weight.shape[0]  # pyright: ignore[reportOptionalMemberAccess]
        batches: list[list[int]] = []
        for number in sorted(range(len(conversations)), key=lambda number: -conversations[number].last):
            tokens = conversations[batches[-1][0]].last * (len(batches[-1]) + 1) if batches else 0
            if batches and tokens <= self._budget and tokens * vocabulary <= _LOGITS:
                batches[-1].append(number)
            else:
                batches.append([number])
        return batches
