"""Splits a review into clauses and classifies them by stance: appreciates, criticizes, questions, suggests, or none.

A clause is a sentence, or a part of a sentence that ends before a word such as "but" or "although". List marks and line
breaks hardly matter: a list gives the same clauses as the same words in prose.

The classifier is a log-linear model whose shipped weights never change. Its features are:

- the words of the clause, the beginnings of these words, and pairs of neighbouring words;
- the length of the clause, whether the clause asks, and whether it contrasts with the clause before it;
- the number of clauses in the review, and the kind of section.

The section is only one feature of many, so the same clause gets nearly the same stance in any section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from gre_bench.core.errors import SourceError
from gre_bench.core.resources import resource
from gre_bench.core.review_text import Kind, Section, heading_in, split
from gre_bench.writing.rules.english import PREPOSITIONS, finite

ANY_CASE = re.IGNORECASE
REFERENCE = re.compile(r"^\s*(?:[-*] )?\[[\w+]{1,12}\][: ]")
CITATION = re.compile(
    r"\s*\[[\d, –-]{1,30}\]|\s*\((?:e\.g\.,?|see|cf\.?|i\.e\.,?)[^()]{0,300}\)|\s*\([^()]{0,200}\b(?:19|"
    r"20)\d\d[^()]{0,100}\)|\s*\[[^\[\]]{0,80}\b(?:19|20)\d\d\w?\]|(?:,? see:?)?\s*https?://[^\s)]*[^\s).,;]|"
    r"\s*\([^()]{0,20}(?:fig|tab|sec|eq|page|line|appendix|section|table|see)\b[^()]{0,40}\)",
    ANY_CASE,
)
MATH = re.compile(r"\$\$?[^$\n]{0,400}\$\$?")
DRESS = re.compile(
    r"\*\*|__|`+|</?\w{1,20}/?>|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|^#+\s*|~~|&\w{2,6};|\\(?:cite|ref|"
    r"url)\w?\{[^}]{0,80}\}"
)
CONTRACTIONS = tuple(
    (re.compile(pattern, ANY_CASE), spelled)
    for pattern, spelled in (
        (r"\bcan(?:'t|t| not)\b", "cannot"),
        (r"\bwon't\b", "will not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|could|should|would)n'?t\b", r"\1 not"),
        (r"\b(it|there|that|what|here|how)'s\b", r"\1 is"),
        (r"\b(they|you|we)'re\b", r"\1 are"),
        (r"\b(i|they|you|we)'ve\b", r"\1 have"),
        (r"\b(i|they|you|we|it)'d\b", r"\1 would"),
        (r"\b(i|they|you|we|it)'ll\b", r"\1 will"),
        (r"\bi'm\b", "I am"),
        (
            r"\bits (?=(?:not|un\w+|hard|difficult|better|also|very|really|clear|possible|good|nice|a|an|the)\b)",
            "it is ",
        ),
        (r"\s+(?=[.,;:)](?:\s|$))|(?<=[,;:])[.,;:]+(?=\s)|\(\s*\)", ""),
    )
)
LABEL = re.compile(
    r"^(?:[A-Z][\w/&'., -]{0,40}|\d{1,2}(?:\.\d)*)\s*[:)]\s+(?=[A-Z\"']|(?:what|how|why|is|are|can|could|do|does|the|there)\b)"
    r"|^\d{1,2}(?:\.\d)*[-.]+\s+(?=[A-Z\"'])"
    r"|^[A-Z]\d{1,2}\s*[-.:]\s*(?=[A-Z])"
)
LATEX = re.compile(r"\\(?:math\w+|text\w*|left|right|rm|bf|mathbf)\b|[{}\\$]|\^(?=\{)|_(?=\{)")
CONTRAST = re.compile(
    r"(?P<sets>\s*;\s+|,?\s+(?:but|however|yet|although|though|whereas|while)(?: also)?,?\s+(?=(?:the|it|this|there|i|its|"
    r"their|some|they|these|not|lacks?|is|are|authors?|a|an|no|more|in|my|we|only|seems?|has|have|does|many|what|how|"
    r"could|needs?)\b))|,?\s+(?:and|so)\s+(?=(?:the|it|this|there|i|its|some|their|they|these|authors?)\s+[\w-]+)",
    ANY_CASE,
)
FURTHER = re.compile(
    r"\s*;\s+|,? and (?=(?:how|why|what|which|where|when|is|are|do|does|can|could) (?:is|are|do|does|did|can|could|the|it|this)\b)",
    ANY_CASE,
)
"""Matches the text between two questions of a sentence."""
CONCESSION = re.compile(
    r"^(?:although|while|though|even though|whereas)\s+([^,]{12,200}),\s+(.{10,})$", ANY_CASE | re.S
)
NO_JUDGMENT = re.compile(
    r"\bthank(?:s|ful)?\b|^\W*(?:please )?(?:see|refer to) (?:the )?(?:above|below|strengths?|weakness\w*)\b|"
    r"^(?:\w+ )?(?:remarks?|(?:surrounding )?(?:paragraphs|passages?|pages))\b.*\b(?:remarks?|manuscript|part|section|topic|matter)\b",
    ANY_CASE,
)
"""Matches thanks, mere references to other parts of the review, and sentences about the review itself."""

_LONGEST_SENTENCE = 2000


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a review, without citations and markup.

    *kind*: that of the section in which the clause stands, such as ``strengths``. *contrast*: whether a word such as
    "but" sets the clause against the one before it.
    """

    text: str
    kind: Kind
    contrast: bool = False

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"')").endswith("?")


