"""Computes the loss of conversations with common prefixes, reading each shared token only once.

The nine conversations about a paper share the system prompt and the synopsis. Two that predict from the same review
share this review, too. The conversations are merged into a trie (`gre_bench.lm.engine.packs`), which has about 1.6
times fewer tokens, or 2.5 times fewer with abstracts. The loss and its gradient are the same as if each conversation
were read alone, up to the order of floating-point sums.

Two functions define their own gradients: the attention over the trie, and the output layer (head) with its
cross-entropy. For these functions, autograd would spend more time on storing and copying than on the matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import AttentionInterface

from gre_bench.core.errors import LMError
from gre_bench.lm.engine.engines import ARCHITECTURES
from gre_bench.lm.engine.packs import TokenTrie
from gre_bench.lm.span import Conversation
from gre_bench.tuning.pairs import Example, sum_trained_weights

NAME = "trie-training"
"""The name under which transformers knows this attention."""

_ROWS = 128
"""The number of rows that pass through the head at once; the logits of so many rows fit the processor's cache."""

Layout = Sequence[tuple[tuple[int, int], list[tuple[int, int]]]]
"""Ranges of a trie's tokens, each with the list of ranges that it attends to.

The last range of each list is the range itself, with causal attention.
"""


@contextmanager
def share_prefixes_in(model: nn.Module) -> Iterator[None]:
    """Makes *model* use this module's attention in the ``with`` block; raises `LMError` if the model cannot."""
    base = unwrap_adapter(model)
    kind = base.config.model_type
    if kind not in ARCHITECTURES:
        raise LMError(f"training: the architecture {kind} cannot share prefixes; set share_prefixes=false")
    AttentionInterface.register(NAME, _compute_attention)
    before = base.config._attn_implementation
    base.set_attn_implementation(NAME)
    with ExitStack() as stack:
        stack.callback(base.set_attn_implementation, before)
        if hasattr(model, "peft_config"):
            from peft.helpers import disable_input_dtype_casting

            # Autocast chooses the dtypes. Without this, peft would copy each input to the adapter's dtype and back.
            stack.enter_context(disable_input_dtype_casting(model, active=True))
        yield


def compute_shared_prefix_loss(model: nn.Module, batch: Sequence[Example]) -> Tensor:
    """Returns Σ −log P(token | earlier tokens) in nats over the trained tokens of *batch* (those with a weight).

    Raises `ValueError` unless the trained tokens are the last tokens of each example, each with weight 1. This function
    must be called within `share_prefixes_in`.
    """
    read = _run_batch(model, batch)
    head = read.base.get_output_embeddings()
    cap = getattr(read.base.config.get_text_config(), "final_logit_softcapping", None)
    if head.weight.requires_grad or head.bias is not None or cap is not None:
        return -_compute_log_probs(read).sum()
    return _apply_without_autocast(_HeadLoss, read.hidden, head.weight, read.row_of, read.targets)


def contrastive_loss(model: nn.Module, batch: Sequence[Example], weight: float, temperature: float) -> Tensor:
    """Returns `compute_shared_prefix_loss` of the right examples in *batch*, plus *weight* times a contrastive loss.

    An example is right unless it is marked ``wrong``. If its group has wrong examples, its contrastive loss is −log
    softmax(log P / *temperature*) among itself and these. The mean of this loss is multiplied by the number of trained
    tokens, so that dividing by this number turns both losses into means. The contrastive loss of a batch without wrong
    examples is 0.
    """
    read = _run_batch(model, batch)
    totals = torch.zeros(len(batch), device=read.hidden.device).index_add(0, read.owner, _compute_log_probs(read))
    learnt = [index for index, example in enumerate(batch) if not example.wrong]
    wrong: dict[tuple[int, int] | None, list[int]] = {}
    for index, example in enumerate(batch):
        if example.wrong:
            wrong.setdefault(example.group, []).append(index)
    choices = [[index, *wrong[batch[index].group]] for index in learnt if batch[index].group in wrong]
    loss = -totals[learnt].sum()
    if choices:
        log_shares = torch.stack([torch.log_softmax(totals[choice] / temperature, 0)[0] for choice in choices])
        loss = loss - weight * sum_trained_weights(batch) * log_shares.mean()
    return loss


@dataclass(frozen=True, slots=True)
class _BatchOutput:
    """A model's output on a batch: the last *hidden* states of the positions that predict a target.

    *hidden*: shape (rows, width), one row for each of these positions. *row_of*, *owner*: for each target, the index of
    its row and the index of its example.
    """

    base: Any
    hidden: Tensor
    row_of: Tensor
    targets: Tensor
    owner: Tensor


