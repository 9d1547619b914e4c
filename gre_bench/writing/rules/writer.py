"""Writers by rule: they need no LM, cost nothing and write the same text every time.

They replace LMs where no LM is available.

- ``rule`` writes everything except reviews.
- ``rule-2`` only rephrases, in another style than ``rule``.
- ``extractive-full`` and ``extractive-abstract`` write reviews.

The functions that change a review replace an LM with a prompt of Xu et al. 2025: `completed` for D.3.2, `review_of`
for D.3.3, `summaries_of` for D.4.2, and `rephrased`, in two styles, for the two LMs of D.4.1.

In each rephrased sentence, phrases of ``data/rules/phrases.tsv`` are replaced by others with the same meaning. Some
clauses are moved. Style 1 turns "Although A, B." into "B, although A."; style 2 turns "B because A." into "Because A,
B.". Headings, list marks, formulas and line breaks do not change, nor does the meaning of any judgment. Text that no
rule covers does not change either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from gre_bench.changes.catalog import CHANGES, WriterTask, check
from gre_bench.changes.edits import MISSING, blanked, elongated
from gre_bench.changes.material import ChangeInput
from gre_bench.core.errors import ChangeError, SettingsError
from gre_bench.core.records import Paper, Written
from gre_bench.core.resources import resource
from gre_bench.core.review_text import Kind, Section, join, split
from gre_bench.writing.rules import extractive, judgments, synopsis
from gre_bench.writing.rules.claims import UNFINISHED
from gre_bench.writing.rules.extractive import review_of as extracted
from gre_bench.writing.rules.judgments import judgments_of

RULE = "rule"
EXTRACTIVE: dict[str, extractive.Kind] = {"extractive-full": "full", "extractive-abstract": "abstract"}
"""The writers of reviews by rule, which serve as controls, each with what it reads."""

STYLES = {RULE: 1, "rule-2": 2}
"""Writer by rule that can rephrase → its style."""

NAMES = (RULE, *EXTRACTIVE, "rule-2")
WRITERS = {"completion": "rule-completion-1", "abstract_only": "rule-abstract-only-1",
           "elongation": "rule-elongation-3"}  # fmt: skip
REPHRASERS = {1: "rule-rephrase-1", 2: "rule-rephrase-2"}
"""Style → the name of its writer in records and signatures."""
_IDENTITIES = {"judgments": judgments.WRITER, "assw": synopsis.WRITER, **WRITERS}


class RuleTextWriter:
    """A `TextWriter` by rule. *name* is one of `NAMES`.

    `identity`, `reviews` and `changed` raise `SettingsError` if this writer cannot do the task.
    """

    def __init__(self, name: str):
        self.name = name

    def identity(self, task: str) -> str:
        if task == "rephrase":
            return REPHRASERS[self._style(task)]
        if self.name in STYLES and self.name != RULE:
            raise SettingsError(f"writer {self.name} only rephrases; for {task} take {RULE} or a model")
        return _IDENTITIES.get(task, f"{self.name}-1")

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]:
        return [_by_rule(item, judgments.judgments_of(text), "no_judgments") for item, text in reviews]

    def assw(self, papers: Sequence[Paper]) -> list[Written]:
        return [_by_rule(paper.paper_id, _assw_of(paper), "no_text") for paper in papers]

    def reviews(self, papers: Sequence[Paper]) -> list[Written]:
        if self.name not in EXTRACTIVE:
            raise SettingsError(f"writer {self.name} writes no reviews; reviewers by rule: {', '.join(EXTRACTIVE)}")
        return [_review(paper, EXTRACTIVE[self.name]) for paper in papers]

    def changed(self, task: WriterTask, items: Sequence[ChangeInput]) -> list[Written]:
        style = 0 if task in WRITERS else self._style(task)
        return answered(task, items, lambda able: [_changed(task, item, style) for item in able])

    def _style(self, task: str) -> int:
        if self.name not in STYLES:
            known = ", ".join(STYLES)
            raise SettingsError(f"writer {self.name} cannot do the task {task}; writers by rule that can: {known}")
        return STYLES[self.name]


def answered(
    task: WriterTask, items: Sequence[ChangeInput], write: Callable[[Sequence[ChangeInput]], list[Written]]
) -> list[Written]:
    """Lets *write* change those of *items* that *task* can change; the others get the code of their `ChangeError`."""
    change = next(change.name for change in CHANGES.values() if change.task == task)
    results: dict[int, Written] = {}
    for index, item in enumerate(items):
        try:
            check(change, "review", item)
        except ChangeError as error:
            results[index] = Written(item.key, None, error.code, str(error))
    able = [index for index in range(len(items)) if index not in results]
    results |= dict(zip(able, write([items[index] for index in able]) if able else (), strict=True))
    return [results[index] for index in range(len(items))]


def _changed(task: WriterTask, item: ChangeInput, style: int) -> Written:
    if task == "completion":
        return _by_rule(item.key, completed(item), "no_text")
    if task == "abstract_only":
        return _by_rule(item.key, review_of(item.title, item.abstract or ""), "no_review")
    if task == "rephrase":
        return _by_rule(item.key, rephrased(item.text, style), "no_text")
    strengths, weaknesses = summaries_of(item.text)
    if not strengths or not weaknesses:
        lacking = "strengths" if not strengths else "weaknesses"
        return Written(item.key, None, "no_summary", f"no {lacking} were found by rule")
    return Written(item.key, elongated(item, strengths, weaknesses), "ok")


def _review(paper: Paper, kind: extractive.Kind) -> Written:
    if not (paper.text if kind == "full" else paper.abstract):
        return Written(paper.paper_id, None, "no_text" if kind == "full" else "no_abstract")
    review = extractive.review_of(paper.title, paper.abstract, paper.text, kind)
    return _by_rule(paper.paper_id, review, "no_review")


def _assw_of(paper: Paper) -> str:
    if not paper.text and not paper.abstract:
        return ""
    strengths, weaknesses = synopsis.assw_of(paper.abstract, paper.text or "")
    return synopsis.assw_text(strengths, weaknesses) if strengths or weaknesses else ""


def _by_rule(item: str, text: str, problem: str) -> Written:
    return Written(item, text, "ok") if text else Written(item, None, problem)


_LONGEST_CLAIM = 12
"""The most words of a claim that a summary keeps."""

_ASPECTS = (
    "The abstract is written in a clear way. The quality of the work seems reasonable from its description. The "
    "novelty over existing work is not easy to judge. Whether the results can be reproduced depends on details that "
    "the abstract does not give."
)
_VERDICT = (
    "{summary} The topic is relevant, and the claims of the abstract are promising. The evidence for them has to be "
    "convincing for the paper to be accepted."
)


@cache
def vague() -> tuple[str, ...]:
    """Returns sentences that fit a review of any paper: they neither judge nor name anything."""
    return tuple(resource("data", "rules", "vague.txt").read_text("utf-8").splitlines())


def completed(material: ChangeInput) -> str:
    """Returns the review with vague sentences for the deleted ones, none of them twice before all have been used."""
    chance = material.chance("completion")
    first, *pieces = blanked(material).split(MISSING)
    fillers: list[str] = []
    while len(fillers) < len(pieces):
        fillers += chance.sample(vague(), len(vague()))
    return first + "".join(filler + piece for filler, piece in zip(fillers, pieces, strict=False))


def review_of(title: str, abstract: str) -> str:
    """Returns a review in four sections, in the form of reviews at ICLR 2023, from title and abstract alone.

    The first two sections come from the rule `extractive`; the last two say what holds for any abstract. The review is
    empty if the rule finds nothing.
    """
    parts: dict[Kind, Section] = {part.kind: part for part in split(extracted(title, abstract, None, "abstract"))}
    if not parts:
        return ""
    summary = " ".join(sentence.text for sentence in parts["summary"].sentences)
    lists: list[str] = []
    for kind in ("strengths", "weaknesses", "questions"):
        points = [f"{number}. {sentence.text}" for number, sentence in enumerate(parts[kind].sentences, start=1)]
        lists.append("\n".join([f"{kind.capitalize()}:", *points]))
    sections = (
        ("Summary Of The Paper", summary),
        ("Strength And Weaknesses", "\n\n".join(lists)),
        ("Clarity, Quality, Novelty And Reproducibility", _ASPECTS),
        ("Summary Of The Review", _VERDICT.format(summary=summary)),
    )
    return "\n\n".join(f"{heading}:\n\n{text}" for heading, text in sections)


def summaries_of(review: str) -> tuple[str, str]:
    """Returns (phrase of strengths, phrase of weaknesses) of *review*; a phrase is empty if there is nothing to sum up.

    Each joins the first two claims that the review appreciates or criticizes, cut if they are long. Without criticism,
    suggestions count as weaknesses; without these, questions do.
    """
    claims: dict[str, list[str]] = {}
    for line in judgments_of(review).splitlines():
        stance, claim = line.removeprefix("The reviewer ").rstrip(".").split(" ", 1)
        claims.setdefault(stance, []).append(claim)
    weak = claims.get("criticizes") or claims.get("suggests") or claims.get("questions") or []
    return _phrase(claims.get("appreciates", [])), _phrase(weak)


def _phrase(claims: Sequence[str]) -> str:
    kept = []
    for claim in claims[:2]:
        words = claim.split()[:_LONGEST_CLAIM]
        while len(words) > 1 and words[-1].lower().strip(",;:(") in UNFINISHED:
            words.pop()
        kept.append(" ".join(words).rstrip(" ,;:(-"))
    return " and ".join(kept)


_LONGEST_SENTENCE = 2000
_FRONT = re.compile(r"(Although|While|Since|Because|If|When|Though|Given that) ([^,;:?!]{8,200}), ([^:;?!]{8,300})\.")
_BACK = re.compile(r"([^,;:?!]{8,200}?),? (because|although|though) ([^,;:?!]{8,200})\.")
_TIED = re.compile(
    r"\b(?:is|are|was|be|not|only|just|simply|mainly|mostly|partly|even|probably|perhaps|primarily|possibly|maybe|and|or)$"
)
"""Words after which a clause cannot move ("this is because ...")."""
_ANSWERED = re.compile(r"(?:then|but|yet|and|so)\b")
_UNCLEAR = re.compile(r"It(?: is|'s) (?:unclear|not clear) (whether|how|why|what|which) ([^,;:?!]{8,200})\.")
_FORMULA = re.compile(r"(\$[^$\n]{0,300}\$|\"[^\"\n]{0,300}\")")
_VOWEL = re.compile(r"(?!one\b|uni|us[ea]|eu)[aeiou]", re.IGNORECASE)
_NAME = re.compile(r"I\b|[A-Z]\w*[A-Z\d]")


def rephrased(review: str, style: int) -> str:
    """Returns *review* rephrased in *style* 1 or 2; keeps the white space between sentences."""
    sections = split(review)
    return join(
        replace(
            section,
            sentences=tuple(replace(sentence, text=_sentence(sentence.text, style)) for sentence in section.sentences),
        )
        for section in sections
    )


def _sentence(text: str, style: int) -> str:
    if len(text) > _LONGEST_SENTENCE:
        return text
    pieces = _FORMULA.split(_reordered(text, style))
    pieces[::2] = [_any_phrase().sub(partial(_other_words, style=style), piece) for piece in pieces[::2]]
    return "".join(pieces)


def _reordered(text: str, style: int) -> str:
    """Moves the subordinate clause of a sentence, if any: to the end in style 1, to the front in style 2."""
    if ". " in text:
        return text
    if style == 1:
        front = _FRONT.fullmatch(text)
        if not front or _ANSWERED.match(front[3]):
            return text
        comma = "" if front[1] in ("If", "When") else ","
        return f"{_capital(front[3])}{comma} {front[1].lower()} {front[2]}."
    if unclear := _UNCLEAR.fullmatch(text):
        return f"{_capital(unclear[1])} {unclear[2]} is unclear."
    back = _BACK.fullmatch(text)
    if not back or _TIED.search(back[1]):
        return text
    return f"{_capital(back[2])} {back[3]}, {_small(back[1])}."


@cache
def phrases() -> dict[str, tuple[str, str]]:
    """Returns phrase in lower case → its replacements in styles 1 and 2, of the same part of speech and number."""
    lines = resource("data", "rules", "phrases.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {phrase: (first, second) for phrase, first, second in rows}


@cache
def _any_phrase() -> re.Pattern[str]:
    """Returns a pattern of any phrase of `phrases`, the longest first, and of "a" or "an" before it."""
    longest = sorted(phrases(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:(an?) )?({'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE)


def _other_words(phrase_match: re.Match[str], style: int) -> str:
    words = phrases()[phrase_match[2].lower()][style - 1]
    if not phrase_match[1]:
        return (
            _capital(words)
            if phrase_match[2][0].isupper() and not phrase_match[2].startswith("I ")
            else _first_person(words)
        )
    article = "an" if _VOWEL.match(words) else "a"
    return f"{_capital(article) if phrase_match[1][0].isupper() else article} {words}"


def _first_person(words: str) -> str:
    return re.sub(r"\bi\b", "I", words)


def _capital(text: str) -> str:
    return _first_person(text[:1].upper() + text[1:])


def _small(text: str) -> str:
    """Returns *text* with a small first letter, unless it begins with "I", a name or an acronym."""
    return text if _NAME.match(text) else text[:1].lower() + text[1:]
