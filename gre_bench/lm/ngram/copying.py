"""The probability that a word of the reply is copied from the earlier reply or from the known text.

Words are integers here. For each position of the reply, the functions return the probability of the word that stands at
that position. The probability is NaN where there is nothing to copy. At every other position, the probabilities of all
possible words sum to 1. The functions take O(n log n) time in the length of the texts.
"""

from __future__ import annotations

import numpy as np

from gre_bench.lm.ngram.spelling import look_up

_PAIR = 1 << 32


def earlier(words: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the probability of each word of a reply if it is copied from a random earlier position of the reply.

    *words* is the reply. An earlier position is chosen in proportion to its entry in *weights*. Equal words must have
    equal weights.
    """
    total = np.concatenate(([0.0], np.cumsum(weights)[:-1]))
    return _ratio(_times_before(words) * weights, total)


def continued(words: np.ndarray, first: int) -> np.ndarray:
    """Returns the probability of each word of a reply if it is a random continuation of the previous word.

    The continuations are the words that followed earlier occurrences of the previous word in the reply. All these
    occurrences are equally likely. *words* is the reply. *first* stands for the word before the reply's first word.
    """
    before = _before(words, first)
    return _ratio(_times_before(before * _PAIR + words), _times_before(before))


class Copies:
    """The probabilities of copying words from a known text.

    - *words*: the words of the known text.
    - *weights*: the weight of each position of the known text.
    - *first*: an integer that stands for the word before the first word of any text.
    """

    def __init__(self, words: np.ndarray, weights: np.ndarray, first: int):
        self._first = first
        self._words, index = np.unique(words, return_inverse=True)
        self._weights = np.bincount(index, weights, len(self._words))
        before = _before(words, first)
        self._pairs, self._pair_counts = np.unique(before * _PAIR + words, return_counts=True)
        self._befores, self._before_counts = np.unique(before, return_counts=True)

    def copied(self, reply: np.ndarray) -> np.ndarray:
        """Returns the probability of each word of *reply* if it is copied from a random position of the known text.

        A position of the known text is chosen in proportion to its weight.
        """
        return _ratio(look_up(self._words, self._weights, reply), np.full(len(reply), self._weights.sum()))

    def followed(self, reply: np.ndarray) -> np.ndarray:
        """Returns the probability of each word of *reply* if it is a random continuation of the reply's previous word.

        The continuations are the words that follow occurrences of the previous word in the known text. All these
        occurrences are equally likely.
        """
        before = _before(reply, self._first)
        count = look_up(self._befores, self._before_counts, before)
        return _ratio(look_up(self._pairs, self._pair_counts, before * _PAIR + reply), count)


def _before(words: np.ndarray, first: int) -> np.ndarray:
    return np.concatenate(([first], words[:-1])).astype(np.int64)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _times_before(keys: np.ndarray) -> np.ndarray:
    """Returns, for each position of *keys*, the number of earlier positions with the same key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    positions = np.arange(len(keys))
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    times = np.empty(len(keys))
    times[order] = positions - np.maximum.accumulate(np.where(new, positions, 0))
    return times