def _compute_log_probs(read: _BatchOutput) -> Tensor:
    """Returns log P of each target in float32. Logits are computed in chunks of rows, and again for the gradient."""
    head = read.base.get_output_embeddings()
    cap = getattr(read.base.config.get_text_config(), "final_logit_softcapping", None)
    order = torch.argsort(read.row_of, stable=True)
    row_of, targets = read.row_of[order], read.targets[order]

    def compute_chunk(hidden: Tensor, first: int) -> Tensor:
        logits = head(hidden).float()
        logits = logits if cap is None else torch.tanh(logits / cap) * cap
        own = (row_of >= first) & (row_of < first + len(hidden))
        rows = row_of[own] - first
        return logits[rows, targets[own]] - torch.logsumexp(logits, -1)[rows]

    parts = [
        checkpoint(compute_chunk, read.hidden[first : first + _ROWS], first, use_reentrant=False)
        for first in range(0, len(read.hidden), _ROWS)
    ]
    return torch.empty(len(order), device=read.hidden.device).index_copy(0, order, torch.cat(parts))


def _run_batch(model: nn.Module, batch: Sequence[Example]) -> _BatchOutput:
    """Runs *model* on *batch* as a trie; raises `ValueError` as `compute_shared_prefix_loss` does."""
    conversations = []
    for example in batch:
        first = next(index for index, weight in enumerate(example.weights) if weight and index)
        if set(example.weights[first:]) != {1.0}:
            raise ValueError(
                "to share prefixes, the learnt tokens of an example must be its last ones, all of weight 1"
            )
        conversations.append(Conversation(example.ids, first, len(example.ids) - 1, 0))
    trie = TokenTrie(conversations)
    pack = trie.pack(0, len(trie))
    device = next(model.parameters()).device
    layout = list(zip(pack.own_ranges, pack.list_visible_key_ranges(), strict=True))
    base = unwrap_adapter(model)
    hidden = base.get_decoder()(
        input_ids=torch.tensor(pack.ids, device=device)[None],
        position_ids=torch.tensor(pack.depths, device=device)[None], use_cache=False, layout=layout,
    ).last_hidden_state[0]  # fmt: skip
    rows, row_of = np.unique(pack.rows, return_inverse=True)
    owner = np.repeat(np.arange(len(batch)), trie.sizes)[pack.logprob_indices]
    rows, *others = (torch.tensor(each, device=device) for each in (rows, row_of, pack.targets, owner))
    return _BatchOutput(base, hidden[rows], *others)


