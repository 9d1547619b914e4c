"""How much of a known text a reading gives back, and in which order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from tests.ingest.pdf.layouts import Made


@dataclass(frozen=True)
class Compared:
    """Shares of the words of a known text that were given back, of those given back that belong there; paragraphs
    that do not stand after the one before them; passages that should be gone and are there."""

    recall: float
    precision: float
    inversions: int
    left: int


def words(text: str) -> list[str]:
    """The words of *text* in lower case, without hyphens."""
    return re.findall(r"\w+", text.casefold().replace("-", ""))


def compared(made: Made, text: str) -> Compared:
    """What *text*, as read, gives back of *made*."""
    got = words(text)
    wanted = words(" ".join([*made.parts, *made.loose]))
    shared = (Counter(wanted) & Counter(got)).total()
    running = " ".join(got)
    places = [running.find(" ".join(words(part)[1:6])) for part in made.parts]
    found = [place for place in places if place >= 0]
    left = sum(" ".join(words(part)[1:7]) in running for part in made.gone)
    return Compared(
        shared / max(len(wanted), 1), shared / max(len(got), 1), sum(a > b for a, b in pairwise(found)), left
    )
