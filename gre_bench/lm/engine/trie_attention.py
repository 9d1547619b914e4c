"""Attention over a trie: each token attends to its ancestors and to itself, to nothing else.

Tokens lie in depth-first order (`gre_bench.lm.engine.packs`), so all that attend to a stretch of tokens lie in one
range behind it. Hence no mask: each stretch attends to itself causally, each range in full to the stretch above it, and
what a token gathers so is put together by the log-sum-exps of its scores, as flash attention does with its blocks.

Shapes: queries (1, heads, tokens, size), keys and values (1, key heads, tokens, size).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gre_bench.lm.engine.packs import Pack

if TYPE_CHECKING:
    import torch

NAME = "trie"
"""What transformers knows this attention by."""

_ROWS = 256
"""Queries whose scores are held at once, in the processor's cache."""

Kept = dict[int, tuple["torch.Tensor", "torch.Tensor"]]
"""Keys and values by layer."""


@dataclass(frozen=True, slots=True)
class Round:
    """Attention of many ranges in one call: queries *asking* to keys *told* (places), cut at *at_q* and *at_k*."""

    asking: torch.Tensor
    told: torch.Tensor
    at_q: torch.Tensor
    at_k: torch.Tensor
    most_q: int
    most_k: int


class AttentionLayout:
    """How the tokens of *pack* attend, given to every layer of a forward as ``layout``.

    *before*: keys and values that earlier packs have kept; `left` is what the forward keeps for the next one.
    *exact*: by plain products.
    """

    def __init__(self, pack: Pack, device: torch.device | str, before: Kept, exact: bool = False):
        import torch

        self.pack = pack
        self.device = device
        self.before = before
        self.exact = exact
        self.left: Kept = {}
        keep = torch.tensor(pack.keep, device=device)
        self._keep_old, self._keep_own = keep[keep < pack.kept], keep[keep >= pack.kept] - pack.kept

    def keep(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """Puts aside what the next pack needs of the keys and values of *layer*, those kept before and its own."""
        import torch

        if not len(self.pack.keep):
            return
        old_ones = self.before.get(layer, ())
        old_parts = [old[:, :, self._keep_old] for old in old_ones] or [key[:, :, :0], value[:, :, :0]]
        new_parts = [new[:, :, self._keep_own] for new in (key, value)]
        self.left[layer] = (torch.cat([old_parts[0], new_parts[0]], 2), torch.cat([old_parts[1], new_parts[1]], 2))

    def extended(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of all that the pack's tokens attend to in *layer*."""
        import torch

        if not self.pack.kept:
            return key, value
        old_key, old_value = self.before[layer]
        return torch.cat([old_key, key], 2), torch.cat([old_value, value], 2)

    @cached_property
    def paths(self) -> list[list[tuple[int, int]]]:
        """For each range of the pack's own the ranges of keys above it, topmost first."""
        return [
            [link.told for link in self.pack.links if link.asking[0] <= start < link.asking[1]]
            for start, _ in self.pack.own
        ]

    @cached_property
    def own(self) -> Round:
        """Every range to itself."""
        kept = self.pack.kept
        return self._round(self.pack.own, [(start + kept, stop + kept) for start, stop in self.pack.own])

    @cached_property
    def rounds(self) -> list[Round]:
        """The links, level by level."""
        levels: dict[int, tuple[list, list]] = {}
        for link in self.pack.links:
            asking, told = levels.setdefault(link.level, ([], []))
            asking.append(link.asking)
            told.append(link.told)
        return [self._round(*level) for _, level in sorted(levels.items())]

    def _round(self, asking: Sequence[tuple[int, int]], told: Sequence[tuple[int, int]]) -> Round:
        import torch

        def places(ranges: Sequence[tuple[int, int]]) -> torch.Tensor:
            return torch.cat([torch.arange(*each, device=self.device) for each in ranges])

        def cuts(ranges: Sequence[tuple[int, int]]) -> torch.Tensor:
            sizes = (stop - start for start, stop in ranges)
            return torch.tensor([0, *accumulate(sizes)], dtype=torch.int32, device=self.device)

        most = [max(stop - start for start, stop in ranges) for ranges in (asking, told)]
        return Round(places(asking), places(told), cuts(asking), cuts(told), *most)


def register() -> None:
    """Makes this attention known to transformers as `NAME`; having no mask function of that name, it builds no mask."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attend)


def attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: None, *,
    scaling: float | None = None, sliding_window: int | None = None, softcap: float | None = None,
    layout: AttentionLayout | None = None, **_: Any,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """The attention function of transformers: (1, tokens, heads, size), and no weights."""
    if layout is None:
        raise TypeError(f"the {NAME} attention of {type(module).__name__} was called without a layout")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    window = sliding_window if sliding_window is not None and sliding_window < layout.pack.longest else None
    layer = module.layer_idx
    layout.keep(layer, key, value)
    on_cpu = query.device.type == "cpu"
    plain = not layout.exact and softcap is None and window is None
    if on_cpu and plain and query.element_size() == 4:
        return cascaded(query, key, value, layout, scale, layer).transpose(1, 2), None
    key, value = layout.extended(layer, key, value)
    if on_cpu and plain:
        return multiplied(query, key, value, layout, scale).transpose(1, 2), None
    if layout.exact or softcap is not None:
        out = weighed(query, key, value, layout, scale, window, softcap)
    elif window is not None or not _flash(query):
        out = gathered(query, key, value, layout, scale, window)
    else:
        out = batched(query, key, value, layout, scale)
    return out.transpose(1, 2), None


def cascaded(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: AttentionLayout, scale: float, layer: int
) -> torch.Tensor:
    """On the CPU in float32: one call of the flash kernel for each range, one more for each link."""
    import torch

    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    _, heads, tokens, size = query.shape
    out = query.new_empty((1, tokens, heads, size), dtype=torch.float32).transpose(1, 2)
    sums = query.new_empty((1, heads, tokens), dtype=torch.float32)
    for start, stop in layout.pack.own:
        own = slice(start, stop)
        out[:, :, own], sums[:, :, own] = flash(
            query[:, :, own], key[:, :, own], value[:, :, own], is_causal=True, scale=scale
        )
    kept = layout.pack.kept
    for link in layout.pack.links:
        first, last = link.told
        keys, values = (key, value) if first >= kept else layout.before[layer]
        told = slice(first - kept, last - kept) if first >= kept else slice(first, last)
        asking = slice(*link.asking)
        found, found_sums = flash(query[:, :, asking], keys[:, :, told], values[:, :, told], scale=scale)
        _put_together(out[:, :, asking], sums[:, :, asking], found, found_sums)
    return out.to(query.dtype)


def multiplied(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: AttentionLayout, scale: float
) -> torch.Tensor:
    """On the CPU in half precision: plain products, some rows at a time; its flash kernel takes three times as long."""
    import torch

    heads, groups = key.shape[1], query.shape[1] // key.shape[1]
    size = query.shape[3]
    out = torch.empty_like(query)
    grouped, written = (each[0].unflatten(0, (heads, groups)) for each in (query * scale, out))
    kept = layout.pack.kept
    for (start, stop), path in zip(layout.pack.own, layout.paths, strict=True):
        ranges = [slice(*each) for each in (*path, (start + kept, stop + kept))]
        keys, values = (torch.cat([each[0, :, piece] for piece in ranges], 1) for each in (key, value))
        above = keys.shape[1] - (stop - start)
        for first in range(0, stop - start, _ROWS):
            last = min(first + _ROWS, stop - start)
            count, seen = last - first, above + last
            rows = slice(start + first, start + last)
            asked = grouped[:, :, rows].reshape(heads, groups * count, size)
            scores = torch.bmm(asked, keys[:, :seen].transpose(1, 2))
            future = torch.ones(count, count, dtype=torch.bool).triu_(1)
            scores.unflatten(1, (groups, count))[..., -count:].masked_fill_(future, -torch.inf)
            weights = torch.softmax(scores, -1)  # computed in float32, given in half precision
            written[:, :, rows] = torch.bmm(weights, values[:, :seen]).unflatten(1, (groups, count))
    return out


def batched(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: AttentionLayout, scale: float
) -> torch.Tensor:
    """On CUDA in half precision: one call of the variable-length flash kernel for each level of links."""
    q, k, v = (each[0].transpose(0, 1) for each in (query, key, value))
    out, sums = _variable(q, k[layout.own.told], v[layout.own.told], layout.own, scale, causal=True)
    out, sums = out.float(), sums.float()
    for each in layout.rounds:
        found, found_sums = _variable(q[each.asking], k[each.told], v[each.told], each, scale, causal=False)
        part, part_sums = out[each.asking], sums[:, each.asking]
        _put_together(part.transpose(0, 1), part_sums, found.transpose(0, 1), found_sums)
        out[each.asking], sums[:, each.asking] = part, part_sums
    return out.to(query.dtype).transpose(0, 1)[None]


def gathered(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    layout: AttentionLayout,
    scale: float,
    window: int | None,
) -> torch.Tensor:
    """Anywhere, and with a sliding window: each range with all keys above it, gathered, under a mask."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention

    out = torch.empty_like(query)
    for own, keys, values, seen in _gathered(key, value, layout, window):
        out[:, :, own] = attention(query[:, :, own], keys, values, attn_mask=seen, scale=scale, enable_gqa=True)
    return out


def weighed(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: AttentionLayout, scale: float,
    window: int | None, softcap: float | None,
) -> torch.Tensor:  # fmt: skip
    """The same by plain products and a softmax in float32 (``eager``), with the soft cap of Gemma 2."""
    import torch

    out = torch.empty_like(query)
    groups = query.shape[1] // key.shape[1]
    for own, keys, values, seen in _gathered(key, value, layout, window):
        keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
        scores = query[:, :, own] @ keys.transpose(-1, -2) * scale
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1, dtype=torch.float32).to(query.dtype)
        out[:, :, own] = weights @ values
    return out


def _gathered(
    key: torch.Tensor, value: torch.Tensor, layout: AttentionLayout, window: int | None
) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Each range of tokens, keys and values of it and all above it, and which of them each of its tokens sees."""
    import torch

    kept = layout.pack.kept
    for (start, stop), path in zip(layout.pack.own, layout.paths, strict=True):
        pieces = [slice(*each) for each in (*path, (start + kept, stop + kept))]
        keys, values = (torch.cat([each[:, :, piece] for piece in pieces], 2) for each in (key, value))
        last = keys.shape[2]
        places = torch.arange(last, device=key.device)
        back = places[last - (stop - start) :, None] - places
        yield slice(start, stop), keys, values, (back >= 0) & (back < (window or last))


def _put_together(out: torch.Tensor, sums: torch.Tensor, found: torch.Tensor, found_sums: torch.Tensor) -> None:
    """Adds what was *found* among further keys to *out*, in place; *sums* are the log-sum-exps of the scores."""
    import torch

    share = torch.sigmoid(found_sums - sums)
    out.lerp_(found.to(out.dtype), share[..., None])
    sums.copy_(torch.logaddexp(sums, found_sums))


def _variable(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, each: Round, scale: float, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of tokens (tokens, heads, size) range by range: the same shape, and log-sum-exps (heads, tokens)."""
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    return varlen_attn(  # pyright: ignore[reportReturnType]
        q, k, v, each.at_q, each.at_k, each.most_q, each.most_k, return_aux=AuxRequest(lse=True), scale=scale,
        window_size=(-1, 0) if causal else (-1, -1), enable_gqa=True,
    )  # fmt: skip


def _flash(query: torch.Tensor) -> bool:
    """Whether the variable-length flash kernel takes *query*."""
    import torch

    return query.dtype in (torch.bfloat16, torch.float16) and query.shape[-1] <= 256 and query.shape[-1] % 8 == 0