def unwrap_adapter(model: Any) -> Any:
    """Returns the model inside the adapter of *model*, or *model* itself if it has no adapter."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _compute_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, *,
    scaling: float | None = None, sliding_window: int | None = None, softcap: float | None = None,
    layout: Layout | None = None, **_: Any,
) -> tuple[Tensor, None]:  # fmt: skip
    """Computes the attention of one layer; transformers calls this function in place of its own attention.

    Returns the output, shape (1, tokens, heads, size), and None in place of the attention weights.
    """
    if layout is None:
        raise TypeError(f"the {NAME} attention of {type(module).__name__} was called without a layout")
    if softcap is not None or (sliding_window is not None and sliding_window < query.shape[2]):
        raise LMError("training: soft caps and sliding windows cannot share prefixes; set share_prefixes=false")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return _apply_without_autocast(_Attention, query, key, value, layout, scale).transpose(1, 2), None


def _apply_without_autocast(function: Any, first: Tensor, *others: Any) -> Tensor:
    """Applies *function*, which defines its own gradient, without autocast, in the dtypes of its arguments."""
    with torch.autocast(first.device.type, enabled=False):
        return function.apply(first, *others)


class _Attention(torch.autograd.Function):
    """Computes the attention of each range of tokens to the ranges that it attends to, by plain matrix products.

    Shapes: queries and output (1, heads, tokens, size), keys and values (1, key heads, tokens, size). The attention
    weights are stored in the dtype of the queries. The gradient is computed as in flash attention (Dao et al. 2022,
    appendix B).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float) -> Tensor:
        heads, groups = key.shape[1], query.shape[1] // key.shape[1]
        size = query.shape[3]
        out = torch.empty_like(query)
        kept = []
        grouped, written = (each[0].unflatten(0, (heads, groups)) for each in (query, out))
        for (start, stop), seen in layout:
            count = stop - start
            keys, values = _gather_ranges(key, seen), _gather_ranges(value, seen)
            queries = grouped[:, :, start:stop].reshape(heads, groups * count, size)
            scores = torch.bmm(queries, keys.transpose(1, 2)).float().mul_(scale)
            future = torch.ones(count, count, dtype=torch.bool, device=query.device).triu_(1)
            scores.unflatten(1, (groups, count))[..., -count:].masked_fill_(future, -math.inf)
            weights = torch.softmax(scores, -1).to(query.dtype)
            written[:, :, start:stop] = torch.bmm(weights, values).unflatten(1, (groups, count))
            kept.append(weights)
        ctx.save_for_backward(query, key, value, out, *kept)
        ctx.layout, ctx.scale = layout, scale
        return out

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:  # pyrefly: ignore
        query, key, value, out, *kept = ctx.saved_tensors
        heads, groups = key.shape[1], query.shape[1] // key.shape[1]
        size = query.shape[3]
        slope_q = torch.empty_like(query)
        slope_k, slope_v = (torch.zeros_like(each, dtype=torch.float32) for each in (key, value))
        inner = (slope.float() * out.float()).sum(-1)[0].unflatten(0, (heads, groups))
        grouped, slopes, written = (each[0].unflatten(0, (heads, groups)) for each in (query, slope, slope_q))
        for ((start, stop), seen), weights in zip(ctx.layout, kept, strict=True):
            count, segment = stop - start, slice(start, stop)
            keys, values = _gather_ranges(key, seen), _gather_ranges(value, seen)
            queries, outer = (each[:, :, segment].reshape(heads, groups * count, size) for each in (grouped, slopes))
            by_weight = torch.bmm(outer, values.transpose(1, 2)).float()
            by_weight.sub_(inner[:, :, segment].reshape(heads, groups * count, 1)).mul_(weights).mul_(ctx.scale)
            by_score = by_weight.to(query.dtype)
            written[:, :, segment] = torch.bmm(by_score, keys).unflatten(1, (groups, count))
            _scatter_add_ranges(slope_k, seen, torch.bmm(by_score.transpose(1, 2), queries))
            _scatter_add_ranges(slope_v, seen, torch.bmm(weights.transpose(1, 2), outer))
        return slope_q, slope_k.to(key.dtype), slope_v.to(value.dtype), None, None


def _gather_ranges(each: Tensor, ranges: Sequence[tuple[int, int]]) -> Tensor:
    """Returns the keys (or values) in *ranges*, shape (key heads, keys, size). *each*: those of all tokens."""
    return torch.cat([each[0, :, start:stop] for start, stop in ranges], 1)


def _scatter_add_ranges(total: Tensor, ranges: Sequence[tuple[int, int]], slope: Tensor) -> None:
    """Adds *slope*, the gradient of the keys (or values) in *ranges*, to *total*, the gradient of all of them."""
    done = 0
    for start, stop in ranges:
        total[0, :, start:stop] += slope[:, done : done + stop - start]
        done += stop - start


class _HeadLoss(torch.autograd.Function):
    """Computes Σ −log softmax(hidden · weightᵀ) at the targets, and its gradient in the same pass.

    *hidden*: shape (rows, width). *row_of*: for each target, the index of the row that predicts the target. A row may
    predict several targets.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, row_of: Tensor, targets: Tensor) -> Tensor:
        total = torch.zeros((), dtype=torch.float64, device=hidden.device)
        slopes = torch.empty_like(hidden)
        counts = torch.bincount(row_of, minlength=len(hidden)).float()
        order = torch.argsort(row_of, stable=True)
        row_of, targets = row_of[order], targets[order]
        for start in range(0, len(hidden), _ROWS):
            stop = min(start + _ROWS, len(hidden))
            first, last = torch.searchsorted(row_of, torch.tensor([start, stop], device=row_of.device)).tolist()
            at, wanted = row_of[first:last] - start, targets[first:last]
            logits = (hidden[start:stop].to(weight.dtype) @ weight.T).float()
            sums = torch.logsumexp(logits, -1, keepdim=True)
            total += (sums[at, 0] - logits[at, wanted]).double().sum()
            slope = logits.sub_(sums).exp_().mul_(counts[start:stop, None])
            slope.index_put_((at, wanted), slope.new_tensor(-1.0), accumulate=True)
            slopes[start:stop] = (slope.to(weight.dtype) @ weight).to(slopes.dtype)
        ctx.save_for_backward(slopes)
        return total.float()

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None, None, None]:  # pyrefly: ignore
        (slopes,) = ctx.saved_tensors
        return slopes * above.to(slopes.dtype), None, None, None
