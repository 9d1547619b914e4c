"""Deletes, shuffles or appends lines of judgments, and shuffles sentences of a review; blank lines stay."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from gre_bench.changes.material import ChangeInput
from gre_bench.core.review_text import join, split

_LINE = re.compile(r"([^\n]*\S[^\n]*)(\n\s*|\Z)")

T = TypeVar("T")


def deleted(material: ChangeInput) -> str:
    """Returns every other judgment, beginning with the first; the other judgments are deleted."""
    lines = _lines(material.text)
    kept = lines[::2]
    return "".join(line + gap for line, gap in kept[:-1]) + kept[-1][0] + lines[-1][1]


def shuffled(material: ChangeInput) -> str:
    """Returns the judgments in another order, chosen at random."""
    lines = _lines(material.text)
    order = disordered([line for line, _ in lines], material.chance("shuffled_lines"))
    return "".join(line + gap for line, (_, gap) in zip(order, lines, strict=True))


def appended(text: str, more: Sequence[str]) -> str:
    """Returns *text* followed by the lines *more*, with blank lines between the lines if *text* has any."""
    end = text.rstrip()
    gap = "\n\n" if "\n\n" in end else "\n"
    return gap.join([end, *more])


def disordered(items: Sequence[T], chance: random.Random) -> list[T]:
    """Returns *items* in an order that differs from the given one, unless all items are equal.

    *chance* is the random generator.
    """
    order = list(items)
    chance.shuffle(order)
    return order if order != list(items) else [*order[1:], *order[:1]]


def _lines(text: str) -> list[tuple[str, str]]:
    """Returns the non-blank lines of *text*, each as (line, the line breaks and blanks that follow it)."""
    return [(match[1].strip(), match[2]) for match in _LINE.finditer(text)]


def shuffled_sentences(material: ChangeInput) -> str:
    """Returns the review with the sentences of each section in another order; headings, list marks and breaks stay.

    The review is always split by the splitter ``linguistic``. The splitter ``authors`` would cut "0.85" in two, which
    would remove information.
    """
    chance = material.chance("shuffled_lines")
    changed = []
    for section in split(material.text):
        order = iter(disordered([sentence.text for sentence in section.sentences if sentence.text], chance))
        sentences = tuple(
            replace(sentence, text=next(order)) if sentence.text else sentence for sentence in section.sentences
        )
        changed.append(replace(section, sentences=sentences))
    return join(changed)
