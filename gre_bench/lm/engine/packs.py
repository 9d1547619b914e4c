"""Stores conversations as a trie of token ids and cuts it into packs, one for each forward pass.

Conversations about one paper share the system prompt, a synopsis and often the given review. The trie stores each
shared prefix once. The conversations are sorted, and each adds only the tokens that follow the prefix it shares with
the previous one. This numbers the trie's tokens in depth-first order, so the descendants of a token directly follow it.

A pack is a range of tokens in depth-first order. A token attends to its ancestors and itself. If some ancestors are in
earlier packs, their keys and values are kept. The model therefore reads no token twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

import numpy as np

from gre_bench.lm.span import Conversation


@dataclass(frozen=True, slots=True)
class Segment:
    """A run ``start:stop`` of tokens of the trie, in which each token except the last has exactly one child.

    The descendants of the run's last token are the tokens ``stop:end``.
    """

    start: int
    stop: int
    end: int


@dataclass(frozen=True, slots=True)
class AttentionLink:
    """A range of a pack's tokens, *queries*, and a range of *keys* (see `Pack`) to which each of these tokens attends.

    *level*: the number of other links by which these tokens attend to keys nearer to the root of the trie.
    """

    queries: tuple[int, int]
    keys: tuple[int, int]
    level: int


@dataclass(frozen=True, slots=True)
class Pack:
    """The input and the attention pattern of one forward pass over the tokens ``start:stop`` of a trie.

    Tokens are given as indices of the pack's tokens. Keys are given as indices of the pack's keys: the keys kept from
    earlier packs, followed by one key for each token of the pack.

    - *depths*: the position of each token in its conversation, from 0.
    - *kept*: the number of keys kept from earlier packs. *keep*: the keys that the next pack needs.
    - *own_ranges*: ranges (start, stop) into which the pack's tokens are divided. A token attends to itself and to the
      earlier tokens of its range.
    - *links*: the other keys to which tokens attend. Two links of the same level have no token in common.
    - *rows*, *targets*: the pass returns the log-probability that token id ``targets[i]`` follows token ``rows[i]``.
    - *logprob_indices*: the pass's ``i``-th log-probability belongs at index ``logprob_indices[i]`` of the array for
      all spans.
    """

    ids: np.ndarray
    depths: np.ndarray
    kept: int
    own_ranges: tuple[tuple[int, int], ...]
    links: tuple[AttentionLink, ...]
    keep: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    logprob_indices: np.ndarray
    start: int
    stop: int

    @property
    def longest(self) -> int:
        """The length of the longest conversation prefix that ends in the pack, in tokens."""
        return int(self.depths.max()) + 1

    def list_visible_key_ranges(self) -> list[list[tuple[int, int]]]:
        """Returns for each range in `own_ranges` the ranges of keys to which its tokens attend.

        The ranges of keys are in the order from the trie's root down.
        """
        return [
            [
                *(link.keys for link in self.links if link.queries[0] <= start < link.queries[1]),
                (start + self.kept, stop + self.kept),
            ]
            for start, stop in self.own_ranges
        ]


class TokenTrie:
    """A trie of the token ids of *conversations*, each without its last token: no scored token follows that one.

    `sizes`: the number of tokens to score in each conversation. `slots`: as *logprob_indices* in `Pack`. The other
    arrays: as in `Pack`, for the whole trie.
    """

    def __init__(self, conversations: Sequence[Conversation]):
        order = sorted(range(len(conversations)), key=lambda number: conversations[number].ids)
        read = [conversations[number].ids[: conversations[number].last] for number in order]
        shared = [0, *(_shared_prefix_length(first, second) for first, second in pairwise(read))]
        self.sizes = [conversation.last - conversation.first + 1 for conversation in conversations]
        offsets = [0, *accumulate(self.sizes)]
        ids, depths, heads = list[int](), list[int](), set[int]()
        path = np.zeros(0, dtype=np.int64)
        rows, targets, slots = [], [], []
        for number, tokens, common in zip(order, read, shared, strict=True):
            heads.add(len(ids))
            heads.update(path[common : common + 1].tolist())
            path = np.concatenate([path[:common], np.arange(len(ids), len(ids) + len(tokens) - common)])
            ids += tokens[common:]
            depths += range(common, len(tokens))
            conversation = conversations[number]
            rows.append(path[conversation.first - 1 : conversation.last])
            targets.append(np.array(conversation.ids[conversation.first :]))
            slots.append(np.arange(offsets[number], offsets[number + 1]))
        self.ids, self.depths = np.array(ids), np.array(depths)
        self.segments = _split_into_segments(sorted(heads - {len(ids)}), depths)
        self._starts, self._stops, self._ends = np.array([(s.start, s.stop, s.end) for s in self.segments]).T
        by_row = np.argsort(np.concatenate(rows), kind="stable")
        self.rows, self.targets, self.slots = (np.concatenate(each)[by_row] for each in (rows, targets, slots))

    def __len__(self) -> int:
        return len(self.ids)

    def packs(self, budget: int) -> list[Pack]:
        """Cuts the whole trie into packs of nearly equal size, of at most *budget* tokens each."""
        count = ceil(len(self) / budget)
        return [self.pack(len(self) * n // count, len(self) * (n + 1) // count) for n in range(count)]

    def pack(self, start: int, stop: int) -> Pack:
        kept = self._find_ancestor_ranges(start)
        keys = np.concatenate([np.arange(*each) for each in (*kept, (start, stop))])
        ahead = [np.arange(*each) for each in self._find_ancestor_ranges(stop)] if stop < len(self) else []
        own, links = self._build_attention_pattern(start, stop, kept)
        first, last = np.searchsorted(self.rows, [start, stop])
        return Pack(
            self.ids[start:stop], self.depths[start:stop], len(keys) - (stop - start), own, links,
            np.searchsorted(keys, np.concatenate(ahead)) if ahead else np.zeros(0, dtype=np.int64),
            self.rows[first:last] - start, self.targets[first:last], self.slots[first:last], start, stop,
        )  # fmt: skip

    def _find_ancestor_ranges(self, token: int) -> list[tuple[int, int]]:
        """Returns the ancestors of *token* as ranges (start, stop) of the trie's tokens, from its root downwards."""
        above = np.flatnonzero((self._starts < token) & (token < self._ends))
        return [(int(self._starts[index]), min(int(self._stops[index]), token)) for index in above]

    def _build_attention_pattern(
        self, start: int, stop: int, kept: Sequence[tuple[int, int]]
    ) -> tuple[tuple[tuple[int, int], ...], tuple[AttentionLink, ...]]:
        links: list[AttentionLink] = []
        key = 0
        for first, last in kept:
            end = int(self._ends[np.searchsorted(self._starts, first)])
            queries = (0, min(end, stop) - start)
            if links and links[-1].queries == queries:
                links[-1] = AttentionLink(queries, (links[-1].keys[0], key + last - first), links[-1].level)
            else:
                links.append(AttentionLink(queries, (key, key + last - first), len(links)))
            key += last - first
        own, above = [], list(links)
        overlapping = slice(np.searchsorted(self._stops, start, "right"), np.searchsorted(self._starts, stop, "left"))
        for segment in self.segments[overlapping]:
            first, last, end = max(segment.start, start), min(segment.stop, stop), min(segment.end, stop)
            own.append((first - start, last - start))
            while above and above[-1].queries[1] <= first - start:
                above.pop()
            if end > last:
                link = AttentionLink((last - start, end - start), (key + first - start, key + last - start), len(above))
                links.append(link)
                above.append(link)
        return tuple(own), tuple(links)


def _shared_prefix_length(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Returns the length of the longest common prefix, by bisection."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[low:middle] == second[low:middle] else (low, middle - 1)
    return low


def _split_into_segments(heads: Sequence[int], depths: Sequence[int]) -> list[Segment]:
    """Divides a trie's tokens into segments. *heads*: each segment's first token. *depths*: each token's depth.

    A segment stops where the next begins. Its descendants are the segments that follow, up to the first that begins no
    deeper than it does.
    """
    ends = [len(depths)] * len(heads)
    above: list[int] = []
    for number, head in enumerate(heads):
        while above and depths[heads[above[-1]]] >= depths[head]:
            ends[above.pop()] = head
        above.append(number)
    stops = [*heads[1:], len(depths)]
    return [Segment(*each) for each in zip(heads, stops, ends, strict=True)]
