"""Writes the judgments of a review by rule: its sentences unchanged, each after an opening that states the stance.

This replaces an LM with the prompt of Xu et al. 2025, C.1: "The reviewer criticizes", then the sentence. The section, a
question mark and cue words decide between appreciates, criticizes, questions and suggests. The summary of the paper,
thanks, the list of references and lists of keywords do not become judgments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gre_bench.core.review_text import Kind, heading_in, split

WRITER = "rule-judgments-4"
Stance = Literal["appreciates", "criticizes", "questions", "suggests"]
STANCES: tuple[Stance, ...] = ("appreciates", "criticizes", "questions", "suggests")

_REMEMBERED = 2_000
"""How many reviews' judgments are cached, because an import describes the judgments that the next step stores."""

_SHORTEST = 3
_LONGEST = 2_000
_ALIKE = 0.7
"""The share of common content words above which two sentences count as duplicates; only the first makes a line."""
_COMPARED = 100
"""The number of earlier lines with which a line is compared."""
_FEWEST_FUNCTION_WORDS = 0.15
"""The least share of function words in a sentence of at least six words; lists of keywords have fewer."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION = _words(
    "the a an of to in for and or is are be that this it with as on by from not at which their its how whether if more "
    "has have was were than can would could should does do what why but so i we they you there been will may might "
    "very also some these those when where no"
)
_BLAMES = _words(
    "not no nor never neither without cannot missing misses insufficient insufficiently inadequate inadequately "
    "incremental limited confused confusing wrong wrongly incorrect incorrectly hard difficult concern concerns "
    "concerned issue issues problem problems problematic flaw flaws flawed only too overclaims overclaimed however but "
    "unfortunately although little few marginal marginally trivial questionable vague doubt doubts doubtful skeptical "
    "sceptical disappointing worse expensive ad-hoc redundant reject rejection less drawback drawbacks limitation "
    "limitations shortcoming shortcomings lack lacks lacking weak weakness weaknesses weaker poor poorly fail fails "
    "failed failing unclear unconvincing unfair unjustified unrealistic unsupported unsubstantiated"
)
_PRAISES = _words(
    "clear clearly interesting interestingly novel novelty original originality strong strongly good great nice nicely "
    "excellent thorough thoroughly extensive extensively comprehensive convincing convincingly impressive easy "
    "important importance significant significantly significance solid sound promising elegant useful effective "
    "effectively effectiveness appreciate appreciated like enjoyed enjoy valuable insightful intuitive reasonable "
    "innovative timely creative simple outperform outperforms improve improves improved improvement improvements "
    "state-of-the-art accept acceptance strength strengths robust relevant competitive principled rigorous rigorously "
    "careful carefully neat motivated sufficient better advantage advantages contribution contributions new"
)
_REQUESTS = re.compile(
    r"\b(?:should|suggest\w*|recommend\w*|please|ought|typos?|must be|needs? to|needed to|"
    r"(?:would|I'd) (?:also )?(?:like|love|appreciate|prefer)|would be (?:\w+ )?(?:good|better|nice|great|interesting|"
    r"helpful|useful|beneficial|valuable)|(?:would|could|can|might|may) (?:also )?(?:be )?(?:help|benefit|improved?|"
    r"add(?:ed)?|included?))\b",
    re.I,
)
_WONDERS = re.compile(
    r"\b(?:wonder(?:ing)?|curious|(?:not|un) ?(?:\w+ )?(?:sure|clear|certain|obvious)(?: to me)?,? (?:why|how|what|"
    r"whether|if|which|when|where))\b",
    re.I,
)
_OF_SECTION: dict[Kind, Stance] = {"questions": "questions", "strengths": "appreciates", "weaknesses": "criticizes"}
_ASKS = re.compile(r"\?[\"')\]*_]*$")
_ASKS_FOR = re.compile(
    r"\W*(?:could|can|would|will) (?:you|the authors?) (?!(?:\w+ )?(?:clarify|explain|elaborate|justify|discuss|"
    r"comment|describe|specify))",
    re.I,
)
"""Matches requests in the form of a question."""
_NO_JUDGMENT = re.compile(
    r"\bthank(?:s|ful)?\b|^\W*(?:please )?(?:see|refer to) (?:the )?(?:above|below|strengths?|weakness\w*)\b", re.I
)
"""Matches thanks, and sentences that only refer to other parts of the review."""
_WORD = re.compile(r"[a-z][\w'-]*")


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a line, for comparisons (`tests.bench.bench_writer_forms`); the default is the selected form."""

    cut: bool = False
    stance: bool = True
    longest: int = 0
    by_stance: bool = False
    summary: bool = False
    silent: bool = True
    alike: float = _ALIKE
    colon: str = ""


