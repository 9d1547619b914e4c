"""Computes the probabilities of a reply's words, with a trigram model and by copying words that came before.

The trigram model uses interpolated absolute discounting:

    P(w | a b) = kept(w | a b) + rest(a b) · P(w | b)

Here, a and b are the two words before w. P(w | b) is computed from P(w) in the same way. ``kept`` is the share of the
context's occurrences that w follows, less a discount; it is 0 for a trigram that is not in the model. ``rest`` is 1
minus the sum of ``kept`` over all words in that context. The probabilities therefore sum to 1 even if rare n-grams are
dropped (Kneser and Ney 1995).

To reweight the model, each word w gets a factor r(w). The probability becomes P(w | a b) · r(w) / Z(a b). The norm
Z(a b) makes the probabilities sum to 1 (unigram rescaling).

A word of the reply may be copied from the part of the reply before it, or from the known text: the text that the LM has
read before the reply (see `gre_bench.lm.ngram.cache_ngram`). The copying functions return the probability of the
reply's word at each position, or NaN where there is nothing to copy. At every other position, the probabilities of all
possible words sum to 1. Words are integers here. For texts of n words, these functions take O(n log n) time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from gre_bench.lm.ngram.segmentation import look_up_values_or_zero

UNKNOWN, END_ID, NEWLINE_ID = range(3)
"""The ids of the unknown word, the end of the text and the newline. Two newlines are the context of the first word."""
_DISCOUNTS = (0.75, 0.8, 0.85)
_PAIR = 1 << 32


class _NgramTable:
    """The n-grams of one order (bigrams or trigrams) over a vocabulary of *size* words.

    The context of a bigram is the id of its first word; the context of a trigram that begins with a and b is ``a * size
    + b``.

    - `keys`: the n-grams in ascending order, each as the integer ``context * size + word``; `words`: their last words.
    - `kept`: the value of ``kept`` in the module's formula for each n-gram.
    - `contexts`: the contexts in ascending order. `rest`: the value of ``rest`` in that formula for each context.
    """

    def __init__(self, keys: np.ndarray, kept: np.ndarray, size: int):
        self.keys, self.kept = keys.astype(np.int64), kept.astype(np.float64)
        self.words = self.keys % size
        self.contexts, self.starts = np.unique(self.keys // size, return_index=True)
        self.rest = 1 - np.add.reduceat(self.kept, self.starts)

    def find_rows(self, context: np.ndarray) -> np.ndarray:
        if not len(self.contexts):
            return np.full(len(context), -1)
        index = np.minimum(np.searchsorted(self.contexts, context), len(self.contexts) - 1)
        return np.where(self.contexts[index] == context, index, -1)

    def collect_ngrams_of_rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns the n-grams of the contexts with the indices *rows*, as the four arrays of `NgramContexts.kept`."""
        known = np.flatnonzero(rows >= 0)
        distinct, row_of = np.unique(rows[known], return_inverse=True)
        lengths = np.append(self.starts, len(self.keys))[distinct + 1] - self.starts[distinct]
        starts = np.cumsum(lengths) - lengths
        keys = np.arange(lengths.sum()) + np.repeat(self.starts[distinct] - starts, lengths)
        return known, keys, starts, row_of

    def get_backoff_weights(self, rows: np.ndarray) -> np.ndarray:
        return np.append(self.rest, 1.0)[rows]  # after an unseen context (-1), only the lower order counts


class NgramContexts:
    """The two contexts at each position of a text with the word ids *ids*: the preceding word, and the preceding two.

    - `keys`: the bigram and the trigram context at each position (see `_NgramTable`), as integers.
    - `rows`: the index of each context in ``contexts`` of its table; -1 if the table lacks it.
    - `kept`: for each table, four arrays. They list the n-grams of every distinct context of the text in the table:

      1. the positions whose context is in the table;
      2. the n-grams, context by context, as indices into the table's ``keys``;
      3. the index in array 2 at which the n-grams of each context start;
      4. for each position in array 1, the index of its context in array 3.
    """

    def __init__(self, ids: np.ndarray, tables: list[_NgramTable], size: int):
        before = np.concatenate(([NEWLINE_ID], ids[:-1]))
        earlier = np.concatenate(([NEWLINE_ID], before[:-1]))
        self.keys = (before, earlier * size + before)
        self.rows = tuple(table.find_rows(key) for table, key in zip(tables, self.keys, strict=True))
        self.kept = tuple(table.collect_ngrams_of_rows(rows) for table, rows in zip(tables, self.rows, strict=True))


