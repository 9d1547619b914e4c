"""Judgments of a review by rule: no LM, the same lines every time (the embedded stand-in for Xu et al. 2025, C.1).

Each evaluation of a review becomes one line. The section it stands in and the words it uses decide whether the
reviewer appreciates, criticizes, questions or suggests it; the sentence's own content words are kept, for they carry
the information, while first persons, connectives and citations go. What only describes the paper judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from tasks.review_text import Kind, Section, split
from tasks.writing import stance_lexicon as lexicon

WRITER = "rule-judgments-1"
LONGEST_LINE = 25
"""Words of a line after its opening, at most."""

Stance = Literal["appreciates", "criticizes", "questions", "suggests"]

_LONGEST_SENTENCE = 2000
_ALIKE = 0.8
_COMPARED = 100


def judgments_of(review: str) -> str:
    """The judgments of *review*, one a line, each with one of the four openings; empty if nothing is judged.

    A review whose headings leave no room for judgments (all of it under "Summary") is read without them.
    """
    sections = split(review)
    return _lines(sections) or _lines([replace(section, kind="other") for section in sections])


def _lines(sections: Iterable[Section]) -> str:
    lines: list[str] = []
    seen: list[frozenset[str]] = []
    for section in sections:
        for stance, claim in _evaluations(section):
            words = frozenset(word.lower() for word in lexicon.WORD.findall(claim)) - lexicon.FUNCTION
            if words and not any(len(words & other) > _ALIKE * len(words | other) for other in seen[-_COMPARED:]):
                seen.append(words)
                lines.append(f"The reviewer {stance} {claim}.")
    return "\n".join(lines)


def _evaluations(section: Section) -> Iterator[tuple[Stance, str]]:
    """Stance and claim of every evaluation in *section*."""
    if section.kind == "references":
        return
    signs = [one.mark.strip(" ()\t>") for one in section.sentences]
    kind, citing = section.kind, False
    for place, one in enumerate(section.sentences):
        opens = place == 0 or bool(one.mark.strip()) or "\n" in section.sentences[place - 1].gap
        if opens:
            citing = bool(lexicon.REFERENCE.match(one.mark + one.text))
            if section.kind == "mixed" and "+" in signs:
                kind = "strengths" if signs[place] == "+" else "weaknesses" if signs[place] == "-" else kind
        if citing:
            continue
        text = _cleaned(one.text)
        if place == 0 and kind == "aspects" and len(text.split()) <= 3 and not lexicon.FINITE.search(text):
            text = f"{text.rstrip('. ')} {section.name}"
        for clause, contrast in _clauses(text):
            stance = _stance(clause, kind, opens and not contrast, contrast)
            if stance and (claim := _claim(clause, stance)):
                yield stance, claim


def _cleaned(text: str) -> str:
    """*text* in one line, without citations, formulas and markup."""
    text = lexicon.DRESS.sub("", lexicon.CITATION.sub("", text[:_LONGEST_SENTENCE]))
    return " ".join(lexicon.MATH.sub(lambda math: _symbol(math[0]), text).split())


def _symbol(math: str) -> str:
    inner = re.sub(r"[\\$]", "", math)
    return inner if len(inner) <= 12 else ""


def _clauses(text: str) -> list[tuple[str, bool]]:
    """The evaluations that *text* joins, and whether each is a contrast to the one before."""
    if text.endswith("?"):
        return [(text, False)]
    if found := lexicon.CONCESSION.match(text):
        return [(found[1], False), (found[2], True)]
    pieces, start = [], 0
    for cut in lexicon.CONTRAST.finditer(text):
        if len(text[start : cut.start()].split()) >= 4 and len(text[cut.end() :].split()) >= 3:
            pieces.append((text[start : cut.start()], start > 0))
            start = cut.end()
    return [*pieces, (text[start:], start > 0)]


def _weigh(clause: str) -> tuple[int, int]:
    """How much praise and how much blame the words of *clause* carry."""
    good = bad = 0
    for word in lexicon.WORD.findall(lexicon.NOT_BAD.sub(" ", clause.lower())):
        if word in lexicon.BAD or word.startswith(lexicon.BAD_STEMS) or word.endswith(("n't", "n’t")):
            bad += 1 if word in lexicon.WEAK_BAD else 2
        elif word in lexicon.GOOD or word.startswith(lexicon.GOOD_STEMS):
            good += 1
    return good, bad


def _stance(clause: str, kind: Kind, opens: bool, contrast: bool) -> Stance | None:
    """What the reviewer does in *clause*: None if nothing is judged. *opens*: it starts an item or a paragraph."""
    if (
        len(clause.split()) < 2
        or lexicon.NO_JUDGMENT.search(clause)
        or (kind == "summary" and not lexicon.OPINION.search(clause))
    ):
        return None
    if clause.rstrip(" \"')").endswith("?"):
        return "suggests" if lexicon.REQUEST.search(clause) else "questions"
    if kind != "strengths":
        if lexicon.WONDERS.search(clause):
            return "questions"
        if lexicon.SUGGESTS.search(clause) or lexicon.IMPERATIVE.match(lexicon.LEAD.sub("", clause)):
            return "suggests"
    good, bad = _weigh(clause)
    if kind == "questions":
        return "questions" if opens or bad else None
    if kind == "strengths":
        blamed = (contrast and bad) or bad > good + 2
        return "criticizes" if blamed else "appreciates" if opens or good else None
    if kind == "weaknesses":
        if good and not bad and not opens and not contrast:
            return "appreciates"
        return "criticizes" if opens or bad else None
    if kind == "minor":
        return "criticizes" if bad else "suggests" if opens else None
    if bad > good or (bad and contrast):
        return "criticizes"
    return "appreciates" if good else None


def _claim(clause: str, stance: Stance) -> str:
    """*clause* as what follows "The reviewer criticizes" and the like, at most `LONGEST_LINE` words."""
    text = clause.strip(" \t-–—:;,*.?!\"'()[]<>")
    for _ in range(3):
        text = lexicon.LEAD.sub("", text).strip(" ,:;")
        if (label := lexicon.LABEL.match(text)) and not any(_weigh(label[1])):
            text = text[label.end() :]
    text = " ".join(lexicon.FILLER.sub("", text).split())
    for pattern, word in lexicon.PERSONS:
        text = pattern.sub(word, text)
    return _shortened(_complement(text.strip(" ,:;-"), stance))


def _complement(text: str, stance: Stance) -> str:
    if len(text) < 3:
        return ""
    for pattern, replacement in lexicon.FORMS[stance]:
        if found := pattern.match(text):
            text, formed = lexicon.INNER.sub(lambda article: article[0].lower(), found.expand(replacement)), True
            break
    else:
        formed = False
    first = text.split()[0].lower()
    if stance == "suggests" and first in lexicon.VERBS:
        return gerund(first) + text[len(first) :]
    if formed or stance == "questions":
        return _lowered(text)
    if lexicon.FINITE.search(text.split(":")[0]):
        return "that " + _lowered(text)
    return ("" if first in lexicon.DETERMINED or first.endswith(("ing", "s")) else "the ") + _lowered(text)


def gerund(verb: str) -> str:
    """``comparing`` for ``compare``; for the verbs of requests."""
    if verb in ("run", "put", "plot"):
        return verb + verb[-1] + "ing"
    return (verb[:-1] if verb.endswith("e") and verb != "see" else verb) + "ing"


def _lowered(text: str) -> str:
    """*text* with a small first letter, unless its first word is an acronym."""
    first = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() else text


def _shortened(text: str) -> str:
    """The first words of *text*, cut where a clause ends if there is such a place late enough."""
    words = text.split()
    if len(words) > LONGEST_LINE:
        text = " ".join(words[:LONGEST_LINE])
        late = [cut.start() for cut in lexicon.SOFT.finditer(text) if text.count(" ", 0, cut.start()) >= 13]
        words = (text[: late[-1]] if late else text).split()
        while words and words[-1].lower().strip(",") in lexicon.FUNCTION:
            words.pop()
    return " ".join(words).rstrip(" ,;:.-([?!\"'")
