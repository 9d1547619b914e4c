"""Attention over the tokens of a trie: each token attends to its ancestors and itself, and to nothing else.

Tokens are numbered in depth-first order (`gre_bench.lm.engine.packs`), so the descendants of a token form one range.
The attention pattern can therefore be written as ranges, without a mask over all tokens:

- The trie is divided into ranges without branches. Within such a range, the tokens attend causally to each other.
- All descendants of a range form one range below it. They attend to every token of the range above.

A token thus takes part in several computations. Their results are combined by the log-sum-exps of the attention scores,
as flash attention combines its blocks.

Shapes: queries and outputs (1, heads, tokens, head size); keys and values (1, key-value heads, tokens, head size). The
attention scores are multiplied by *scale*. *layer* is the index of a layer.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from gre_bench.lm.engine.packs import Pack

NAME = "trie"
"""The name under which transformers knows this attention."""

_ROWS = 256
"""The number of queries whose scores are computed at once; so many scores fit the processor's cache."""

Kept = dict[int, tuple[Tensor, Tensor]]
"""Layer → (keys, values) of the tokens that a later pack needs."""


@dataclass(frozen=True, slots=True)
class FlashKernelCall:
    """The input of one call of the variable-length flash kernel: ranges of tokens that each attend to a range of keys.

    - *queries*, *keys*: the indices of the tokens in the pack, and of the keys, one range after another.
    - *query_starts*, *key_starts*: the offset of each range in *queries* and *keys*; the total length comes last.
    """

    queries: Tensor
    keys: Tensor
    query_starts: Tensor
    key_starts: Tensor
    longest_query: int
    longest_key: int


