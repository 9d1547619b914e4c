"""A trigram model with interpolated absolute discounting, whose words can be reweighted exactly.

P(w | a b) = kept(w | a b) + rest(a b) · P(w | b). P(w | b) is made likewise from the unigram. ``rest`` is 1 minus the
sum of ``kept`` in that context, so the total stays 1 when n-grams are pruned (Kneser and Ney 1995).

With a factor r(w) for each word, the model becomes P(w | a b) · r(w) / Z(a b). Z is computed exactly for all contexts
at once (unigram rescaling).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from gre_bench.lm.ngram.spelling import look_up

UNKNOWN, END_ID, NEWLINE_ID = range(3)
"""Ids of the first three words of every vocabulary. The context of a text's first word is two newlines."""
_DISCOUNTS = (0.75, 0.8, 0.85)


class _Table:
    """The n-grams of one order, bigrams or trigrams.

    `keys` holds the sorted keys ``context * size + word``, and `kept` the probability of each n-gram's word without
    back-off. `rest` is the probability that each context leaves to the lower order.
    """

    def __init__(self, keys: np.ndarray, kept: np.ndarray, size: int):
        self.keys, self.kept = keys.astype(np.int64), kept.astype(np.float64)
        self.words = self.keys % size
        self.contexts, self.starts = np.unique(self.keys // size, return_index=True)
        self.rest = 1 - np.add.reduceat(self.kept, self.starts)

    def row(self, context: np.ndarray) -> np.ndarray:
        if not len(self.contexts):
            return np.full(len(context), -1)
        index = np.minimum(np.searchsorted(self.contexts, context), len(self.contexts) - 1)
        return np.where(self.contexts[index] == context, index, -1)

    def rests(self, rows: np.ndarray) -> np.ndarray:
        return np.append(self.rest, 1.0)[rows]  # -1, a context never seen, leaves everything to the lower order


class Contexts:
    """The bigram and trigram contexts at each position of a text of word *ids*.

    `keys` holds the contexts' keys, and `rows` their rows in *tables* (-1: never seen). *size* is the number of words
    in the vocabulary.
    """

    def __init__(self, ids: np.ndarray, tables: list[_Table], size: int):
        before = np.concatenate(([NEWLINE_ID], ids[:-1]))
        earlier = np.concatenate(([NEWLINE_ID], before[:-1]))
        self.keys = (before, earlier * size + before)
        self.rows = tuple(table.row(key) for table, key in zip(tables, self.keys, strict=True))


class Backoff:
    """The trigram model, built from the arrays of `backoff_counts`; `size` is the number of words in the vocabulary."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        unigram = arrays["unigram"].astype(np.float64)
        self.size = len(unigram)
        self.unigram = unigram / unigram.sum()
        self.tables = [_Table(arrays[f"keys_{order}"], arrays[f"kept_{order}"], self.size) for order in (2, 3)]
        self.shorter = self.tables[0].row(self.tables[1].contexts % self.size)

    def contexts(self, ids: np.ndarray) -> Contexts:
        """Returns the context at each position of a text of word *ids*."""
        return Contexts(ids, self.tables, self.size)

    def chances(self, words: np.ndarray, contexts: Contexts) -> np.ndarray:
        """Returns P(word | context) at each position of a text, float64; *words* holds the word ids."""
        chance = self.unigram[words]
        for table, key, rows in zip(self.tables, contexts.keys, contexts.rows, strict=True):
            chance = look_up(table.keys, table.kept, key * self.size + words) + table.rests(rows) * chance
        return chance

    def norms(self, factors: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Returns Σ over words w of P(w | context) · ``factors[w]``, the norm of the reweighted model.

        The three parts are the norm without a context, the norm of each bigram context, and the norm of each trigram
        context.
        """
        none = float(self.unigram @ factors)
        two, three = (np.add.reduceat(table.kept * factors[table.words], table.starts) for table in self.tables)
        two = two + self.tables[0].rest * none
        return none, two, three + self.tables[1].rest * np.append(two, none)[self.shorter]

    def norms_at(self, norms: tuple[float, np.ndarray, np.ndarray], contexts: Contexts) -> np.ndarray:
        """Returns the norm at each position of a text: that of the longest context there that the model knows.

        *norms* comes from the method `norms`.
        """
        none, two, three = norms
        second, third = contexts.rows
        return np.where(third >= 0, np.append(three, none)[third], np.append(two, none)[second])

    def expected(self, contexts: Contexts, weights: np.ndarray) -> np.ndarray:
        """Returns Σ over positions of weight · P(w | context) for every word w, an array of length `size`.

        *weights* holds one weight for each position of *contexts*.
        """
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


def backoff_counts(texts: Iterable[np.ndarray], size: int, fewest: int) -> dict[str, np.ndarray]:
    """Counts the n-grams of *texts* and returns the arrays of a `Backoff`.

    Each text is an array of word ids below *size*. N-grams seen fewer than *fewest* times are dropped.
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
