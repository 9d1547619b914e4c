"""Judgments of a review by rule: no LM, the same lines every time (the embedded stand-in for Xu et al. 2025, C.1).

Each evaluation of a review becomes one line. A log-linear model of a clause's words says whether the reviewer
appreciates, criticizes, questions or suggests in it, or only describes; the clause's own content words are kept, for
they carry the information, while first persons, connectives and citations go. List marks and line breaks decide
nothing, and the order of sections only that of the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gre_bench.writing.rules import review_lexicon as lexicon
from gre_bench.writing.rules.clause_stance import (
    APPRECIATES,
    CRITICIZES,
    NONE,
    QUESTIONS,
    STANCES,
    SUGGESTS,
    StanceModel,
    shipped,
)
from gre_bench.writing.rules.judgment_claims import LONGEST_LINE, claim_of
from gre_bench.writing.rules.review_clauses import Clause, clauses_of

__all__ = ["LONGEST_LINE", "WRITER", "judgments_of"]

WRITER = "rule-judgments-2"

_SURE = 0.19
"""Chance of a stance from which a clause has it; the four and "no judgment" share one."""

_PLAIN = 0.5
"""The same for praise in a clause that blames in so many words, and for a review that only sums up the paper."""

_ARGUES = 8
"""Clauses from which a review is an argument, in which less certain judgments count where there are no others."""

_ALIKE = 0.7
_COMPARED = 100


def judgments_of(review: str) -> str:
    """The judgments of *review*, one a line, each with one of the four openings; empty if nothing is judged.

    A review whose headings leave no room for judgments (all of it under "Summary") is read without them, and with less
    certainty where that too finds nothing.
    """
    model, clauses = shipped(), clauses_of(review)
    if lines := _lines(model, clauses, _SURE):
        return "\n".join(lines)
    unsorted = [replace(one, kind="other") for one in clauses]
    lines = _lines(model, unsorted, _PLAIN)
    return "\n".join(lines or (_lines(model, unsorted, _SURE) if len(clauses) >= _ARGUES else []))


def _lines(model: StanceModel, clauses: Sequence[Clause], sure: float) -> list[str]:
    """Lines in the order of the clauses; of lines that say nearly the same, the one whose stance is the surest."""
    found = []
    for clause, chances in zip(clauses, model.probabilities(clauses), strict=True):
        if made := _line(clause, chances, sure):
            found.append((-float(chances[:NONE].max()), *made))
    kept: list[frozenset[str]] = []
    left = set()
    for place in sorted(range(len(found)), key=lambda one: found[one][:2]):
        words = found[place][2]
        if not any(_same(words, other) for other in kept[-_COMPARED:]):
            kept.append(words)
            left.add(place)
    return [line for place, (_, line, _) in enumerate(found) if place in left]


def _same(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two lines with these content words say nearly the same."""
    shared = len(words & other)
    return words == other or (shared > 1 and shared > _ALIKE * min(len(words), len(other)))


def _line(clause: Clause, chances: np.ndarray, sure: float) -> tuple[str, frozenset[str]] | None:
    """The line of *clause* in its likeliest stance that makes a sentence of it, and its content words."""
    places = [int(place) for place in np.argsort(-chances[:NONE], kind="stable") if chances[place] >= sure]
    if APPRECIATES in places and chances[APPRECIATES] < _PLAIN and lexicon.BLAMES.search(clause.text):
        places = [CRITICIZES] if chances[CRITICIZES] >= sure / 2 else []
    judges = chances[:NONE].sum() >= sure
    if judges and lexicon.WONDERS.search(clause.text):
        places = [QUESTIONS, *places]
    elif judges and lexicon.REQUESTS.search(lexicon.LEAD.sub("", clause.text)):
        places = [SUGGESTS, *places]
    for place in places:
        if claim := claim_of(clause, STANCES[place]):
            words = frozenset(word.lower() for word in lexicon.WORD.findall(claim)) - lexicon.FUNCTION
            return (f"The reviewer {STANCES[place]} {claim}.", words) if words else None
    return None
