"""Distributions over words that occurred before: earlier in the reply, or in the known text.

Words are numbers here. Each function returns P(this word) for each position of the reply, NaN where its source has
nothing to copy. Over all words, each distribution sums to 1. All take O(n log n) time in the length of the texts.
"""

from __future__ import annotations

import numpy as np

from gre_bench.lm.ngram.spelling import look_up

_PAIR = 1 << 32


def earlier(words: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns P(word) by sampling from the reply so far with *weights* (one per position, equal for equal words)."""
    total = np.concatenate(([0.0], np.cumsum(weights)[:-1]))
    return _ratio(_times_before(words) * weights, total)


def continued(words: np.ndarray, first: int) -> np.ndarray:
    """Returns P(word) by what followed the previous word earlier in the reply; *first* precedes the first word."""
    before = _before(words, first)
    return _ratio(_times_before(before * _PAIR + words), _times_before(before))


class Copies:
    """What can be copied from a known text of *words* with *weights*, both one per position."""

    def __init__(self, words: np.ndarray, weights: np.ndarray, first: int):
        self._first = first
        self._words, index = np.unique(words, return_inverse=True)
        self._weights = np.bincount(index, weights, len(self._words))
        before = _before(words, first)
        self._pairs, self._pair_counts = np.unique(before * _PAIR + words, return_counts=True)
        self._befores, self._before_counts = np.unique(before, return_counts=True)

    def copied(self, reply: np.ndarray) -> np.ndarray:
        """Returns P(word) by sampling a word of the known text with its weight."""
        return _ratio(look_up(self._words, self._weights, reply), np.full(len(reply), self._weights.sum()))

    def followed(self, reply: np.ndarray) -> np.ndarray:
        """Returns P(word) by what follows the reply's previous word in the known text."""
        before = _before(reply, self._first)
        count = look_up(self._befores, self._before_counts, before)
        return _ratio(look_up(self._pairs, self._pair_counts, before * _PAIR + reply), count)


def _before(words: np.ndarray, first: int) -> np.ndarray:
    return np.concatenate(([first], words[:-1])).astype(np.int64)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _times_before(keys: np.ndarray) -> np.ndarray:
    """Counts how often each key occurs earlier in *keys*."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    positions = np.arange(len(keys))
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    times = np.empty(len(keys))
    times[order] = positions - np.maximum.accumulate(np.where(new, positions, 0))
    return times
