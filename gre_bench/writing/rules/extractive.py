"""Writes reviews by rule, with the help of cue words. The reviews serve as controls that show what a score is worth.

A review of the kind ``full`` is made from the whole paper: its claims, its stated limitations and its experiments. Such
a review also criticizes the lack of common items, such as an ablation, error bars, code or cost. A review of the kind
``abstract`` is made from title and abstract alone. It praises the paper's claims, and asks for details that the
abstract leaves out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from gre_bench.core.resources import load_patterns, load_word_lists
from gre_bench.core.terminal import join_with_and
from gre_bench.writing.rules.synopsis import extract_assw_sentences, statements, weigh_as_strength

Kind = Literal["full", "abstract"]

_POINTS = {"full": 6, "abstract": 4}
_FEW_DATASETS = 2

_KNOWN_DATA = (
    r"(?:Fashion-?|K|E)?MNIST|CIFAR-?100?|(?:Tiny-?|mini-?|tiered)?ImageNet(?:-\w+)?|SVHN|STL-?10|CelebA|LSUN|"
    r"MS-?COCO|COCO|Pascal ?VOC|Cityscapes|ADE20K|KITTI|nuScenes|ShapeNet|ModelNet\d*|Kinetics|GLUE|SuperGLUE|SQuAD|"
    r"MNLI|SST-2|IMDB|WMT ?\d\d|IWSLT ?\d\d|WikiText-?\d*|Penn Treebank|PTB|LibriSpeech|TIMIT|MuJoCo|Atari|DMControl|"
    r"D4RL|Meta-World|Cora|Citeseer|PubMed|OGB\w*|Reddit|PPI|QM9|ZINC|MovieLens|Omniglot|CUB(?:-200)?|iNaturalist|"
    r"DomainNet|Office-Home|PACS|C4|LAION|GSM8K|MATH|MMLU|HumanEval|UCI"
)
_DATA = re.compile(
    rf"\b(?:{_KNOWN_DATA})\b|"
    r"\b[A-Z][A-Za-z]{0,20}[A-Z\d][\w-]{0,20}(?= (?:data ?sets?|benchmarks?|corpus))"
)
_NAMED = re.compile(
    r"\b(?:called|named|dubbed|termed|propose|introduce|present)\s+(?:the |a |an "
    r")?([A-Z][A-Za-z]{0,20}[A-Z\d][\w+-]{0,20}|[A-Z][a-z]{1,20}[A-Z]\w{0,20})"
)
_ACRONYM = re.compile(r"\(([A-Z][A-Za-z]{0,20}[A-Z\d][\w-]{0,20})\)")
_TITLE_NAME = re.compile(r"^([\w+-]{2,30}):\s")
_RIVAL = re.compile(
    r"\b(?:outperform\w*|compar\w+ (?:with|to|against)|better than|baselines? (?:such as|including|"
    r"like)|superior to)\s+(?:the |both )?([A-Z][A-Za-z]{0,20}[A-Z\d][\w-]{0,20})"
)
_ASSUMES = re.compile(r"\b(?:we assume|assum(?:es?|ing)|under the assumption) that ([^.;,$\\]{15,120})")
_FORMULA = re.compile(r"\$[^$\n]{0,300}\$|\\\(.{0,300}?\\\)")

_CUES: dict[str, dict[str, str]] = load_patterns("cues")
_PERSONS = (
    (re.compile(r"\b[Ww]e are\b"), "the authors are"),
    (re.compile(r"\b[Ww]e\b"), "the authors"),
    (re.compile(r"\b[Oo]urs?\b"), "the proposed"),
    (re.compile(r"\bus\b"), "the authors"),
    (re.compile(r"\bthe proposed (?:proposed|novel|new)\b"), "the proposed"),
    (
        re.compile(
            r"\bthe proposed (results?|experiments?|contributions?|code|work|paper|goals?|knowledge|findings?)\b"
        ),
        r"the \1",
    ),
)
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{2,}")
_COMMON = frozenset(load_word_lists()["common"])


def write_extractive_review(title: str, abstract: str | None, text: str | None, kind: Kind) -> str:
    """Returns a review in four sections, each a list of sentences; empty if the paper lacks the text that *kind* needs.

    The kind ``full`` uses the whole paper; ``abstract`` uses only title and abstract.
    """
    if not (text if kind == "full" else abstract):
        return ""
    body = text if text and kind == "full" else ""
    words = _PaperTerms(title, abstract, body)
    strong, weak = extract_assw_sentences(abstract, body)
    if kind == "full":
        strengths, weaknesses, questions = _assess_full_text(words, body, weak)
    else:
        strengths, weaknesses, questions = _assess_abstract_alone(words)
    claims = _rank_strengths(abstract, body, strong)[: _POINTS[kind]]
    return "\n\n".join(
        f"{heading}:\n" + "\n".join(f"- {point}" for point in points)
        for heading, points in (
            ("Summary", [f"The paper studies {words.term}" + (f" and proposes {words.name}." if words.name else ".")]),
            ("Strengths", [*map(_put_in_third_person, claims), *strengths]),
            ("Weaknesses", weaknesses),
            ("Questions", questions),
        )
    )


class _PaperTerms:
    def __init__(self, title: str, abstract: str | None, body: str):
        lead = f"{title}. {abstract or ''}"
        title = " ".join(title.split())[:200]
        names = [
            *_TITLE_NAME.findall(title),
            *_NAMED.findall(lead),
            *_ACRONYM.findall(lead),
            *_NAMED.findall(body[:20_000]),
        ]
        self.title = title
        self.name = names[0] if names else ""
        self.method = self.name or "the proposed method"
        self.terms = _find_frequent_terms(f"{title}. {title}. {lead} {_FORMULA.sub(' ', body)}")
        self.term = self.terms[0] if self.terms else title or "the problem"
        self.data = list(dict.fromkeys(_DATA.findall(f"{lead} {body}")))
        self.rivals = [name for name, _ in Counter(_RIVAL.findall(f"{lead} {body}")).most_common() if name != self.name]
        self.rival = self.rivals[0] if self.rivals else "the baselines"

    def fill_in_names(self, sentence: str) -> str:
        return sentence.format(method=self.method, term=self.term, rival=self.rival)


def _assess_full_text(words: _PaperTerms, body: str, admitted: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Returns (strengths, weaknesses, questions) found by cue words in *body*.

    The weaknesses begin with the first four of *admitted*, which the authors admit themselves.
    """
    present = {cue for cue, row in _CUES.items() if re.search(row["words"], body, re.I)}
    strengths = [
        words.fill_in_names(row["present"]) for cue, row in _CUES.items() if cue in present and "present" in row
    ]
    weaknesses = [_put_in_third_person(point) for point in admitted[:4]]
    if len(words.data) > _FEW_DATASETS:
        strengths.append(f"The experiments are extensive and cover {join_with_and(words.data[:5])}.")
    elif words.data:
        weaknesses.append(f"The experiments are limited to {join_with_and(words.data)}.")
    else:
        weaknesses.append(f"The experiments on {words.term} use no standard benchmark.")
    weaknesses += [
        words.fill_in_names(row["absent"]) for cue, row in _CUES.items() if cue not in present and "absent" in row
    ]
    weaknesses.append(_format_novelty_sentence(words))
    questions = [
        f"Does {words.method} still work when the assumption that {assumed.strip()} is violated?"
        for assumed in _ASSUMES.findall(_FORMULA.sub("", body))[:2]
    ]
    if "sensitivity" not in present:
        questions.append(f"How sensitive is {words.method} to its hyperparameters?")
    if "failures" not in present:
        questions.append(f"What are the failure cases of {words.method}?")
    questions += [
        f"How does {words.method} compare with {rival} on {term}?"
        for rival, term in zip(words.rivals[1:3], words.terms[1:3], strict=False)
    ]
    questions.append(f"How does {words.method} scale to larger problems of {words.term}?")
    return strengths, weaknesses, questions


