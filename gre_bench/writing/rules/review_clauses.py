"""Splits a review into clauses, each with the facts from which `clause_stance` classifies it.

A clause is a sentence, or a part of a sentence that ends before a word such as "but" or "although". List marks and line
breaks hardly matter: a list gives the same clauses as the same words in prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gre_bench.core.review_text import Kind, Section, heading_in, split
from gre_bench.writing.rules import review_lexicon as lexicon
from gre_bench.writing.rules.english_clauses import finite
from gre_bench.writing.rules.english_forms import (
    PREPOSITIONS,
)

_LONGEST_SENTENCE = 2000


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a review.

    - *text*: the words of the clause, without citations and markup.
    - *kind*: the kind of the section in which the clause stands, such as ``strengths``.
    - *contrast*: whether a word such as "but" sets the clause against the clause before it.
    """

    text: str
    kind: Kind
    contrast: bool = False

    @property
    def asks(self) -> bool:
        """Whether the clause is a question."""
        return self.text.rstrip(" \"')").endswith("?")


def clauses_of(review: str) -> list[Clause]:
    """Returns the clauses of *review* in their order, except those in the review's list of references."""
    return [clause for section in split(review) if section.kind != "references" for clause in _clauses(section)]


def _clauses(section: Section) -> Iterator[Clause]:
    signs = [sentence.mark.strip(" ()\t>") for sentence in section.sentences]
    kind, citing = section.kind, False
    for index, sentence in enumerate(section.sentences):
        if index == 0 or sentence.mark.strip() or "\n" in section.sentences[index - 1].gap:
            citing = bool(lexicon.REFERENCE.match(sentence.mark + sentence.text))
        if citing:
            continue
        if section.kind == "mixed" and "+" in signs:
            kind = "strengths" if signs[index] == "+" else "weaknesses" if signs[index] == "-" else kind
        length, kind = heading_in(sentence.text, kind)
        text = _cleaned(sentence.text[length:])
        if index == 0 and section.kind == "aspects" and len(text.split()) <= 3 and finite(text) < 0:
            text = f"{text.rstrip('. ')} {section.name}"
        for part, contrast in _parts(text):
            if not lexicon.NO_JUDGMENT.search(part):
                yield Clause(part, kind, contrast)


def _cleaned(text: str) -> str:
    """Returns *text* on one line, without citations, long formulas and markup, and with contractions spelled out."""
    text = lexicon.CITATION.sub(_cited, text[:_LONGEST_SENTENCE].replace("---", " - "))
    text = lexicon.DRESS.sub("", text)
    text = lexicon.LATEX.sub("", lexicon.MATH.sub(lambda math: _symbol(math[0]), text)).replace("’", "'")
    for pattern, spelled in lexicon.CONTRACTIONS:
        text = pattern.sub(spelled, text)
    return " ".join(text.split())


def _cited(citation: re.Match[str]) -> str:
    """Returns the text that replaces the *citation*: a placeholder if a preposition stands before it, else nothing.

    Claims never contain the placeholder: a claim is cut before the placeholder or left out.
    """
    before = citation.string[max(0, citation.start() - 12) : citation.start()].split()
    return " ¤" if before and before[-1].lower() in PREPOSITIONS else ""


def _symbol(math: str) -> str:
    """Returns the text that replaces the formula *math*.

    A short formula only loses its dollar signs and backslashes. A long formula becomes a placeholder. Claims never
    contain the placeholder: a claim is cut before the placeholder or left out.
    """
    inner = re.sub(r"[\\$]", "", math)
    return inner if len(inner) <= 12 else "¤"


def _parts(text: str) -> list[tuple[str, bool]]:
    """Splits the sentence *text* into clauses.

    Returns pairs (clause, whether the clause contrasts with the clause before it).
    """
    if (label := lexicon.LABEL.match(text)) and len(label[0].split()) > 1:
        return [(label[0].strip(" :)."), False), *_parts(text[label.end() :])]
    if text.endswith("?"):
        *before, last = lexicon.FURTHER.split(text)
        return [(part if finite(part) > 0 and ";" in text else f"{part}?", False) for part in before] + [(last, False)]
    if match := lexicon.CONCESSION.match(text):
        return [(match[1], False), (match[2], True)]
    pieces, start = [], 0
    for cut in lexicon.CONTRAST.finditer(text):
        before, after = text[start : cut.start()], text[cut.end() :]
        long = len(before.split()) >= 4 and len(after.split()) >= 3
        if long and (cut["sets"] or (finite(before) > 0 and finite(after) > 0)):
            pieces.append((text[start : cut.start()], start > 0))
            start = cut.end()
    return [*pieces, (text[start:], start > 0)]
