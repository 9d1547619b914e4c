"""Deletes, shuffles or appends lines of judgments; blank lines between judgments stay."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TypeVar

from gre_bench.changes.material import ChangeInput

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
