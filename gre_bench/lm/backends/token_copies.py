"""What may be copied from known texts, token by token: distributions over token ids, and how far a reply follows them.

Five sources: any token of the known texts, drawn by weight; what followed the reply's token before where that stands
in them; what followed its two tokens before; and the first two again between tokens that are alike (another ending,
a capital, no space in front). Each answers per place of the reply with P(this token), NaN where it has nothing to
copy; over all tokens each answer sums to 1. All are O(n log n) in the texts. The reply's own earlier tokens are such
a text as well, that grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.lm.ngram.copying import earlier, followed, times_before
from gre_bench.lm.ngram.known_text import stem
from gre_bench.lm.ngram.spelling import look_up

SOURCES = ("drawn", "after one token", "after two tokens", "drawn alike", "after one alike")
OWN_SOURCES = ("earlier in the reply", "after one token earlier", "after two tokens earlier")
LEVELS = (1.0, 2.5, 4.0)
"""Inverse document frequencies, in nats, between which a token followed is told from a rarer one."""
PLACES = 1 + 2 * (len(LEVELS) + 1)
"""Kinds of places in a reply: the token before is not known; it is, by level; the two before are, by level."""
_START = -1
_PAIR = 1 << 32


@dataclass(frozen=True, slots=True)
class Tokens:
    """What is known of each token id: its *idf* (nats), its *weight* when drawn, the number of those it is *alike*,
    and its *share* among them, P(token | one of those alike)."""

    idf: np.ndarray
    weight: np.ndarray
    alike: np.ndarray
    share: np.ndarray


class TokenCopies:
    """Copies from the known *texts*, token ids of each."""

    def __init__(self, texts: Sequence[np.ndarray], tokens: Tokens):
        self._tokens = tokens
        nothing = np.zeros(0, dtype=np.int64)
        contexts = [_contexts(text) for text in texts]
        words = np.concatenate([nothing, *texts])
        one = np.concatenate([nothing, *(before for before, _ in contexts)])
        two = np.concatenate([nothing, *(before for _, before in contexts)])
        weights = tokens.weight[words]
        self._drawn, self._drawn_alike = _Drawn(words, weights), _Drawn(tokens.alike[words], weights)
        self._after_one, self._after_two = _Followed(one, words), _Followed(two, words)
        self._after_alike = _Followed(self._alike(one), tokens.alike[words])

    def chances(self, reply: np.ndarray) -> np.ndarray:
        """P(token) by source and place of *reply*, (5, n)."""
        one, two = _contexts(reply)
        alike, share = self._tokens.alike[reply], self._tokens.share[reply]
        return np.stack(
            [
                self._drawn.chances(reply),
                self._after_one.chances(one, reply),
                self._after_two.chances(two, reply),
                self._drawn_alike.chances(alike) * share,
                self._after_alike.chances(self._alike(one), alike) * share,
            ]
        )

    def places(self, reply: np.ndarray) -> np.ndarray:
        """The kind of each place of *reply* (n), told by what stands before it alone."""
        one, two = _contexts(reply)
        return _kinds(one, self._after_one.knows(one), self._after_two.knows(two), self._tokens)

    def _alike(self, before: np.ndarray) -> np.ndarray:
        return np.where(before == _START, _START, self._tokens.alike[np.maximum(before, 0)])


def own_chances(reply: np.ndarray, tokens: Tokens) -> np.ndarray:
    """P(token) by `OWN_SOURCES` and place of *reply*, (3, n)."""
    one, two = _contexts(reply)
    numbered = np.unique(two, return_inverse=True)[1]
    return np.stack([earlier(reply, tokens.weight[reply]), followed(one, reply), followed(numbered, reply)])


def own_places(reply: np.ndarray, tokens: Tokens) -> np.ndarray:
    """The kind of each place of *reply* (n), what is known being the reply so far."""
    one, two = _contexts(reply)
    return _kinds(one, times_before(one) > 0, times_before(two) > 0, tokens)


def _kinds(before: np.ndarray, one: np.ndarray, two: np.ndarray, tokens: Tokens) -> np.ndarray:
    level = np.where(before == _START, 0, np.digitize(tokens.idf[np.maximum(before, 0)], LEVELS))
    longer = two & (before != _START)
    return np.where(one, 1 + level + longer * (len(LEVELS) + 1), 0)


def likeness(signs: Sequence[str], counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``alike`` and ``share`` of the tokens written *signs*, which stand *counts* times in some texts.

    Alike are tokens that are one word but for blanks in front, capitals, and, where a word starts, its ending.
    """
    numbers: dict[str, int] = {}
    alike = np.array([numbers.setdefault(_root(sign), len(numbers)) for sign in signs], dtype=np.int32)
    seen = counts + 0.5
    return alike, seen / np.bincount(alike, seen)[alike]


def _root(sign: str) -> str:
    word = sign.lstrip("\u0120\u2581 ")
    starts = len(word) < len(sign)
    return stem(word.lower()) if starts and word.isalpha() else word.lower() or sign


class _Drawn:
    """Words drawn by weight."""

    def __init__(self, words: np.ndarray, weights: np.ndarray):
        self._words, place = np.unique(words, return_inverse=True)
        self._weights = np.bincount(place, weights, len(self._words))
        self._total = self._weights.sum()

    def chances(self, words: np.ndarray) -> np.ndarray:
        if self._total <= 0:
            return np.full(len(words), np.nan)
        return look_up(self._words, self._weights, words) / self._total


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
    padded = np.concatenate(([_START, _START], words)).astype(np.int64)
    return padded[1:-1], (padded[:-2] + 1) * _PAIR + padded[1:-1] + 1