def clauses_of(review: str) -> list[Clause]:
    """Returns the clauses of *review* in their order, except those in the review's list of references."""
    return [clause for section in split(review) if section.kind != "references" for clause in _clauses(section)]


def _clauses(section: Section) -> Iterator[Clause]:
    signs = [sentence.mark.strip(" ()\t>") for sentence in section.sentences]
    kind, citing = section.kind, False
    for index, sentence in enumerate(section.sentences):
        if index == 0 or sentence.mark.strip() or "\n" in section.sentences[index - 1].gap:
            citing = bool(REFERENCE.match(sentence.mark + sentence.text))
        if citing:
            continue
        if section.kind == "mixed" and "+" in signs:
            kind = "strengths" if signs[index] == "+" else "weaknesses" if signs[index] == "-" else kind
        length, kind = heading_in(sentence.text, kind)
        text = _cleaned(sentence.text[length:])
        if index == 0 and section.kind == "aspects" and len(text.split()) <= 3 and finite(text) < 0:
            text = f"{text.rstrip('. ')} {section.name}"
        for part, contrast in _parts(text):
            if not NO_JUDGMENT.search(part):
                yield Clause(part, kind, contrast)


def _cleaned(text: str) -> str:
    """Returns *text* on one line, without citations, long formulas and markup, and with contractions spelled out."""
    text = CITATION.sub(_cited, text[:_LONGEST_SENTENCE].replace("---", " - "))
    text = DRESS.sub("", text)
    text = LATEX.sub("", MATH.sub(lambda math: _symbol(math[0]), text)).replace("’", "'")
    for pattern, spelled in CONTRACTIONS:
        text = pattern.sub(spelled, text)
    return " ".join(text.split())


def _cited(citation: re.Match[str]) -> str:
    """Returns the text that replaces the *citation*: a placeholder if a preposition stands before it, else nothing."""
    before = citation.string[max(0, citation.start() - 12) : citation.start()].split()
    return " ¤" if before and before[-1].lower() in PREPOSITIONS else ""


def _symbol(math: str) -> str:
    """Returns a short formula without dollar signs and backslashes, and for a long one the placeholder, which no claim
    has.
    """
    inner = re.sub(r"[\\$]", "", math)
    return inner if len(inner) <= 12 else "¤"


