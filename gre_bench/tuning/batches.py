"""Groups training conversations into batches of similar length, and computes the loss of a batch.

The batches of an epoch depend only on the examples, the seed and the index of the epoch. An interrupted run can
therefore continue with the next batch.
"""

from __future__ import annotations

import hashlib
import inspect
import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

_BUCKET = 50
"""Number of batches whose examples are sorted by length together: enough to save padding, few enough to shuffle."""


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenised conversation to train on.

    *ids*: its token ids. *weights*: the weight of each token's loss. The first token is never predicted, so its weight
    has no effect.
    """

    ids: tuple[int, ...]
    weights: tuple[float, ...]


def checked(examples: Sequence[Example], max_tokens: int) -> Sequence[Example]:
    """Checks *examples* and returns them unchanged.

    Raises `ValueError` if an example has more than *max_tokens* tokens or no usable weights.
    """
    for index, example in enumerate(examples):
        if len(example.ids) != len(example.weights):
            raise ValueError(f"example {index} has {len(example.ids)} tokens but {len(example.weights)} weights")
        if len(example.ids) > max_tokens:
            raise ValueError(f"example {index} has {len(example.ids)} tokens; at most {max_tokens} are allowed")
        if min(example.weights) < 0 or not any(example.weights[1:]):
            raise ValueError(f"example {index} has a weight below 0, or none above 0")
    return examples


def digest_of(examples: Sequence[Example]) -> str:
    """Returns the SHA-256 over the token ids and weights of *examples*, in their order."""
    total = hashlib.sha256()
    for example in examples:
        total.update(array("q", [len(example.ids), *example.ids]).tobytes())
        total.update(array("d", example.weights).tobytes())
    return total.hexdigest()


def batches_of(
    examples: Sequence[Example], size: int, seed: int, epoch: int, *, neighbours: bool = False
) -> list[list[Example]]:
    """Divides *examples* into batches of *size* examples of similar lengths, and returns the batches in random order.

    The last batch may be smaller. *epoch*: the index of the pass over the data; each epoch has its own order. If
    *neighbours* is true, each batch holds consecutive examples instead, and only the order of batches is random.
    """
    shuffle = random.Random(f"batches {seed} {epoch}")
    if neighbours:
        cuts = shuffle.sample(starts := range(0, len(examples), size), len(starts))
        return [list(examples[cut : cut + size]) for cut in cuts]
    order = shuffle.sample(range(len(examples)), len(examples))
    batches = []
    for start in range(0, len(order), size * _BUCKET):
        bucket = sorted(order[start : start + size * _BUCKET], key=lambda index: len(examples[index].ids))
        batches += [[examples[index] for index in bucket[cut : cut + size]] for cut in range(0, len(bucket), size)]
    shuffle.shuffle(batches)
    return batches


def weight_of(batch: Sequence[Example]) -> float:
    """Returns the sum of the token weights of *batch*.

    The summed loss divided by this sum is the mean loss per weighted token.
    """
    return float(sum(sum(example.weights[1:]) for example in batch))


def summed_loss(model: nn.Module, batch: Sequence[Example]) -> Tensor:
    """Returns Σ weight · −log P(token | earlier tokens) over *batch*, in nats; the log-softmax is in float32.

    Padding is on the right and has weight 0. A causal model never attends to it, so no mask is needed. If the model
    supports it, its head runs only at positions that predict a token with a weight.
    """
    import torch

    device = next(model.parameters()).device
    longest = max(len(example.ids) for example in batch)
    ids = torch.tensor([[*example.ids, *[0] * (longest - len(example.ids))] for example in batch])
    weights = torch.tensor([[*example.weights, *[0.0] * (longest - len(example.weights))] for example in batch])
    rows = (weights[:, 1:] > 0).any(dim=0).nonzero()[:, 0]
    wanted, weights = ids[:, 1:][:, rows].to(device), weights[:, 1:][:, rows].to(device)
    ids, rows = ids.to(device), rows.to(device)
    known = _parameters(model)
    options = {"use_cache": False} if "use_cache" in known else {}
    if "logits_to_keep" in known:
        logits = model(input_ids=ids[:, :-1], logits_to_keep=rows, **options).logits
    else:
        logits = model(input_ids=ids[:, :-1], **options).logits[:, rows]
    chosen = weights > 0
    losses = torch.nn.functional.cross_entropy(logits[chosen].float(), wanted[chosen], reduction="none")
    return (losses * weights[chosen]).sum()


def _parameters(model: nn.Module) -> set[str]:
    """Returns the names of the arguments that ``forward`` of *model* accepts.

    If *model* has an adapter, the names are those of the model inside the adapter.
    """
    wrapped: Any = model
    inner = wrapped.get_base_model() if hasattr(model, "get_base_model") else wrapped
    return set(inspect.signature(inner.forward).parameters)
