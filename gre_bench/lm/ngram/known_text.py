"""Computes how much likelier each word of the vocabulary becomes in a reply once a text about the same paper is known.

Each word gets a factor, which multiplies its probability in the trigram model. The logarithm of the factor is a
weighted sum of the word's features:

- For words in the known text: the word's inverse document frequency (piecewise linear), its count, the length of the
  text, and how strongly reviews of one paper share the word.
- For other words: whether the known text contains a word of the same stem.
- For words that belong to topics: how much likelier the topics of the known text make the word.

All other features of a word are zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gre_bench.lm.ngram.segmentation import is_word

KNOTS = np.array([0.3, 1.0, 1.75, 2.5, 3.25, 4.0, 4.75, 5.4])
"""Knots of the piecewise-linear effect of the inverse document frequency, in nats."""
FEATURES = (
    *(f"same_{knot}" for knot in KNOTS),
    *("count", "count_idf", "length", "stem", "stem_idf", "topic_same", "topic_other", "lift"),
)
_TYPICAL_WORDS = 60  # different words in ordinary judgments
_ENDINGS = (
    "izations", "ization", "ations", "ation", "ingly", "ments", "ment", "ness", "ities", "ity", "ively", "ive", "ions",
    "ion", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "al", "s", "e", "y",
)  # fmt: skip
_STEM = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """The tokens of a text as integers.

    - *ids*: the index of each token in the vocabulary; 0 for an unknown word.
    - *words*: the same, except that each distinct unknown word has an integer of its own.
    - *unknown*: the words that are not in the vocabulary, as strings in the order of the text.
    """

    ids: np.ndarray
    words: np.ndarray
    unknown: list[str]


class KnownText:
    """Computes the features (see the module) of each word of *vocabulary* for a known text.

    *arrays* holds document frequencies, topics and lifts, counted over *papers* papers.
    """

    def __init__(self, vocabulary: list[str], arrays: Mapping[str, np.ndarray], papers: int):
        self.words = np.array([is_word(word) for word in vocabulary])
        self.unseen_idf = float(np.log(papers))
        self.idf = np.where(self.words, np.log(papers / np.maximum(arrays["papers_with"], 1)), self.unseen_idf)
        self._hats = _hats(self.idf)
        self._lift = arrays["lift"].astype(np.float64)
        numbers: dict[str, int] = {}
        self._stems = np.array([numbers.setdefault(stem(word), len(numbers)) for word in vocabulary])
        self._stem_numbers = numbers
        self._topical = arrays["topical"].astype(np.int64)
        self._topical_row = np.full(len(vocabulary), -1)
        self._topical_row[self._topical] = np.arange(len(self._topical))
        self._topics_of = arrays["topics_of"].astype(np.float64)
        of_topics = arrays["words_of"].astype(np.float64)
        # P(word | topic) / P(word); divided once more, because rounding has moved the mean of a column away from 1.
        self._words_of = of_topics / (arrays["topic_sizes"].astype(np.float64) @ of_topics)

    def features(self, text: Reading) -> np.ndarray:
        """Returns the features of each word of the vocabulary for the known *text*: shape (vocabulary, `FEATURES`)."""
        ids, counts = np.unique(text.ids, return_counts=True)
        counts, ids = counts[self.words[ids]], ids[self.words[ids]]
        columns = np.zeros((len(FEATURES), len(self.words)))
        same, rest = np.zeros(len(self.words), dtype=bool), columns[len(KNOTS) :]
        same[ids] = True
        columns[: len(KNOTS), ids] = self._hats[ids].T
        rest[0, ids] = np.log(counts)
        rest[1, ids] = np.log(counts) * self.idf[ids] / 4
        rest[2, ids] = np.log(max(len(ids), 1) / _TYPICAL_WORDS)
        shared = np.zeros(len(self._stem_numbers), dtype=bool)
        shared[self._stems[ids]] = True
        shared[[self._stem_numbers[root] for root in map(stem, text.unknown) if root in self._stem_numbers]] = True
        rest[3] = shared[self._stems] & self.words & ~same
        rest[4] = rest[3] * self.idf / 4
        rest[7, ids] = self._lift[ids]
        topical = ids[(self._topical_row[ids] >= 0) & (self.idf[ids] > 0)]
        if len(topical):
            topics = self.idf[topical] @ self._topics_of[self._topical_row[topical]]
            ratio = np.log(topics / topics.sum() @ self._words_of)
            rest[5, self._topical] = np.where(same[self._topical], ratio, 0)
            rest[6, self._topical] = np.where(same[self._topical], 0, ratio)
        return columns.T

    def copy_weights(self, text: Reading) -> np.ndarray:
        """Returns the weight of each token of *text* for copying: a word's inverse document frequency in nats, or 0."""
        words = self.words[text.ids]
        words[text.ids == 0] = [is_word(word) for word in text.unknown]
        return np.where(words, np.where(text.ids == 0, self.unseen_idf, self.idf[text.ids]), 0.0)


def stem(word: str) -> str:
    """Returns *word* without the longest of `_ENDINGS` that can be removed so that at least four characters remain."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word


def _hats(values: np.ndarray) -> np.ndarray:
    """Returns the piecewise-linear basis over `KNOTS` at *values*: shape (values, knots).

    The entries of the two knots around the value sum to 1; all others are 0.
    """
    values = np.clip(values, KNOTS[0], KNOTS[-1])
    left = np.clip(np.searchsorted(KNOTS, values, side="right") - 1, 0, len(KNOTS) - 2)
    share = (values - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    hats = np.zeros((len(values), len(KNOTS)))
    rows = np.arange(len(values))
    hats[rows, left], hats[rows, left + 1] = 1 - share, share
    return hats