def _parts(text: str) -> list[tuple[str, bool]]:
    """Splits the sentence *text* into pairs (clause, whether the clause contrasts with the clause before it)."""
    if (label := LABEL.match(text)) and len(label[0].split()) > 1:
        return [(label[0].strip(" :)."), False), *_parts(text[label.end() :])]
    if text.endswith("?"):
        *before, last = FURTHER.split(text)
        return [(part if finite(part) > 0 and ";" in text else f"{part}?", False) for part in before] + [(last, False)]
    if match := CONCESSION.match(text):
        return [(match[1], False), (match[2], True)]
    pieces, start = [], 0
    for cut in CONTRAST.finditer(text):
        before, after = text[start : cut.start()], text[cut.end() :]
        long = len(before.split()) >= 4 and len(after.split()) >= 3
        if long and (cut["sets"] or (finite(before) > 0 and finite(after) > 0)):
            pieces.append((text[start : cut.start()], start > 0))
            start = cut.end()
    return [*pieces, (text[start:], start > 0)]


Stance = Literal["appreciates", "criticizes", "questions", "suggests"]
STANCES: tuple[Stance, ...] = ("appreciates", "criticizes", "questions", "suggests")
APPRECIATES, CRITICIZES, QUESTIONS, SUGGESTS = range(4)
NONE = len(STANCES)
"""Index of the class "no judgment", after those of the stances."""

SCALE = 100
"""The file holds each weight times this, rounded to a whole number."""

_NUMBER = re.compile(r"[0-9]+")
_WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z0-9]+)*|\?")
_WORDS_READ = 60
_STEM = 5
_LENGTHS = (8, 16, 24, 32, 40, 48, 56)


@dataclass(frozen=True, slots=True)
class StanceModel:
    """The weights of a log-linear model with five classes: the four stances, and no stance.

    *rows*: the name of a feature → its row in *weights*, shape (features, 5). These are whole numbers, `SCALE` times
    the true weights, so their sums are exact, whatever the order of the features.
    """

    rows: dict[str, int]
    weights: np.ndarray

    def probabilities(self, clauses: Sequence[Clause]) -> np.ndarray:
        """Returns the probability of each class for each of *clauses*, which are all of one review, shape (clauses, 5)."""
        scores = np.zeros((len(clauses), NONE + 1))
        for row, clause in enumerate(clauses):
            known = [self.rows[name] for name in features(clause, len(clauses)) if name in self.rows]
            scores[row] = self.weights[known].sum(axis=0) / SCALE
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


def features(clause: Clause, clauses: int) -> set[str]:
    """Returns the names of the features of *clause*, which is one of *clauses* in its review."""
    words = _WORD.findall(_NUMBER.sub("0", clause.text.lower()).replace("’", "'"))[:_WORDS_READ]
    present = {"(any)", f"(section {clause.kind})", f"(length {min(len(words) // 4, 7)})", *words}
    present |= {f"{word[:_STEM]}*" for word in words if len(word) > _STEM + 1}
    present |= {f"{first} {second}" for first, second in pairwise(["^", *words, "$"])}
    present |= {f"(of more than {number})" for number in _LENGTHS if clauses > number}
    return present | {name for name, has in (("(asks)", clause.asks), ("(contrast)", clause.contrast)) if has}


@cache
def shipped() -> StanceModel:
    """Returns the shipped model, from ``data/judgments``; raises `SourceError` if it cannot be read."""
    return load(resource("data", "judgments", "weights.tsv"))


def load(path: Path) -> StanceModel:
    """Reads a model from *path*, a text file with columns separated by tabs.

    After a header line, each line holds the name of a feature and five whole numbers, its weights. Raises `SourceError`
    if the file cannot be read.
    """
    try:
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]
        weights = np.array([[int(number) for number in row[1:]] for row in rows], float).reshape(-1, NONE + 1)
    except (OSError, ValueError) as error:
        raise SourceError(f"the weights of judgments by rule cannot be read from {path}: {error}") from error
    return StanceModel({row[0]: index for index, row in enumerate(rows)}, weights)