@lru_cache(_REMEMBERED)
def judgments_of(review: str, form: Form = Form()) -> str:
    """Returns the judgments of *review*, one per line; empty if there are none.

    If the review has no text outside its summary, the summary is read as the review.
    """
    lines = list(_lines(review, form, form.summary)) or list(_lines(review, form, summary=True))
    if form.by_stance:
        lines.sort(key=lambda line: STANCES.index(line[0]))
    return "\n".join(f"The reviewer {stance}{form.colon} {text}" for stance, text in lines)


_CUT = re.compile(
    r"\s*;\s+|,?\s+(?:but|however|yet|although|though|whereas|while)(?: also)?,?\s+(?=(?:the|it|this|there|i|its|their|"
    r"some|they|these|not|lacks?|is|are|authors?|a|an|no|more|in|my|we|only|seems?|has|have|does|many|what|how)\b)|"
    r",?\s+(?:and|so)\s+(?=(?:the|it|this|there|i|its|some|their|they|these|authors?)\s+[\w-]+)",
    re.I,
)


def _lines(review: str, form: Form, summary: bool) -> Iterator[tuple[Stance, str]]:
    seen: list[frozenset[str]] = []
    for kind, sentence in _sentences(review):
        if kind == "references" or (kind == "summary" and not summary):
            continue
        for text in _CUT.split(sentence) if form.cut else [sentence]:
            words = _WORD.findall(text.lower().replace("’", "'"))
            content = frozenset(words) - FUNCTION
            if not content or not _says(text, words) or any(_same(content, other, form) for other in seen[-_COMPARED:]):
                continue
            stance = stance_of(text, frozenset(words), kind)
            if stance is None and not form.silent:
                continue
            seen.append(content)
            kept = " ".join(text.split()[: form.longest]) if form.longest else text
            yield (stance or "criticizes") if form.stance else "criticizes", kept


def _sentences(review: str) -> Iterator[tuple[Kind, str]]:
    """Yields the sentences of *review* with their kinds of section; "+" marks strengths, "-" weaknesses."""
    for section in split(review):
        signs = [sentence.mark.strip(" ()\t>") for sentence in section.sentences]
        kind = section.kind
        for sign, sentence in zip(signs, section.sentences, strict=True):
            if section.kind == "mixed" and "+" in signs:
                kind = "strengths" if sign == "+" else "weaknesses" if sign == "-" else kind
            length, kind = heading_in(sentence.text, kind)
            yield kind, " ".join(sentence.text[length:_LONGEST].split()).strip("*_ ")


def _says(text: str, words: list[str]) -> bool:
    """Whether *text* is a sentence that may judge: neither thanks, nor a reference, nor a list of keywords."""
    if len(text.split()) < _SHORTEST or _NO_JUDGMENT.search(text):
        return False
    return len(words) < 6 or sum(word in FUNCTION for word in words) >= _FEWEST_FUNCTION_WORDS * len(words)


def _same(content: frozenset[str], other: frozenset[str], form: Form) -> bool:
    shared = len(content & other)
    return shared > form.alike * min(len(content), len(other)) and (shared > 1 or content == other)


def stance_of(text: str, words: frozenset[str], kind: Kind) -> Stance | None:
    """Returns the stance of *text*, in a section of *kind* and with the words *words*; None if it is unknown."""
    if _ASKS.search(text):
        return "suggests" if _ASKS_FOR.match(text) else "questions"
    if _WONDERS.search(text):
        return "questions"
    if kind == "minor" or _REQUESTS.search(text):
        return "suggests"
    if kind in _OF_SECTION:
        return _OF_SECTION[kind]
    praises = len(words & _PRAISES) + any(word.startswith("well") for word in words)
    blames = len(words & _BLAMES) + any(word.endswith("n't") for word in words)
    return None if not praises + blames else "appreciates" if praises > blames else "criticizes"