def _assess_abstract_alone(words: _PaperTerms) -> tuple[list[str], list[str], list[str]]:
    second = words.terms[1] if len(words.terms) > 1 else words.term
    strengths = [f"The problem of {words.term} is important and interesting."]
    if words.data:
        strengths.append(f"The experiments cover {join_with_and(words.data[:5])}.")
    weaknesses = [
        _format_novelty_sentence(words),
        f"The comparison of {words.method} with recent baselines seems limited.",
        f"It is hard to judge whether the experiments on {second} are sufficient.",
    ]
    questions = [
        f"How does {words.method} scale to larger problems of {words.term}?",
        f"Does {words.method} generalize beyond {second}?",
        f"Could the authors add an ablation study of {words.method}?",
    ]
    return strengths, weaknesses, questions


def _format_novelty_sentence(words: _PaperTerms) -> str:
    return f"The novelty of {words.method} over existing work on {words.term} is not clear."


def _rank_strengths(abstract: str | None, body: str, strong: Sequence[str]) -> list[str]:
    """Returns *strong*, the claimed strengths, strongest first; if there are none, the paper's first two sentences."""
    read = list(statements(abstract, body))
    weights = {statement.text: weigh_as_strength(statement) for statement in reversed(read)}
    first = [statement.text for statement in read[:2]]
    return sorted(strong, key=lambda point: -weights.get(point, 0)) or first


def _put_in_third_person(point: str) -> str:
    """Returns the authors' sentence *point* in the third person: "we show" becomes "the authors show"."""
    for pattern, word in _PERSONS:
        point = pattern.sub(word, point)
    point = point.rstrip(" .?!")
    return f"{point[0].upper()}{point[1:]}."


def _find_frequent_terms(text: str) -> list[str]:
    """Returns the six most frequent pairs of adjacent content words in *text*, the most frequent first."""
    pairs: Counter[str] = Counter()
    for piece in re.split(r"[^\w\s-]+|\n", text):
        words = piece.split()
        for first, second in pairwise(words):
            if _WORD.fullmatch(first) and _WORD.fullmatch(second) and not {first.lower(), second.lower()} & _COMMON:
                pairs[f"{first.lower()} {second.lower()}"] += 1
    return [pair for pair, _ in pairs.most_common(6)]
