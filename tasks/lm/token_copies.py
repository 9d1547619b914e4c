"""What may be copied from known texts, token by token: distributions over token ids, and how far a reply follows them.

Three sources: any token of the known texts, drawn by weight; what followed the reply's token before where that stands
in them; what followed its two tokens before. Each answers per place of the reply with P(this token), NaN where it
has nothing to copy; over all tokens each answer sums to 1. All are O(n log n) in the texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.lm.spelling import look_up

START = -1
"""Stands before the first token of each text."""
SOURCES = ("drawn", "after one token", "after two tokens")
LEVELS = (1.0, 2.5, 4.0)
"""Inverse document frequencies, in nats, between which a token followed is told from a rarer one."""
PLACES = 1 + 2 * (len(LEVELS) + 1)
"""Kinds of places in a reply: the token before is not known; it is, by level; the two before are, by level."""
_PAIR = 1 << 32


class TokenCopies:
    """Copies from the known *texts* (token ids of each), with the *idf* of every token id and its *weights* as drawn."""

    def __init__(self, texts: Sequence[np.ndarray], idf: np.ndarray, weights: np.ndarray):
        self._idf = idf
        words = np.concatenate(texts) if texts else np.zeros(0, dtype=np.int64)
        one, two = (np.concatenate(parts) if texts else words for parts in zip(*map(_contexts, texts), strict=True)) \
            if texts else (words, words)
        self._words, place = np.unique(words, return_inverse=True)
        self._weights = np.bincount(place, weights[words], len(self._words))
        self._after_one, self._after_two = _Followed(one, words), _Followed(two, words)

    def chances(self, reply: np.ndarray) -> np.ndarray:
        """P(token) by source and place of *reply*, (3, n)."""
        one, two = _contexts(reply)
        total = self._weights.sum()
        drawn = look_up(self._words, self._weights, reply) / total if total > 0 else np.full(len(reply), np.nan)
        return np.stack([drawn, self._after_one.chances(one, reply), self._after_two.chances(two, reply)])

    def places(self, reply: np.ndarray) -> np.ndarray:
        """The kind of each place of *reply* (n), told by what stands before it alone."""
        one, two = _contexts(reply)
        level = np.where(one == START, 0, np.digitize(self._idf[np.maximum(one, 0)], LEVELS))
        longer = self._after_two.knows(two) & (one != START)
        return np.where(self._after_one.knows(one), 1 + level + longer * (len(LEVELS) + 1), 0)


class _Followed:
    """How often which word followed which context."""

    def __init__(self, contexts: np.ndarray, words: np.ndarray):
        self._contexts, place, self._counts = np.unique(contexts, return_inverse=True, return_counts=True)
        self._pairs, self._pair_counts = np.unique(place * _PAIR + words, return_counts=True)

    def knows(self, contexts: np.ndarray) -> np.ndarray:
        return look_up(self._contexts, self._counts, contexts) > 0

    def chances(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        if not len(self._contexts):
            return np.full(len(words), np.nan)
        place = np.minimum(np.searchsorted(self._contexts, contexts), len(self._contexts) - 1)
        known = self._contexts[place] == contexts
        counts = look_up(self._pairs, self._pair_counts, place * _PAIR + words)
        return np.where(known, counts / self._counts[place], np.nan)


def _contexts(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each of *words* the one before, and the two before as one number."""
    padded = np.concatenate(([START, START], words)).astype(np.int64)
    return padded[1:-1], (padded[:-2] + 1) * _PAIR + padded[1:-1] + 1
