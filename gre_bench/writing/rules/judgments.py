"""Writes the judgments of a review by rule: without an LM, and with the same lines every time.

This is the built-in replacement for an LM with the prompt of Xu et al. 2025, C.1. The review is split into clauses, and
each clause that makes a judgment becomes one line. A log-linear model finds the stance of each clause: appreciates,
criticizes, questions, suggests, or none of these. The line keeps the content words of the clause, because they carry
the information. First persons, connectives and citations are left out. List marks and line breaks have no effect.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from gre_bench.writing.rules.claims import FUNCTION, HOLLOW, LEAD, WORD, claim_of
from gre_bench.writing.rules.clauses import (
    ANY_CASE,
    APPRECIATES,
    CRITICIZES,
    NONE,
    QUESTIONS,
    STANCES,
    SUGGESTS,
    Clause,
    StanceModel,
    clauses_of,
    shipped,
)

WRITER = "rule-judgments-3"

_REMEMBERED = 2_000
"""Number of reviews whose judgments are kept: an import describes the judgments that the next step stores."""

_SURE = 0.19
"""Smallest probability at which a clause counts as having a stance; those of the five classes sum to 1."""

_PLAIN = 0.5
"""Smallest probability of praise in a clause with words of blame, and of a stance if headings are ignored."""

_ARGUES = 8
"""Number of clauses from which a review without certain judgments is read again for less certain ones."""

_ALIKE = 0.7
"""Share of common content words above which two lines say nearly the same."""

_PASSAGE = 25
"""Number of words from which a paragraph of a paper is prose."""

_COMPARED = 100
"""Number of earlier lines with which a line is compared."""


WONDERS = re.compile(
    r"\b(?:I|we|reviewer)(?: am| was)?(?: also| still| just| really| a bit| therefore| \w+ly)* (?:wonder(?:ing)?|curious|doubt)\b|"
    r"\b(?:not|un) ?(?:\w+ly |quite |very |so |too |100% )*(?:sure|certain|clear|obvious)(?: to me)?,? (?:why|how|what|whether|if|which|when|"
    r"where|about)\b|\bunclear(?: to me)?,? (?:why|how|what|whether|if|which|when|where)\b",
    ANY_CASE,
)
"""Matches questions without a question mark."""
BLAMES = re.compile(
    r"\b(?:poor(?:ly)?|weak|unclear|insufficient|inadequate|questionable|unconvincing|confusing|missing|lacks?|lacking|wrong|"
    r"incorrect|flawed|crude|vague|(?:limited|restricted|narrow) (?:to|in)|not (?:novel|new|clear|convincing|enough))\b",
    ANY_CASE,
)
REQUESTS = re.compile(
    r"^(?:could|can|would|will) (?:you|the authors?)(?: \w+ly| please| also| maybe)* (?!(?:clarify|explain|elaborate|justify|discuss|comment|"
    r"describe|specify|know|see|have|state|tell|say|confirm|be|give|provide)\b)\w+",
    ANY_CASE,
)
"""Matches requests in the form of a question."""


@lru_cache(_REMEMBERED)
def judgments_of(review: str) -> str:
    """Returns the judgments of *review*, one on each line; empty if there are none.

    If no judgment is found, the review is read again without its headings, which helps if the whole stands under
    "Summary". If a long review still gives no judgment, less certain ones are accepted too.
    """
    model, clauses = shipped(), clauses_of(review)
    if lines := _lines(model, clauses, _SURE):
        return "\n".join(lines)
    unsorted = [replace(clause, kind="other") for clause in clauses]
    lines = _lines(model, unsorted, _PLAIN)
    return "\n".join(lines or (_lines(model, unsorted, _SURE) if len(clauses) >= _ARGUES else []))


def judgments_of_passage(text: str, size: int, seed: int) -> str:
    """Returns the judgments of consecutive paragraphs of *text*, *size* characters or a little more, or fewer at its end.

    Where they begin depends on *seed*; never in the first fifth, where a paper has its abstract and introduction.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if len(part.split()) >= _PASSAGE]
    first = random.Random(f"passage {seed} {text[:200]}").randrange(len(paragraphs) // 5, len(paragraphs) or 1)
    lines: list[str] = []
    for paragraph in paragraphs[first:]:
        lines += judgments_of(paragraph).splitlines()
        if sum(map(len, lines)) >= size:
            break
    return "\n".join(lines)


def _lines(model: StanceModel, clauses: Sequence[Clause], sure: float) -> list[str]:
    """Returns the lines of those *clauses* that have a stance with a probability of at least *sure*, in their order.

    Of several lines that say nearly the same, only the one with the most probable stance is kept.
    """
    candidates = []
    for clause, chances in zip(clauses, model.probabilities(clauses), strict=True):
        if made := _line(clause, chances, sure):
            candidates.append((-float(chances[:NONE].max()), *made))
    kept: list[frozenset[str]] = []
    left = set()
    for index in sorted(range(len(candidates)), key=lambda index: candidates[index][:2]):
        words = candidates[index][2]
        if not any(_same(words, other) for other in kept[-_COMPARED:]):
            kept.append(words)
            left.add(index)
    return [line for index, (_, line, _) in enumerate(candidates) if index in left]


def _same(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two lines with the content words *words* and *other* say nearly the same."""
    shared = len(words & other)
    return words == other or (shared > 1 and shared > _ALIKE * min(len(words), len(other)))


def _line(clause: Clause, chances: np.ndarray, sure: float) -> tuple[str, frozenset[str]] | None:
    """Returns the line of *clause* by its most probable stance of at least *sure*, and its content words; or None."""
    stances = [int(stance) for stance in np.argsort(-chances[:NONE], kind="stable") if chances[stance] >= sure]
    if APPRECIATES in stances and chances[APPRECIATES] < _PLAIN and BLAMES.search(clause.text):
        stances = [CRITICIZES] if chances[CRITICIZES] >= sure / 2 else []
    judges = chances[:NONE].sum() >= sure
    if judges and WONDERS.search(clause.text):
        stances = [QUESTIONS, *stances]
    elif judges and REQUESTS.search(LEAD.sub("", clause.text)):
        stances = [SUGGESTS, *stances]
    for stance in stances:
        if claim := claim_of(clause, STANCES[stance]):
            words = frozenset(word.lower() for word in WORD.findall(claim)) - FUNCTION
            return (f"The reviewer {STANCES[stance]} {claim}.", words) if words - HOLLOW else None
    return None
