"""Conversations as a trie of token ids, cut into packs: what each forward reads, keeps for the next, and answers.

Conversations of one paper share much: the system prompt, a synopsis, a first review. In the trie each shared token
stands once. Its tokens lie in depth-first order, so that the descendants of a token are one range behind it, and the
sorted conversations need no tree: a conversation adds to the one before it what the two do not share.

A pack is a range of that order. What its tokens attend to further ahead are the ancestors of its first token, a
single path, whose keys and values the packs before have kept: no token is ever read twice.
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
    """Tokens ``start:stop`` without a branch between; what hangs below them is ``stop:end``."""

    start: int
    stop: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """Tokens ``asking`` (start, stop; places in the pack) that attend to all keys ``told`` (places among the keys)."""

    asking: tuple[int, int]
    told: tuple[int, int]
    level: int


@dataclass(frozen=True, slots=True)
class Pack:
    """One forward over *ids* at *depths* (places in their conversations).

    Its keys are those of the *kept* tokens, then its own. *own*: ranges of tokens that attend to themselves causally;
    *links*: to what else they attend, links of one *level* having no token in common. *keep*: places among the keys
    that the next pack needs. The answers are the log-probabilities of *targets* after the tokens *rows*, to be put
    into *slots*.
    """

    ids: np.ndarray
    depths: np.ndarray
    kept: int
    own: tuple[tuple[int, int], ...]
    links: tuple[Link, ...]
    keep: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    slots: np.ndarray
    start: int
    stop: int

    @property
    def longest(self) -> int:
        """Tokens of the longest beginning of a conversation in the pack."""
        return int(self.depths.max()) + 1


class TokenTrie:
    """The trie of *conversations*, their last tokens left out: those are predicted, never read.

    *ids* and *depths* of its tokens; *sizes* of the conversations' spans; *rows*, *targets* and *slots* as in `Pack`.
    """

    def __init__(self, conversations: Sequence[Conversation]):
        order = sorted(range(len(conversations)), key=lambda number: conversations[number].ids)
        read = [conversations[number].ids[: conversations[number].last] for number in order]
        shared = [0, *(_shared(one, other) for one, other in pairwise(read))]
        self.sizes = [one.last - one.first + 1 for one in conversations]
        offsets = [0, *accumulate(self.sizes)]
        ids: list[int] = []
        depths: list[int] = []
        heads = set()
        path = np.zeros(0, dtype=np.int64)
        rows, targets, slots = [], [], []
        for number, tokens, common in zip(order, read, shared, strict=True):
            heads.add(len(ids))
            heads.update(path[common : common + 1].tolist())
            path = np.concatenate([path[:common], np.arange(len(ids), len(ids) + len(tokens) - common)])
            ids += tokens[common:]
            depths += range(common, len(tokens))
            asked = conversations[number]
            rows.append(path[asked.first - 1 : asked.last])
            targets.append(np.array(asked.ids[asked.first :]))
            slots.append(np.arange(offsets[number], offsets[number + 1]))
        self.ids, self.depths = np.array(ids), np.array(depths)
        self.segments = _segments(sorted(heads - {len(ids)}), depths)
        self._starts, self._stops, self._ends = np.array([(one.start, one.stop, one.end) for one in self.segments]).T
        by_row = np.argsort(np.concatenate(rows), kind="stable")
        self.rows, self.targets, self.slots = (np.concatenate(each)[by_row] for each in (rows, targets, slots))

    def __len__(self) -> int:
        return len(self.ids)

    def packs(self, budget: int) -> list[Pack]:
        """The whole trie in packs of equal size, *budget* tokens at most."""
        count = ceil(len(self) / budget)
        return [self.pack(len(self) * n // count, len(self) * (n + 1) // count) for n in range(count)]

    def pack(self, start: int, stop: int) -> Pack:
        """The tokens ``start:stop`` as a forward."""
        kept = self._above(start)
        places = np.concatenate([np.arange(*each) for each in (*kept, (start, stop))])
        ahead = [np.arange(*each) for each in self._above(stop)] if stop < len(self) else []
        own, links = self._attention(start, stop, kept)
        first, last = np.searchsorted(self.rows, [start, stop])
        return Pack(
            self.ids[start:stop], self.depths[start:stop], len(places) - (stop - start), own, links,
            np.searchsorted(places, np.concatenate(ahead)) if ahead else np.zeros(0, dtype=np.int64),
            self.rows[first:last] - start, self.targets[first:last], self.slots[first:last], start, stop,
        )  # fmt: skip

    def _above(self, token: int) -> list[tuple[int, int]]:
        """The ancestors of *token*, as ranges."""
        above = np.flatnonzero((self._starts < token) & (token < self._ends))
        return [(int(self._starts[place]), min(int(self._stops[place]), token)) for place in above]

    def _attention(
        self, start: int, stop: int, kept: Sequence[tuple[int, int]]
    ) -> tuple[tuple[tuple[int, int], ...], tuple[Link, ...]]:
        links: list[Link] = []
        key = 0
        for first, last in kept:
            end = int(self._ends[np.searchsorted(self._starts, first)])
            asking = (0, min(end, stop) - start)
            if links and links[-1].asking == asking:
                links[-1] = Link(asking, (links[-1].told[0], key + last - first), links[-1].level)
            else:
                links.append(Link(asking, (key, key + last - first), len(links)))
            key += last - first
        own, above = [], list(links)
        here = slice(np.searchsorted(self._stops, start, "right"), np.searchsorted(self._starts, stop, "left"))
        for one in self.segments[here]:
            first, last, end = max(one.start, start), min(one.stop, stop), min(one.end, stop)
            own.append((first - start, last - start))
            while above and above[-1].asking[1] <= first - start:
                above.pop()
            if end > last:
                link = Link((last - start, end - start), (key + first - start, key + last - start), len(above))
                links.append(link)
                above.append(link)
        return tuple(own), tuple(links)


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens *one* and *other* begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _segments(heads: Sequence[int], depths: Sequence[int]) -> list[Segment]:
    """Segments beginning at *heads*: each ends where the next begins, what is below it where one as high up begins."""
    ends = [len(depths)] * len(heads)
    above: list[int] = []
    for number, head in enumerate(heads):
        while above and depths[heads[above[-1]]] >= depths[head]:
            ends[above.pop()] = head
        above.append(number)
    stops = [*heads[1:], len(depths)]
    return [Segment(*each) for each in zip(heads, stops, ends, strict=True)]
