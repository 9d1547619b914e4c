"""Distributions over words that were seen before: earlier in the reply, or in the text that is known.

A word is a number here. Each function answers per place of the reply with P(this word), NaN where its
source holds nothing to copy; over all words each answer sums to 1. All are O(n log n) in the texts.
"""

from __future__ import annotations

import numpy as np

from gre_bench.lm.ngram.spelling import look_up

_PAIR = 1 << 32


def earlier(words: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A word of the reply so far, drawn by *weights* (one a place, equal for equal words)."""
    total = np.concatenate(([0.0], np.cumsum(weights)[:-1]))
    return _ratio(_times_before(words) * weights, total)


def continued(words: np.ndarray, first: int) -> np.ndarray:
    """What followed the word before where that stood earlier in the reply; *first* stands before the first."""
    before = _before(words, first)
    return _ratio(_times_before(before * _PAIR + words), _times_before(before))


class Copies:
    """What can be copied from a known text of *words* with *weights* (one a place)."""

    def __init__(self, words: np.ndarray, weights: np.ndarray, first: int):
        self._first = first
        self._words, place = np.unique(words, return_inverse=True)
        self._weights = np.bincount(place, weights, len(self._words))
        before = _before(words, first)
        self._pairs, self._pair_counts = np.unique(before * _PAIR + words, return_counts=True)
        self._befores, self._before_counts = np.unique(before, return_counts=True)

    def copied(self, reply: np.ndarray) -> np.ndarray:
        """A word of the known text, drawn by weight."""
        return _ratio(look_up(self._words, self._weights, reply), np.full(len(reply), self._weights.sum()))

    def followed(self, reply: np.ndarray) -> np.ndarray:
        """What followed the reply's word before where that stands in the known text."""
        before = _before(reply, self._first)
        count = look_up(self._befores, self._before_counts, before)
        return _ratio(look_up(self._pairs, self._pair_counts, before * _PAIR + reply), count)


def _before(words: np.ndarray, first: int) -> np.ndarray:
    return np.concatenate(([first], words[:-1])).astype(np.int64)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _times_before(keys: np.ndarray) -> np.ndarray:
    """How often each key stands earlier in *keys*."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    places = np.arange(len(keys))
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    times = np.empty(len(keys))
    times[order] = places - np.maximum.accumulate(np.where(new, places, 0))
    return times
