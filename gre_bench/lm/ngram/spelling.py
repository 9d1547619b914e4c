"""A character model of spelling, which gives every word outside the vocabulary its own probability.

Each character is predicted from the three characters before it. Witten-Bell interpolation backs off to shorter contexts
and in the end to a uniform distribution over all characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from gre_bench.lm.ngram.segmentation import Alphabet

ORDER = 4
_BLOCK = 1 << 16


class Speller:
    """Computes P(word) as the product of the probabilities of its characters and of the end that follows them.

    A word has at least one character. *characters* and *counts* come from `spelling_counts`. *alphabet* gives the
    number of characters that words can contain.
    """

    def __init__(self, characters: str, counts: Mapping[str, np.ndarray], alphabet: Alphabet):
        self._codes = np.array([ord(character) for character in characters], dtype=np.int64)
        self._size = len(characters) + 2  # plus the word boundary, and one for all unseen characters
        self._flat = 1 / (alphabet.word + 1)
        self._tables = []
        for order in range(1, ORDER + 1):
            keys, seen = counts[f"keys{order}"].astype(np.int64), counts[f"seen{order}"].astype(np.float64)
            contexts, starts = np.unique(keys // self._size, return_index=True)
            kinds = np.diff(np.append(starts, len(keys)))
            self._tables.append((keys, seen, contexts, np.add.reduceat(seen, starts), kinds))
        self._never_empty = -float(np.log1p(-self._next(np.zeros((1, ORDER), dtype=np.int64))[0]))

    def logprobs(self, words: list[str]) -> np.ndarray:
        """Returns the log-probability of each of *words* in nats; no word may be empty or contain A-Z."""
        lengths = np.array([len(word) for word in words])
        ends = np.cumsum(lengths + 1) - 1
        codes = np.frombuffer("\0".join([*words, ""]).encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
        index = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        ids = np.where(self._codes[index] == codes, index + 2, 1)
        ids[ends] = 0
        logs, begins = np.empty(len(ids)), ends - lengths
        word_of = np.repeat(np.arange(len(words)), lengths + 1)
        for low in range(0, len(ids), _BLOCK):
            at = np.arange(low, min(low + _BLOCK, len(ids)))
            steps = at[:, None] - np.arange(ORDER - 1, -1, -1)
            inside = steps >= begins[word_of[at], None]
            logs[at] = np.log(self._next(np.where(inside, ids[np.maximum(steps, 0)], 0)))
        return np.add.reduceat(logs, begins) + self._never_empty

    def _next(self, ids: np.ndarray) -> np.ndarray:
        """Returns P(last character | characters before it) for each row of *ids*, an array of character ids."""
        chance = np.full(len(ids), self._flat)
        key, power = np.zeros(len(ids), dtype=np.int64), 1
        for order, (keys, seen, contexts, totals, kinds) in enumerate(self._tables, start=1):
            key, power = key + ids[:, -order] * power, power * self._size
            total, kind = look_up(contexts, totals, key // self._size), look_up(contexts, kinds, key // self._size)
            count = look_up(keys, seen, key)
            known = total > 0
            chance = np.where(known, (count + kind * chance) / np.where(known, total + kind, 1), chance)
        return chance


def spelling_counts(words: Iterable[str]) -> tuple[str, dict[str, np.ndarray]]:
    """Counts the character n-grams of *words* for a `Speller`.

    Returns the distinct characters of *words* as a sorted string, and the arrays of counts by name.
    """
    words = list(words)
    characters = "".join(sorted(set("".join(words))))
    ids = {character: index + 2 for index, character in enumerate(characters)}
    size, counts = len(characters) + 2, {}
    for order in range(1, ORDER + 1):
        grams: Counter[int] = Counter()
        for word in words:
            row = [*[0] * (order - 1), *[ids[character] for character in word], 0]
            for index in range(order, len(row) + 1):
                grams[sum(value * size**power for power, value in enumerate(reversed(row[index - order : index])))] += 1
        keys = sorted(grams)
        counts[f"keys{order}"] = np.array(keys, dtype=np.int64)
        counts[f"seen{order}"] = np.array([grams[key] for key in keys], dtype=np.int32)
    return characters, counts


def look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns the value of each key in *wanted*; 0 for a key that is not in *keys*.

    *keys* must be sorted. ``values[i]`` is the value of ``keys[i]``.
    """
    if not len(keys):
        return np.zeros(len(wanted))
    index = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[index] == wanted, values[index], 0)
