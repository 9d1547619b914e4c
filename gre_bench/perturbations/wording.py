"""Rephrases sentences by rule, in two styles.

Phrases in ``data/rules/phrases.tsv`` are replaced by synonyms. Some clauses are moved. Style 1 turns "Although A, B."
into "B, although A."; style 2 turns "B because A." into "Because A, B.". Headings, list marks, formulas and line breaks
do not change, nor does the meaning of any judgment. Text that no rule covers does not change either.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial

from gre_bench.core.resources import locate_resource
from gre_bench.core.review_text import join_sections, split_into_sections

_LONGEST_SENTENCE = 2000
_FRONT = re.compile(r"(Although|While|Since|Because|If|When|Though|Given that) ([^,;:?!]{8,200}), ([^:;?!]{8,300})\.")
_BACK = re.compile(r"([^,;:?!]{8,200}?),? (because|although|though) ([^,;:?!]{8,200})\.")
_TIED = re.compile(
    r"\b(?:is|are|was|be|not|only|just|simply|mainly|mostly|partly|even|probably|perhaps|primarily|possibly|maybe|and|or)$"
)
"""Words after which a clause cannot be moved ("this is because ...")."""
_ANSWERED = re.compile(r"(?:then|but|yet|and|so)\b")
_UNCLEAR = re.compile(r"It(?: is|'s) (?:unclear|not clear) (whether|how|why|what|which) ([^,;:?!]{8,200})\.")
_FORMULA = re.compile(r"(\$[^$\n]{0,300}\$|\"[^\"\n]{0,300}\")")
_VOWEL = re.compile(r"(?!one\b|uni|us[ea]|eu)[aeiou]", re.IGNORECASE)
_NAME = re.compile(r"I\b|[A-Z]\w*[A-Z\d]")


def rephrase_review(review: str, style: int) -> str:
    """Returns *review* rephrased in *style* 1 or 2; keeps the white space between sentences."""
    sections = split_into_sections(review)
    return join_sections(
        replace(
            section,
            sentences=tuple(
                replace(sentence, text=rephrase_sentence(sentence.text, style)) for sentence in section.sentences
            ),
        )
        for section in sections
    )


def rephrase_sentence(text: str, style: int) -> str:
    """Returns one sentence rephrased in *style* 1 or 2."""
    if len(text) > _LONGEST_SENTENCE:
        return text
    pieces = _FORMULA.split(_move_subordinate_clause(text, style))
    pieces[::2] = [_compile_phrases().sub(partial(_substitute_phrase, style=style), piece) for piece in pieces[::2]]
    return "".join(pieces)


def _move_subordinate_clause(text: str, style: int) -> str:
    """Moves the subordinate clause of a sentence, if any, to the end in style 1 and to the front in style 2."""
    if ". " in text:
        return text
    if style == 1:
        front = _FRONT.fullmatch(text)
        if not front or _ANSWERED.match(front[3]):
            return text
        comma = "" if front[1] in ("If", "When") else ","
        return f"{_capitalise(front[3])}{comma} {front[1].lower()} {front[2]}."
    if unclear := _UNCLEAR.fullmatch(text):
        return f"{_capitalise(unclear[1])} {unclear[2]} is unclear."
    back = _BACK.fullmatch(text)
    if not back or _TIED.search(back[1]):
        return text
    return f"{_capitalise(back[2])} {back[3]}, {lower_first_letter(back[1])}."


@cache
def load_phrases() -> dict[str, tuple[str, str]]:
    """Returns lower-case phrase → (its replacement in style 1, its replacement in style 2)."""
    lines = locate_resource("data", "rules", "phrases.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {phrase: (first, second) for phrase, first, second in rows}


@cache
def _compile_phrases() -> re.Pattern[str]:
    """Returns a pattern that matches a phrase of `load_phrases` and any "a" or "an" before it; prefers long ones."""
    longest = sorted(load_phrases(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:(an?) )?({'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE)


def _substitute_phrase(phrase_match: re.Match[str], style: int) -> str:
    words = load_phrases()[phrase_match[2].lower()][style - 1]
    if not phrase_match[1]:
        return (
            _capitalise(words)
            if phrase_match[2][0].isupper() and not phrase_match[2].startswith("I ")
            else _capitalise_first_person(words)
        )
    article = "an" if _VOWEL.match(words) else "a"
    return f"{_capitalise(article) if phrase_match[1][0].isupper() else article} {words}"


def _capitalise_first_person(words: str) -> str:
    return re.sub(r"\bi\b", "I", words)


def _capitalise(text: str) -> str:
    return _capitalise_first_person(text[:1].upper() + text[1:])


def lower_first_letter(text: str) -> str:
    """Returns *text* with a small first letter, unless it begins with "I", a name or an acronym."""
    return text if _NAME.match(text) else text[:1].lower() + text[1:]
