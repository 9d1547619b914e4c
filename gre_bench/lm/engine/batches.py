"""Runs conversations in ordinary batches, padded on the right, for models that the trie engine cannot run."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from gre_bench.lm.engine.protocol import Logprobs, give_back, is_out_of_memory, out_of_memory
from gre_bench.lm.span import Conversation
from gre_bench.lm.weights import Weights

ON_CPU, ON_GPU = 2048, 16384
"""Tokens in a batch, padding included."""
_LOGITS = 2**28
"""Largest number of logits in a batch."""


class Batches:
    """An `Engine` that runs several conversations in one batch.

    *budget* is the most tokens in a batch, padding included; None means `ON_CPU` or `ON_GPU`. A conversation longer
    than the budget forms a batch alone.
    """

    version = "batches-1"

    def __init__(self, weights: Weights, budget: int | None = None):
        self._model = weights.model
        self._budget = budget or (ON_CPU if weights.model.device.type == "cpu" else ON_GPU)
        self._keeps = "logits_to_keep" in inspect.signature(weights.model.forward).parameters
        self.remarks: list[str] = []

    @property
    def plan(self) -> str:
        """Says how this engine divides its work into forward passes: the budget and the kind of device."""
        return f"{self._budget} tokens on {self._model.device.type}"

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probability of each token of each span in nats.

        A batch that runs out of memory is halved. A conversation that runs out of memory even alone gets a `SpanError`.
        """
        answers: dict[int, Logprobs] = {}
        due = self._batches(conversations)[::-1]
        while due:
            batch = due.pop()
            values = self._try_batch([conversations[number] for number in batch])
            if values is not None:
                answers |= dict(zip(batch, values, strict=True))
            elif len(batch) > 1:
                self.remarks.append("a batch did not fit the memory and was halved; a smaller token budget avoids it")
                due += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
            else:
                answers[batch[0]] = out_of_memory(conversations[batch[0]])
        return [answers[number] for number in range(len(conversations))]

    def _batches(self, conversations: Sequence[Conversation]) -> list[list[int]]:
        """Groups *conversations* into batches within the token budget, longest conversations first.

        Returns each batch as a list of indices of *conversations*.
        """
        vocabulary = self._model.get_output_embeddings().weight.shape[0]  # pyright: ignore[reportOptionalMemberAccess]
        batches: list[list[int]] = []
        for number in sorted(range(len(conversations)), key=lambda number: -conversations[number].last):
            length = conversations[batches[-1][0]].last if batches else 0
            tokens = length * (len(batches[-1]) + 1) if batches else 0
            if batches and tokens <= self._budget and tokens * vocabulary <= _LOGITS:
                batches[-1].append(number)
            else:
                batches.append([number])
        return batches

    def _try_batch(self, batch: Sequence[Conversation]) -> list[list[float]] | None:
        try:
            return self._forward(batch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Outside the handler, because its traceback still holds the tensors.
        give_back()
        return None

    def _forward(self, batch: Sequence[Conversation]) -> list[list[float]]:
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
                answers.append(
                    rows.gather(1, torch.tensor(conversation.ids[conversation.first :], device=device)[:, None])[:, 0]
                )
        return [answer.tolist() for answer in answers]