class BackoffTrigramModel:
    """A trigram model of `size` words, made from the arrays of `count_backoff_ngrams`."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        unigram = arrays["unigram"].astype(np.float64)
        self.size = len(unigram)
        self.unigram = unigram / unigram.sum()
        self.tables = [_NgramTable(arrays[f"keys_{order}"], arrays[f"kept_{order}"], self.size) for order in (2, 3)]
        self.shorter = self.tables[0].find_rows(self.tables[1].contexts % self.size)

    def build_contexts(self, ids: np.ndarray) -> NgramContexts:
        return NgramContexts(ids, self.tables, self.size)

    def compute_word_probabilities(self, words: np.ndarray, contexts: NgramContexts) -> np.ndarray:
        """Returns P(word | the two preceding words), float64, for each of the word ids *words*, given its context."""
        chance = self.unigram[words]
        for table, key, rows in zip(self.tables, contexts.keys, contexts.rows, strict=True):
            chance = (
                look_up_values_or_zero(table.keys, table.kept, key * self.size + words)
                + table.get_backoff_weights(rows) * chance
            )
        return chance

    def compute_normalisers(self, factors: np.ndarray, contexts: NgramContexts) -> np.ndarray:
        """Returns Z(context) = Σ_w P(w | context) · ``factors[w]`` at each position.

        The context is the longest one at that position that the model's tables hold.
        """
        norm = np.full(len(contexts.rows[0]), float(self.unigram @ factors))
        for table, rows, (known, keys, starts, row_of) in zip(self.tables, contexts.rows, contexts.kept, strict=True):
            if len(starts):
                sums = np.add.reduceat(table.kept[keys] * factors[table.words[keys]], starts)[row_of]
                norm[known] = sums + table.rest[rows[known]] * norm[known]
        return norm

    def compute_expected_counts(self, contexts: NgramContexts, weights: np.ndarray) -> np.ndarray:
        """Returns Σ_i ``weights[i]`` · P(w | context at position i of a text) for every word w, shape (`size`,)."""
        second, third = contexts.rows
        three = np.bincount(third[third >= 0], weights[third >= 0], len(self.tables[1].contexts))
        only_two = (third < 0) & (second >= 0)
        two = np.bincount(second[only_two], weights[only_two], len(self.tables[0].contexts))
        none = weights[(third < 0) & (second < 0)].sum()
        down, known = three * self.tables[1].rest, self.shorter >= 0
        two = two + np.bincount(self.shorter[known], down[known], len(two))
        none += down[~known].sum() + two @ self.tables[0].rest
        totals = none * self.unigram
        for table, mass in zip(self.tables, (two, three), strict=True):
            per_key = np.repeat(mass, np.diff(np.append(table.starts, len(table.keys))))
            totals += np.bincount(table.words, per_key * table.kept, self.size)
        return totals


def count_backoff_ngrams(texts: Iterable[np.ndarray], size: int, fewest: int) -> dict[str, np.ndarray]:
    """Counts n-grams in *texts* (word ids below *size*); returns the arrays of a `BackoffTrigramModel`.

    N-grams that occur fewer than *fewest* times are left out.
    """
    trigrams: Counter[tuple[int, int, int]] = Counter()
    for ids in texts:
        row = [NEWLINE_ID, NEWLINE_ID, *ids.tolist()]
        trigrams.update(zip(row, row[1:], row[2:], strict=False))
    bigrams = Counter((b, c) for _, b, c in trigrams)
    seen: Counter[tuple[int, int]] = Counter()
    for (_, b, c), count in trigrams.items():
        seen[b, c] += count
    unigrams = Counter(c for _, c in bigrams)
    d1, d2, d3 = _DISCOUNTS
    total = sum(unigrams.values())
    unigram = np.full(size, d1 * len(unigrams) / total / size)
    for word, kinds in unigrams.items():
        unigram[word] += (kinds - d1) / total
    arrays: dict[str, np.ndarray] = {"unigram": unigram.astype(np.float32)}
    two = {b * size + c: (count, seen[b, c]) for (b, c), count in bigrams.items()}
    three = {(a * size + b) * size + c: (count, count) for (a, b, c), count in trigrams.items()}
    for order, grams, discount in ((2, two, d2), (3, three, d3)):
        keys = np.array(sorted(grams), dtype=np.int64)
        counts, times = np.array([grams[key] for key in keys.tolist()], dtype=np.float64).T
        _, starts, sizes = np.unique(keys // size, return_index=True, return_counts=True)
        kept = (counts - discount) / np.repeat(np.add.reduceat(counts, starts), sizes)
        arrays[f"keys_{order}"] = keys[times >= fewest]
        arrays[f"kept_{order}"] = kept[times >= fewest].astype(np.float32)
    return arrays


def compute_probability_of_copies_within_reply(words: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the probability of each word of the reply *words* if it is copied from a random earlier position.

    A position is chosen with a probability proportional to its entry in *weights*. Equal words must have equal weights.
    """
    total = np.concatenate(([0.0], np.cumsum(weights)[:-1]))
    return _divide_or_nan(_count_earlier_equal_keys(words) * weights, total)


