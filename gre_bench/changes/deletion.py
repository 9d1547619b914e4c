"""Deletes every other sentence of a review; a writer may fill each gap with a new sentence (Xu et al. 2025, D.3).

Each section keeps its odd sentences (the first, the third and so on) and loses the even ones. Headings stay. A section
of one sentence stays as it is, so a very short review may not change at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from gre_bench.changes.material import ChangeInput, cut, texts
from gre_bench.core.errors import ReplyError
from gre_bench.core.review_text import Section, Sentence, join

MISSING = "[There is one missing sentence]"
"""Marks a deleted sentence until a writer replaces it."""

MOST_LOST = 0.2
"""A completion may lose at most this share of the kept sentences."""

_ALIKE = 0.8
_WORD = re.compile(r"\w+")


def deleted(material: ChangeInput) -> str:
    """Returns the review without the even sentences of each section."""
    sections = cut(material.text, material.splitter, material.headings)
    return join(replace(section, sentences=_odd(section.sentences)) for section in sections)


def blanked(material: ChangeInput) -> str:
    """Returns the review with `MISSING` in place of each sentence that `deleted` would delete."""
    return join(_blanked(material))


def completed(reply: str, material: ChangeInput) -> str:
    """Returns the writer's *reply*, in which new sentences have replaced the marks that `blanked` set.

    Raises `ReplyError` if a mark remains, or if more than `MOST_LOST` of the kept sentences are lost. Writers correct
    spelling and punctuation. A kept sentence therefore counts as present if the reply has four in five of its pairs of
    adjacent words.
    """
    if MISSING.casefold() in reply.casefold():
        raise ReplyError("missing_sentences: the reply still marks sentences as missing")
    kept = [text for text in texts(_blanked(material)) if text != MISSING]
    pairs = _pairs(reply)
    lost = sum(len(_pairs(text) & pairs) < _ALIKE * len(_pairs(text)) for text in kept)
    if lost > MOST_LOST * len(kept):
        raise ReplyError(f"lost_sentences: the reply lacks {lost} of the {len(kept)} sentences it was to keep")
    return reply.strip()


def _blanked(material: ChangeInput) -> list[Section]:
    sections = cut(material.text, material.splitter, material.headings)
    return [replace(section, sentences=tuple(_open(section.sentences))) for section in sections]


def _odd(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Returns the sentences with odd numbers, as `_numbered` counts them.

    If a deleted sentence was the last of its line or section, the kept sentence before it gets the line break.
    """
    kept: list[Sentence] = []
    last = max((index for index, sentence in enumerate(sentences) if sentence.text), default=-1)
    for index, sentence, number in _numbered(sentences):
        if number % 2:
            kept.append(sentence)
        elif "\n" in sentence.gap or index == last:
            kept[-1] = replace(kept[-1], gap=sentence.gap)
    return tuple(kept)


def _open(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    for _, sentence, number in _numbered(sentences):
        yield sentence if number % 2 else replace(sentence, text=MISSING)


def _numbered(sentences: Sequence[Sentence]) -> Iterator[tuple[int, Sentence, int]]:
    """Yields (index, sentence, number) for each of *sentences*; the number counts non-empty sentences from 1.

    An empty sentence, such as a bare list mark, always gets the number 1. As 1 is odd, the sentence always stays.
    """
    number = 0
    for index, sentence in enumerate(sentences):
        number += bool(sentence.text)
        yield index, sentence, number if sentence.text else 1


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    """Returns the pairs of adjacent words of *text*, in lower case."""
    return frozenset(pairwise(_WORD.findall(text.lower())))
