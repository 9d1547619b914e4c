"""A review as the sections and sentences that changes count, in one of two ways.

``authors``: as Xu et al. 2025 cut reviews (D.3.1). Every ``. ? !`` and every line break ends a piece, also inside
"0.85"; blank pieces are skipped; a piece that contains a heading's words is that heading, and the count starts again
there. What is kept is joined by one space; headings stay as they stand. ``linguistic``: `gre_bench.core.review_text`,
which knows abbreviations, numbers, lists and headings in any dress, and loses no line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from gre_bench.core import review_text
from gre_bench.core.review_text import Section, Sentence

Splitter = Literal["authors", "linguistic"]

ICLR_2023 = (
    "Summary Of The Paper",
    "Strengths And Weaknesses",
    "Strength And Weaknesses",
    "Clarity, Quality, Novelty And Reproducibility",
    "Summary Of The Review",
)
"""The headings of ICLR 2023's form; the second as the paper spells it, the third as the form itself does."""

_PIECE = re.compile(r"[^.?!\n]*[.?!\n]|[^.?!\n]+")
_BLANKS = re.compile(r"\s*")


def cut(text: str, splitter: Splitter, headings: Sequence[str]) -> tuple[Section, ...]:
    """The sections of *text* and their sentences; without a heading that is known, the whole is one section."""
    if splitter == "linguistic":
        return review_text.split(text)
    return tuple(Section("other", heading, _sentences(body)) for heading, body in parts(text, headings))


def parts(text: str, headings: Sequence[str]) -> list[tuple[str, str]]:
    """Heading, with the blanks after it, and body of every section, nothing lost but blanks before the first.

    The first heading is empty if something stands before any.
    """
    found = [(0, 0)]
    for piece in _PIECE.finditer(text):
        if any(heading in piece[0] for heading in headings):
            found.append((_after_blanks(text, piece.start()), _after_blanks(text, piece.end())))
    ends = [start for start, _ in found[1:]] + [len(text)]
    cuts = [(text[start:body], text[body:end]) for (start, body), end in zip(found, ends, strict=True)]
    return cuts if cuts[0][1].strip() or len(cuts) == 1 else cuts[1:]


def _sentences(body: str) -> tuple[Sentence, ...]:
    """The pieces of *body* that are not blank: one space after each, and what ended the body after the last."""
    pieces = [piece[0].strip() for piece in _PIECE.finditer(body) if piece[0].strip()]
    end = body[len(body.rstrip()) :]
    return tuple(
        Sentence("", piece, " " if place < len(pieces) else end) for place, piece in enumerate(pieces, start=1)
    )


def texts(sections: Sequence[Section]) -> Iterator[str]:
    """The sentences of all *sections* in order, without headings and list marks, none empty."""
    for section in sections:
        for one in section.sentences:
            if one.text:
                yield one.text


def _after_blanks(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    return found.end() if found else start
