"""Every other sentence of a review deleted, or replaced by what says nothing (Xu et al. 2025, D.3.1 and D.3.2).

Within each section the sentences at odd places stay and those at even places go; headings stay. A section of one
sentence is left as it is, so that a very short review may not change at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from gre_bench.changes.material import ChangeInput
from gre_bench.changes.pieces import cut, texts
from gre_bench.core.errors import ReplyError
from gre_bench.core.review_text import Section, Sentence, join

MISSING = "[There is one missing sentence]"
"""What stands in the place of a deleted sentence until a writer completes it."""

MOST_LOST = 0.2
"""Share of the kept sentences that a completion may have lost; more, and it is no completion."""

_ALIKE = 0.8
_WORD = re.compile(r"\w+")


def deleted(material: ChangeInput) -> str:
    """The review without the sentences at even places of each section."""
    sections = cut(material.text, material.splitter, material.headings)
    return join(replace(section, sentences=_odd(section.sentences)) for section in sections)


def blanked(material: ChangeInput) -> str:
    """The review with `MISSING` in the place of the sentences at even places of each section."""
    return join(_blanked(material))


def completed(reply: str, material: ChangeInput) -> str:
    """A writer's completion of `blanked`; `ReplyError` if places were left open or kept sentences were lost.

    Writers touch up spelling and punctuation: a kept sentence is there if the reply has nearly its words:
    four in five pairs of words that stand side by side.
    """
    if MISSING.casefold() in reply.casefold():
        raise ReplyError("missing_sentences: the reply still marks sentences as missing")
    kept = [one for one in texts(_blanked(material)) if one != MISSING]
    there = _pairs(reply)
    lost = sum(len(_pairs(one) & there) < _ALIKE * len(_pairs(one)) for one in kept)
    if lost > MOST_LOST * len(kept):
        raise ReplyError(f"lost_sentences: the reply lacks {lost} of the {len(kept)} sentences it was to keep")
    return reply.strip()


def _blanked(material: ChangeInput) -> list[Section]:
    sections = cut(material.text, material.splitter, material.headings)
    return [replace(section, sentences=tuple(_open(section.sentences))) for section in sections]


def _odd(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences at odd places; one that now ends a line, or all of them, takes over the break after it."""
    kept: list[Sentence] = []
    last = max((place for place, one in enumerate(sentences) if one.text), default=-1)
    for place, one, number in _numbered(sentences):
        if number % 2:
            kept.append(one)
        elif "\n" in one.gap or place == last:
            kept[-1] = replace(kept[-1], gap=one.gap)
    return tuple(kept)


def _open(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    for _, one, number in _numbered(sentences):
        yield one if number % 2 else replace(one, text=MISSING)


def _numbered(sentences: Sequence[Sentence]) -> Iterator[tuple[int, Sentence, int]]:
    """Place and sentence, and its number among those that are not empty; an empty one shares the number before it."""
    number = 0
    for place, one in enumerate(sentences):
        number += bool(one.text)
        yield place, one, number if one.text else 1


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """Words that stand side by side in *text*, in small letters."""
    return frozenset(pairwise(_WORD.findall(text.lower())))
