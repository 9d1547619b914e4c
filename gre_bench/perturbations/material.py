"""The input of a perturbation: a text, its paper's title and abstract, and the splitter of reviews.

A splitter divides a review into sections and sentences. There are two:

- ``authors``: the splitter of Xu et al. 2025 (D.3.1). A piece of text ends at every ``.``, ``?``, ``!`` and line break,
  even inside "0.85". Blank pieces are skipped. A piece that contains a heading of the venue's review form counts as a
  heading and begins a section. All other pieces are sentences, joined by one space. Headings stay as they are.
- ``linguistic``: the splitter in `gre_bench.core.review_text`. It knows abbreviations, numbers, lists and headings of
  any form, and keeps every line break.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
"""The headings of ICLR 2023's form. The second and third are one heading, as Xu et al. 2025 and the form spell it."""

_PIECE = re.compile(r"[^.?!\n]*[.?!\n]|[^.?!\n]+")
_BLANKS = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class PerturbationInput:
    """What a perturbation may read: the *text* to perturb (a review or its judgments), and more about its paper.

    - *key*: a name for the text. Random choices depend on *seed* and *key* alone, not on other papers.
    - *title*, *abstract*: those of the paper.
    - *others*: texts of the same kind about other papers; a perturbation takes as many as it needs, from the first.
    - *splitter*, *headings*: how a review is split into sections and sentences, as in `split_review`.
    """

    key: str
    text: str
    title: str = ""
    abstract: str | None = None
    others: tuple[str, ...] = ()
    seed: int = 0
    splitter: Splitter = "authors"
    headings: tuple[str, ...] = ICLR_2023

    def make_random(self, name: str) -> random.Random:
        """Returns this text's random generator for the perturbation *name*; each perturbation has its own generator."""
        return random.Random(f"{self.seed} {self.key} {name}")


def split_review(text: str, splitter: Splitter, headings: Sequence[str]) -> tuple[Section, ...]:
    """Returns the sections of *text* with their sentences. *headings*: those that the splitter ``authors`` knows."""
    if splitter == "linguistic":
        return review_text.split_into_sections(text)
    return tuple(Section("other", heading, _split_section(body)) for heading, body in split_at_headings(text, headings))


def split_at_headings(text: str, headings: Sequence[str]) -> list[tuple[str, str]]:
    """Returns the sections of *text* as pairs (heading with the white space after it, text of the section).

    The first heading is empty if text precedes all *headings*, or if *text* has none of them. Joined, the pairs give
    *text* again, except for white space before the first heading.
    """
    results = [(0, 0)]
    for piece in _PIECE.finditer(text):
        if any(heading in piece[0] for heading in headings):
            results.append((_skip_blanks(text, piece.start()), _skip_blanks(text, piece.end())))
    ends = [start for start, _ in results[1:]] + [len(text)]
    cuts = [(text[start:body], text[body:end]) for (start, body), end in zip(results, ends, strict=True)]
    return cuts if cuts[0][1].strip() or len(cuts) == 1 else cuts[1:]


def _split_section(body: str) -> tuple[Sentence, ...]:
    """Returns the non-blank pieces of a section as sentences.

    Each sentence ends in a space; the last one ends in the white space at the section's end.
    """
    pieces = [piece[0].strip() for piece in _PIECE.finditer(body) if piece[0].strip()]
    end = body[len(body.rstrip()) :]
    return tuple(
        Sentence("", piece, " " if index < len(pieces) else end) for index, piece in enumerate(pieces, start=1)
    )


def iterate_sentence_texts(sections: Sequence[Section]) -> Iterator[str]:
    """Yields the non-empty sentences of all *sections* in order, without headings and list marks."""
    for section in sections:
        for sentence in section.sentences:
            if sentence.text:
                yield sentence.text


def _skip_blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return match.end() if match else start
