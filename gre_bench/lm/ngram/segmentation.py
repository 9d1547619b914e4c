"""Splits a text into words, gaps and capitals, and computes the probabilities of gaps, capitals and spellings.

There are four kinds of tokens: a word (a maximal run of letters, digits and underscores), a newline, a mark (any other
visible character), and the end of the text. Each token is preceded by its gap, a run of white space without newlines.
The gap may be empty, except between two words. Every text thus corresponds to exactly one sequence of tokens and gaps.

In a folded token, A-Z are replaced by a-z. A distribution over folded tokens, multiplied by the probabilities of gaps
and capitals, is a distribution over all texts.

A character model gives every word outside the vocabulary its own probability. Each character is predicted from the
three characters before it. Witten-Bell interpolation backs off to shorter contexts, and finally to a uniform
distribution over all characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

END, NEWLINE = "", "\n"
ORDER = 4
_BLOCK = 1 << 16
_TOKEN = re.compile(r"\w+|\n|[^\w\s]")
_NOT_LETTERS = bytes(code for code in range(256) if not 97 <= code <= 122)
_LINE, _WORD, _MARK, _END = range(4)
_LETTER = re.compile(r"[A-Za-z]")
_LOG_HALF = float(np.log(0.5))


@dataclass(frozen=True, slots=True)
class CharacterKindCounts:
    """The number of characters of each kind in Unicode version *unicode*.

    The kinds are *word* (A-Z count as a-z), *space* (white space without the newline), and *mark* (all other visible
    characters).
    """

    word: int
    space: int
    mark: int
    unicode: str = unicodedata.unidata_version


@cache
def count_unicode_characters_by_kind() -> CharacterKindCounts:
    """Counts all Unicode characters by kind, as the running Python classifies them."""
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    word = sum(map(str.isalnum, characters)) + 1  # the underscore
    space = sum(map(str.isspace, characters))
    return CharacterKindCounts(word - 26, space - 1, len(characters) - word - space)


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text split into tokens: the folded tokens, the white space before each, and the tokens as written."""

    words: list[str]
    gaps: list[str]
    written: list[str]


def split_into_tokens(text: str) -> SplitText:
    """Returns the tokens of *text*, with the end of the text last; raises `UnicodeEncodeError` for a lone surrogate."""
    folded = text.encode().lower().decode()  # for bytes, lower() folds only A-Z
    return SplitText([*_TOKEN.findall(folded), END], _TOKEN.split(text), [*_TOKEN.findall(text), END])


def split_into_token_texts(text: str, ids: Sequence[int]) -> list[str] | None:
    """Returns the tokens of *text*, each with its gap; None if *ids* does not hold exactly one id for each token."""
    spelled = split_into_tokens(text)
    pieces = [gap + word for gap, word in zip(spelled.gaps, spelled.written, strict=True)]
    return pieces if len(pieces) == len(ids) else None


def is_word(token: str) -> bool:
    """Whether *token* is a word rather than a mark, a newline or the end of the text."""
    return token[:1].isalnum() or token[:1] == "_"


def count_white_space_and_capitals(texts: Iterable[str]) -> dict[str, np.ndarray]:
    """Counts the kinds of gaps and capitals in *texts*, and adds 1/2 to each count.

    - ``gaps``, shape (3, 4, 3): kind of the token before the gap (line start, word, mark), kind of the token after it
      (newline, word, mark, end), and kind of gap (empty, one space, other).
    - ``capitals``, shape (3, 4): kind of the token before, and kind of capitals (lower, Capital, UPPER, other).
    """
    gaps, capitals = np.full((3, 4, 3), 0.5), np.full((3, 4), 0.5)
    gaps[_WORD, _WORD, 0] = 0
    for text in texts:
        spelled = split_into_tokens(text)
        before, after = _classify_tokens(spelled.words)
        np.add.at(gaps, (before, after, np.array([_classify_gap(gap) for gap in spelled.gaps], dtype=int)), 1)
        kinds, letters = _classify_capitals(spelled)
        np.add.at(capitals, (before[letters > 0], kinds[letters > 0]), 1)
    return {"gaps": gaps, "capitals": capitals}