class AttentionLayout:
    """Describes to which keys the tokens of *pack* attend; each layer of the forward pass receives it as ``layout``.

    - *before*: for each layer, the keys and values kept from earlier packs. `left`: the keys and values that the next
      pack needs.
    - *exact*: whether to compute with plain matrix products instead of a fused kernel.
    """

    def __init__(self, pack: Pack, device: torch.device | str, before: Kept, exact: bool = False):
        self.pack = pack
        self.device = device
        self.before = before
        self.exact = exact
        self.left: Kept = {}
        keep = torch.tensor(pack.keep, device=device)
        self._keep_old, self._keep_own = keep[keep < pack.kept], keep[keep >= pack.kept] - pack.kept

    def keep(self, layer: int, key: Tensor, value: Tensor) -> None:
        """Stores in `left`, for *layer*, what the next pack needs of `before` and of this pack's *key* and *value*."""
        if not len(self.pack.keep):
            return
        before = [old[:, :, self._keep_old] for old in self.before.get(layer, ())] or [key[:, :, :0], value[:, :, :0]]
        keys, values = (
            torch.cat([old, new[:, :, self._keep_own]], 2) for old, new in zip(before, (key, value), strict=True)
        )
        self.left[layer] = keys, values

    def extended(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Returns all keys and values of *layer*: those kept from earlier packs, then those of this pack."""
        if not self.pack.kept:
            return key, value
        old_key, old_value = self.before[layer]
        return torch.cat([old_key, key], 2), torch.cat([old_value, value], 2)

    @cached_property
    def seen(self) -> list[list[tuple[int, int]]]:
        """The ranges of keys to which each range in ``pack.own_ranges`` attends."""
        return self.pack.list_visible_key_ranges()

    @cached_property
    def own_call(self) -> FlashKernelCall:
        """The kernel call by which the tokens of each range in ``pack.own_ranges`` attend to each other."""
        kept = self.pack.kept
        return self._build_kernel_call(
            self.pack.own_ranges, [(start + kept, stop + kept) for start, stop in self.pack.own_ranges]
        )

    @cached_property
    def ancestor_calls(self) -> list[FlashKernelCall]:
        """The kernel calls by which tokens attend to ancestors outside their own range in ``pack.own_ranges``.

        There is one call for each level of ``pack.links``, beginning with the keys nearest to the root of the trie.
        """
        levels: dict[int, tuple[list, list]] = {}
        for link in self.pack.links:
            queries, keys = levels.setdefault(link.level, ([], []))
            queries.append(link.queries)
            keys.append(link.keys)
        return [self._build_kernel_call(*level) for _, level in sorted(levels.items())]

    def _build_kernel_call(
        self, queries: Sequence[tuple[int, int]], keys: Sequence[tuple[int, int]]
    ) -> FlashKernelCall:
        def indices(ranges: Sequence[tuple[int, int]]) -> Tensor:
            return torch.cat([torch.arange(*each, device=self.device) for each in ranges])

        def starts(ranges: Sequence[tuple[int, int]]) -> Tensor:
            sizes = (stop - start for start, stop in ranges)
            return torch.tensor([0, *accumulate(sizes)], dtype=torch.int32, device=self.device)

        longest = [max(stop - start for start, stop in ranges) for ranges in (queries, keys)]
        return FlashKernelCall(indices(queries), indices(keys), starts(queries), starts(keys), *longest)


def attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, *,
    scaling: float | None = None, sliding_window: int | None = None, softcap: float | None = None,
    layout: AttentionLayout | None = None, **_: Any,
) -> tuple[Tensor, None]:  # fmt: skip
    """Computes the attention of one layer; transformers calls this function in place of its own attention.

    Returns the output, shape (1, tokens, heads, head size), and None in place of the attention weights. Also makes
    *layout* keep what the next pack needs.
    """
    if layout is None:
        raise TypeError(f"the {NAME} attention of {type(module).__name__} was called without a layout")
    size = query.shape[-1]
    scale = size**-0.5 if scaling is None else scaling
    window = sliding_window if sliding_window is not None and sliding_window < layout.pack.longest else None
    layer = module.layer_idx
    layout.keep(layer, key, value)
    on_cpu = query.device.type == "cpu"
    plain = not layout.exact and softcap is None and window is None
    if on_cpu and plain and query.element_size() == 4:
        return attend_in_float32_on_cpu(query, key, value, layout, scale, layer).transpose(1, 2), None
    key, value = layout.extended(layer, key, value)
    if on_cpu and plain:
        return attend_in_half_precision_on_cpu(query, key, value, layout, scale).transpose(1, 2), None
    if layout.exact or softcap is not None:
        out = attend_eagerly(query, key, value, layout, scale, window, softcap)
    elif window is not None or not (query.element_size() == 2 and size <= 256 and size % 8 == 0):
        out = attend_with_mask(query, key, value, layout, scale, window)
    else:  # the variable-length flash kernel supports only half precision and such sizes
        out = attend_in_half_precision_on_cuda(query, key, value, layout, scale)
    return out.transpose(1, 2), None


AttentionInterface.register(NAME, attend)  # transformers then builds no attention mask


def attend_in_float32_on_cpu(
    query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, scale: float, layer: int
) -> Tensor:
    """Computes the attention in float32 on the CPU, with torch's flash kernel.

    The kernel is called once for each range in ``layout.pack.own_ranges`` and once for each link in
    ``layout.pack.links``. The results are merged.
    """
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    _, heads, tokens, size = query.shape
    out = query.new_empty((1, tokens, heads, size), dtype=torch.float32).transpose(1, 2)
    sums = query.new_empty((1, heads, tokens), dtype=torch.float32)
    for start, stop in layout.pack.own_ranges:
        own = slice(start, stop)
        out[:, :, own], sums[:, :, own] = flash(
            query[:, :, own], key[:, :, own], value[:, :, own], is_causal=True, scale=scale
        )
    kept = layout.pack.kept
    for link in layout.pack.links:
        first, last = link.keys
        keys, values = (key, value) if first >= kept else layout.before[layer]
        above = slice(first - kept, last - kept) if first >= kept else slice(first, last)
        below = slice(*link.queries)
        part, part_sums = flash(query[:, :, below], keys[:, :, above], values[:, :, above], scale=scale)
        _merge_attention_outputs(out[:, :, below], sums[:, :, below], part, part_sums)
    return out.to(query.dtype)


def attend_in_half_precision_on_cpu(
    query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, scale: float
) -> Tensor:
    """Computes the attention in half precision on the CPU, by plain matrix products for `_ROWS` tokens at a time.

    torch's flash kernel would take three times as long there.
    """
    heads, groups = key.shape[1], query.shape[1] // key.shape[1]
    size = query.shape[3]
    out = torch.empty_like(query)
    grouped, written = (each[0].unflatten(0, (heads, groups)) for each in (query * scale, out))
    for (start, stop), seen_ranges in zip(layout.pack.own_ranges, layout.seen, strict=True):
        ranges = [slice(*each) for each in seen_ranges]
        keys, values = (torch.cat([each[0, :, piece] for piece in ranges], 1) for each in (key, value))
        above = keys.shape[1] - (stop - start)
        for first in range(0, stop - start, _ROWS):
            last = min(first + _ROWS, stop - start)
            count, seen = last - first, above + last
            rows = slice(start + first, start + last)
            queries = grouped[:, :, rows].reshape(heads, groups * count, size)
            scores = torch.bmm(queries, keys[:, :seen].transpose(1, 2))
            future = torch.ones(count, count, dtype=torch.bool).triu_(1)
            scores.unflatten(1, (groups, count))[..., -count:].masked_fill_(future, -torch.inf)
            weights = torch.softmax(scores, -1)  # computed in float32, returned in half precision
            written[:, :, rows] = torch.bmm(weights, values[:, :seen]).unflatten(1, (groups, count))
    return out


def attend_in_half_precision_on_cuda(
    query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, scale: float
) -> Tensor:
    """Computes the attention in half precision on CUDA; calls the variable-length kernel once per `FlashKernelCall`."""
    q, k, v = (each[0].transpose(0, 1) for each in (query, key, value))
    out, sums = _call_flash_kernel(
        q, k[layout.own_call.keys], v[layout.own_call.keys], layout.own_call, scale, causal=True
    )
    out, sums = out.float(), sums.float()
    for each in layout.ancestor_calls:
        part, part_sums = _call_flash_kernel(q[each.queries], k[each.keys], v[each.keys], each, scale, causal=False)
        merged, merged_sums = out[each.queries], sums[:, each.queries]
        _merge_attention_outputs(merged.transpose(0, 1), merged_sums, part.transpose(0, 1), part_sums)
        out[each.queries], sums[:, each.queries] = merged, merged_sums
    return out.to(query.dtype).transpose(0, 1)[None]


def attend_with_mask(
    query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, scale: float, window: int | None
) -> Tensor:
    """Computes the attention on any device, with a mask, from copies of the keys of each range and its ancestors.

    *window*: the number of tokens to which a token attends (itself and the nearest ancestors); None: all.
    """
    out = torch.empty_like(query)
    for own, keys, values, seen in _gather_keys_and_masks(key, value, layout, window):
        out[:, :, own] = scaled_dot_product_attention(
            query[:, :, own], keys, values, attn_mask=seen, scale=scale, enable_gqa=True
        )
    return out


def attend_eagerly(
    query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, scale: float,
    window: int | None, softcap: float | None,
) -> Tensor:  # fmt: skip
    """Computes the same as `attend_with_mask`, with plain matrix products and a float32 softmax.

    This is how transformers computes the attention that it calls ``eager``.

    With *softcap*, each attention score s becomes softcap · tanh(s / softcap), as in Gemma 2.
    """
    out = torch.empty_like(query)
    groups = query.shape[1] // key.shape[1]
    for own, keys, values, seen in _gather_keys_and_masks(key, value, layout, window):
        keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
        scores = query[:, :, own] @ keys.transpose(-1, -2) * scale
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1, dtype=torch.float32).to(query.dtype)
        out[:, :, own] = weights @ values
    return out


def _gather_keys_and_masks(
    key: Tensor, value: Tensor, layout: AttentionLayout, window: int | None
) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """Yields for each range in ``pack.own_ranges``: its slice of the pack's tokens, its keys, its values, their mask.

    The keys and values of the range's ancestors come before the range's own. The mask, shape (tokens, keys), is true
    where the token attends to the key.
    """
    for (start, stop), ranges in zip(layout.pack.own_ranges, layout.seen, strict=True):
        pieces = [slice(*each) for each in ranges]
        keys, values = (torch.cat([each[:, :, piece] for piece in pieces], 2) for each in (key, value))
        last = keys.shape[2]
        positions = torch.arange(last, device=key.device)
        back = positions[last - (stop - start) :, None] - positions
        yield slice(start, stop), keys, values, (back >= 0) & (back < (window or last))


def _merge_attention_outputs(out: Tensor, sums: Tensor, part: Tensor, part_sums: Tensor) -> None:
    """Merges *part*, the attention output over further keys, in place into *out*, the output over the earlier keys.

    *sums* (also updated) and *part_sums* are the log-sum-exps of the attention scores that gave *out* and *part*.
    """
    share = torch.sigmoid(part_sums - sums)
    out.lerp_(part.to(out.dtype), share[..., None])
    sums.copy_(torch.logaddexp(sums, part_sums))


def _call_flash_kernel(
    q: Tensor, k: Tensor, v: Tensor, ranges: FlashKernelCall, scale: float, *, causal: bool
) -> tuple[Tensor, Tensor]:
    """Computes the attention of *ranges* by one call of the variable-length flash kernel.

    *q*, *k* and *v* have the shape (tokens, heads, head size). Returns the output, and the log-sum-exps of the
    attention scores, shape (heads, tokens).
    """
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    grouped: dict[str, Any] = {"enable_gqa": True}
    # torch 2.11 has no such option, and requires as many key heads as query heads.
    if "enable_gqa" not in inspect.signature(varlen_attn).parameters:
        grouped, (k, v) = {}, (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
    return varlen_attn(  # pyrefly: ignore
        q, k, v, ranges.query_starts, ranges.key_starts, ranges.longest_query, ranges.longest_key,
        return_aux=AuxRequest(lse=True), scale=scale,
        window_size=(-1, 0) if causal else (-1, -1), **grouped,
    )  # fmt: skip
