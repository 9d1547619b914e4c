"""How long reviews are and how varied their words: what the guideline paper names as missing from its analysis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

WINDOW = 50
"""Words of a window of the moving-average type-token ratio (Covington and McFall 2010)."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Wording:
    """Of *reviews* texts: words (mean and median), the mean type-token ratio, and the one that length does not move.

    *moving_ratio*: mean over all windows of 50 words, over reviews that have so many; None if none has.
    """

    reviews: int
    mean_words: float
    median_words: float
    type_token_ratio: float
    moving_ratio: float | None


def words(text: str) -> list[str]:
    """The words and numbers of *text*, in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


def type_token_ratio(tokens: Sequence[str]) -> float:
    """Distinct words over words; it falls with length, whoever writes. ValueError without words."""
    if not tokens:
        raise ValueError("no words")
    return len(set(tokens)) / len(tokens)


def moving_ratio(tokens: Sequence[str], window: int = WINDOW) -> float | None:
    """The mean type-token ratio of all runs of *window* words; None if there are fewer words."""
    if len(tokens) < window:
        return None
    counts: dict[str, int] = {}
    total = runs = 0
    for place, word in enumerate(tokens):
        counts[word] = counts.get(word, 0) + 1
        if place >= window:
            old = tokens[place - window]
            counts[old] -= 1
            if not counts[old]:
                del counts[old]
        if place >= window - 1:
            total, runs = total + len(counts), runs + 1
    return total / runs / window


def wording(texts: Sequence[str]) -> Wording | None:
    """Of *texts* that have words; None if none has."""
    tokens = [found for text in texts if (found := words(text))]
    if not tokens:
        return None
    lengths = [len(found) for found in tokens]
    moving = [ratio for found in tokens if (ratio := moving_ratio(found)) is not None]
    ratios = [type_token_ratio(found) for found in tokens]
    return Wording(
        len(tokens), fmean(lengths), float(median(lengths)), fmean(ratios), fmean(moving) if moving else None
    )