def compute_probability_of_continuations(words: np.ndarray, first: int) -> np.ndarray:
    """Returns the probability of each word of the reply *words* if it is a random continuation of the previous word.

    The continuations are the words that followed earlier occurrences of the previous word in the reply; all are equally
    likely. *first* stands for the word before the reply's first word.
    """
    before = _find_preceding_words(words, first)
    return _divide_or_nan(_count_earlier_equal_keys(before * _PAIR + words), _count_earlier_equal_keys(before))


class CopyModel:
    """The probabilities of the words of a reply if they are copied from a known text (see the module's docstring).

    - *words*: (n,) the word ids of the known text.
    - *weights*: (n,) the weight of each position in the known text.
    - *first*: a word id that takes the place of the word before a text's first word, in the known text and in replies.
    """

    def __init__(self, words: np.ndarray, weights: np.ndarray, first: int):
        self._first = first
        self._words, index = np.unique(words, return_inverse=True)
        self._weights = np.bincount(index, weights, len(self._words))
        before = _find_preceding_words(words, first)
        self._pairs, self._pair_counts = np.unique(before * _PAIR + words, return_counts=True)
        self._befores, self._before_counts = np.unique(before, return_counts=True)

    def compute_copy_probability(self, reply: np.ndarray) -> np.ndarray:
        """Returns the probability of each word of *reply* if it is copied from a random position, chosen by weight."""
        return _divide_or_nan(
            look_up_values_or_zero(self._words, self._weights, reply), np.full(len(reply), self._weights.sum())
        )

    def compute_continuation_probability(self, reply: np.ndarray) -> np.ndarray:
        """Returns the probability of each word of *reply* if it is a random continuation of the reply's previous word.

        The continuations are the words that follow that previous word in the known text; all are equally likely.
        """
        before = _find_preceding_words(reply, self._first)
        count = look_up_values_or_zero(self._befores, self._before_counts, before)
        return _divide_or_nan(look_up_values_or_zero(self._pairs, self._pair_counts, before * _PAIR + reply), count)


def _find_preceding_words(words: np.ndarray, first: int) -> np.ndarray:
    return np.concatenate(([first], words[:-1])).astype(np.int64)


def _divide_or_nan(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _count_earlier_equal_keys(keys: np.ndarray) -> np.ndarray:
    """Returns for each of *keys* the number of earlier positions with the same key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    positions = np.arange(len(keys))
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    times = np.empty(len(keys))
    times[order] = positions - np.maximum.accumulate(np.where(new, positions, 0))
    return times
