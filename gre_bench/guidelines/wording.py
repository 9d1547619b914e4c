"""Measures the length of reviews and the variety of their words.

The guideline paper (`gre_bench.guidelines`) leaves this analysis open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

WINDOW = 50
"""Words in a window of the moving-average type-token ratio (Covington and McFall 2010)."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Wording:
    """The average length of reviews, and the average variety of their words.

    - *reviews*: the number of reviews.
    - *mean_words*, *median_words*: the mean and the median number of words per review.
    - *type_token_ratio*: distinct words divided by words; falls as reviews get longer.
    - *moving_ratio*: the mean ratio over all windows of 50 words, which does not depend on length. It covers the
      reviews with at least 50 words, and is None if there are none.
    """

    reviews: int
    mean_words: float
    median_words: float
    type_token_ratio: float
    moving_ratio: float | None


def words(text: str) -> list[str]:
    """Returns the words and numbers of *text* in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def type_token_ratio(tokens: Sequence[str]) -> float:
    """Returns the number of distinct *tokens* divided by the number of all tokens.

    The ratio falls with the length of a text, whoever wrote it. Raises ValueError if there are no tokens.
    """
    if not tokens:
        raise ValueError("no words")
    return len(set(tokens)) / len(tokens)


def moving_ratio(tokens: Sequence[str], window: int = WINDOW) -> float | None:
    """Returns the mean type-token ratio over all windows of *window* tokens; None if *tokens* are fewer than that."""
    if len(tokens) < window:
        return None
    counts: dict[str, int] = {}
    total = runs = 0
    for index, word in enumerate(tokens):
        counts[word] = counts.get(word, 0) + 1
        if index >= window:
            old = tokens[index - window]
            counts[old] -= 1
            if not counts[old]:
                del counts[old]
        if index >= window - 1:
            total, runs = total + len(counts), runs + 1
    return total / runs / window


def wording(texts: Sequence[str]) -> Wording | None:
    """Returns the mean length and the mean variety of words of the *texts*; None if no text has words.

    Texts without words do not count.
    """
    tokens = [review_words for text in texts if (review_words := words(text))]
    if not tokens:
        return None
    lengths = [len(review_words) for review_words in tokens]
    moving = [ratio for review_words in tokens if (ratio := moving_ratio(review_words)) is not None]
    ratios = [type_token_ratio(review_words) for review_words in tokens]
    return Wording(
        len(tokens), fmean(lengths), float(median(lengths)), fmean(ratios), fmean(moving) if moving else None
    )