class GapAndCapitalModel:
    """Computes the log-probabilities of gaps and capitals from *counts*, a result of `count_white_space_and_capitals`.

    The probability of a gap depends on the kinds of the tokens on both sides of it. The probability of capitals depends
    on the kind of the previous token.
    """

    def __init__(self, counts: Mapping[str, np.ndarray], alphabet: CharacterKindCounts):
        with np.errstate(divide="ignore"):
            self._gaps = np.log(counts["gaps"] / counts["gaps"].sum(axis=2, keepdims=True))
            self._capitals = np.log(counts["capitals"] / counts["capitals"].sum(axis=1, keepdims=True))
        self._one_more_space = float(_LOG_HALF - np.log(alphabet.space))

    def logprobs(self, spelled: SplitText) -> np.ndarray:
        """Returns for each token the log-probability of its gap plus the log-probability of its capitals, in nats."""
        before, after = _classify_tokens(spelled.words)
        # A gap is empty, one space, or a random string of white space whose length is geometric with parameter 1/2. If
        # the same gap can arise in several ways, their probabilities are added.
        kinds = np.array([_classify_gap(gap) for gap in spelled.gaps])
        lengths = np.array([len(gap) for gap in spelled.gaps])
        stop = np.where((before == _WORD) & (after == _WORD), 0.0, _LOG_HALF)
        anything = self._gaps[before, after, 2] + lengths * self._one_more_space + stop
        plain = [len(gap) < 2 and gap in " " for gap in spelled.gaps]
        gaps = np.logaddexp(anything, np.where(plain, self._gaps[before, after, kinds], -np.inf))
        # Capitals are lower, Capital, UPPER, or a random pattern with probability 1/2 for each letter; added likewise.
        kinds, letters = _classify_capitals(spelled)
        anything = self._capitals[before, 3] + letters * _LOG_HALF
        logs = np.logaddexp(anything, np.where(kinds < 3, self._capitals[before, kinds], -np.inf))
        both = np.logaddexp(logs, self._capitals[before, 1])
        return gaps + np.where(letters == 0, 0.0, np.where((letters == 1) & (kinds == 2), both, logs))


def _classify_tokens(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each token the kind of the previous token, and the token's own kind.

    The kinds are line start or newline (0), word (1), mark (2) and, for the token itself, end (3).
    """
    after = np.array([_WORD if is_word(word) else _LINE if word == NEWLINE else _MARK for word in words])
    before = np.concatenate(([_LINE], after[:-1]))
    after[-1] = _END
    return before, after


def _classify_gap(gap: str) -> int:
    return {"": 0, " ": 1}.get(gap, 2)


def _classify_capitals(spelled: SplitText) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each token its kind of capitals, and its number of ASCII letters.

    The kinds are 0 (lower), 1 (Capital), 2 (UPPER) and 3 (any other pattern).
    """
    letters = np.array([len(word.encode().translate(None, _NOT_LETTERS)) for word in spelled.words])
    kinds = np.zeros(len(letters), dtype=np.int64)
    for index, (word, written) in enumerate(zip(spelled.words, spelled.written, strict=True)):
        if word != written:
            upper = [letter.isupper() for letter in _LETTER.findall(written)]
            kinds[index] = 2 if all(upper) else 1 if upper[0] and sum(upper) == 1 else 3
    return kinds, letters


class SpellingModel:
    """Computes P(word): the product of the probabilities of its characters (at least one) and of the word's end.

    *characters* and *counts* come from `count_spelling_ngrams`.
    """

    def __init__(self, characters: str, counts: Mapping[str, np.ndarray], alphabet: CharacterKindCounts):
        self._codes = np.array([ord(character) for character in characters], dtype=np.int64)
        self._size = len(characters) + 2  # plus the word boundary, and one for all unseen characters
        self._flat = 1 / (alphabet.word + 1)
        self._tables = []
        for order in range(1, ORDER + 1):
            keys, seen = counts[f"keys{order}"].astype(np.int64), counts[f"seen{order}"].astype(np.float64)
            contexts, starts = np.unique(keys // self._size, return_index=True)
            kinds = np.diff(np.append(starts, len(keys)))
            self._tables.append((keys, seen, contexts, np.add.reduceat(seen, starts), kinds))
        self._never_empty = -float(
            np.log1p(-self._compute_last_character_probability(np.zeros((1, ORDER), dtype=np.int64))[0])
        )

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
            logs[at] = np.log(self._compute_last_character_probability(np.where(inside, ids[np.maximum(steps, 0)], 0)))
        return np.add.reduceat(logs, begins) + self._never_empty

    def _compute_last_character_probability(self, ids: np.ndarray) -> np.ndarray:
        """Returns P(last character | characters before it) for each row of *ids*, an array of character ids."""
        chance = np.full(len(ids), self._flat)
        key, power = np.zeros(len(ids), dtype=np.int64), 1
        for order, (keys, seen, contexts, totals, kinds) in enumerate(self._tables, start=1):
            key, power = key + ids[:, -order] * power, power * self._size
            total, kind = (
                look_up_values_or_zero(contexts, totals, key // self._size),
                look_up_values_or_zero(contexts, kinds, key // self._size),
            )
            count = look_up_values_or_zero(keys, seen, key)
            known = total > 0
            chance = np.where(known, (count + kind * chance) / np.where(known, total + kind, 1), chance)
        return chance


def count_spelling_ngrams(words: Iterable[str]) -> tuple[str, dict[str, np.ndarray]]:
    """Counts the character n-grams of *words*; returns their distinct characters, sorted, and the counts by name."""
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


def look_up_values_or_zero(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns ``values[i]`` for each of *wanted* that equals ``keys[i]``, and 0 for others; *keys* must be sorted."""
    if not len(keys):
        return np.zeros(len(wanted))
    index = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[index] == wanted, values[index], 0)
