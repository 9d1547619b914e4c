"""Writes the judgments of a review by rule: without an LM, and with the same lines every time.

This rule can replace an LM that gets the prompt of Xu et al. 2025, C.1. A log-linear model (`stances`) decides which
sentences of the review are judgments, and whether each appreciates, criticizes, questions or suggests. Each judgment
becomes one line: its stance, and the sentence word for word. Line breaks and most list marks have no effect (see
`split_into_review_sentences`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache

from gre_bench.core.known_names import format_name_list
from gre_bench.core.resources import load_word_lists
from gre_bench.core.review_text import find_heading, split_into_sections
from gre_bench.core.terminal import counted
from gre_bench.writing.rules.stances import NONE, STANCES, ReviewSentence, load_shipped_model

WRITER = "rule-judgments-4"

_REMEMBERED = 2_000
"""Number of reviews whose judgments stay in memory, so that the step after an import need not compute them again."""

_SURE = 0.12
"""A sentence counts as a judgment if its probabilities of the four stances add up to at least this much.

Half as much suffices in a review that would otherwise have no judgment.
"""

_ALIKE = 0.7
"""Share of common content words above which two lines say nearly the same."""

_COMPARED = 100
"""Number of earlier lines with which a line is compared."""

_SHORTEST, _LONGEST = 3, 2_000
"""The fewest words and the most characters of a line."""

_FUNCTION_SHARE = 0.15
"""The lowest share of function words in a sentence of six or more words; lists of keywords have a lower share."""

_PASSAGE = 25
"""The fewest words of a paragraph of prose in a paper."""

_NAMED = 5
"""The maximum number of papers that a line of `describe_lost_text` names."""

_FUNCTION = frozenset(load_word_lists()["function"])
_NO_JUDGMENT = re.compile(
    r"\bthank(?:s|ful)?\b|^\W*(?:please )?(?:see|refer to) (?:the )?(?:above|below|strengths?|weakness\w*)\b", re.I
)
"""Matches thanks, and mere references to other parts of the review."""
_WORD = re.compile(r"[a-z][\w'-]*")
_HTML = re.compile(
    r"</?(?:p|div|section|h[1-6]|[ou]l|li|d[ldt]|br|hr|table|t[rdh]|blockquote|pre)(?:\s[^<>]*)?/?>|"
    r"</(?:b|strong|i|em|u|a|span|font)\s*>|&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[\da-f]{1,6});",
    re.I,
)
"""Matches HTML tags of headings, lists and paragraphs, end tags such as ``</b>`` but not ``<b>``, and character entities."""


@lru_cache(_REMEMBERED)
def write_rule_judgments(review: str) -> str:
    """Returns the judgments of *review*, one on each line; empty if there are none.

    Of several sentences that say nearly the same, only the first is kept.
    """
    lines: list[str] = []
    kept: list[frozenset[str]] = []
    sentences = split_into_review_sentences(review)
    claims = [(claim, content) for claim in sentences if (content := _extract_content_words(claim.text))]
    chances = load_shipped_model().probabilities([claim for claim, _ in claims], len(sentences))[:, :NONE]
    sure = _SURE if chances.sum(axis=1).max(initial=0) >= _SURE else _SURE / 2
    for (claim, content), stances in zip(claims, chances, strict=True):
        if stances.sum() >= sure and not any(_is_nearly_same(content, other) for other in kept[-_COMPARED:]):
            kept.append(content)
            lines.append(f"The reviewer {STANCES[int(stances.argmax())]} {claim.text}")
    return "\n".join(lines)


def split_into_review_sentences(review: str) -> list[ReviewSentence]:
    """Returns the sentences of *review* in order, without headings, and without markup at either end.

    Sentences in the review's list of references are left out. In a section of strengths and weaknesses, the list mark
    "+" stands for a strength, and "-" for a weakness.
    """
    claims = []
    for section in split_into_sections(review):
        signs = [sentence.mark.strip(" ()\t>") for sentence in section.sentences]
        kind = section.kind
        for sign, sentence in zip(signs, section.sentences, strict=True):
            if section.kind == "mixed" and "+" in signs:
                kind = "strengths" if sign == "+" else "weaknesses" if sign == "-" else kind
            length, kind = find_heading(sentence.text, kind)
            text = " ".join(sentence.text[length:_LONGEST].split()).strip("*_ ")
            if text and kind != "references":
                claims.append(ReviewSentence(text, kind))
    return claims


def describe_lost_text(reviews: Sequence[tuple[str, str]]) -> list[str]:
    """Returns a line for each way in which `write_rule_judgments` loses or misreads text of *reviews*.

    *reviews*: pairs (paper id, review). The ways are: it cuts a long sentence, it reads HTML tags as text, or it finds
    no judgment in a review.
    """
    cut = {paper: count for paper, text in reviews if (count := _count_cut_sentences(text))}
    tagged = sum(bool(_HTML.search(text)) for _, text in reviews)
    silent = [paper for paper, text in reviews if not write_rule_judgments(text)]
    lines = []
    if cut:
        lines.append(
            f"{counted(sum(cut.values()), 'sentence')} longer than {_LONGEST:,} characters: {WRITER} reads no further "
            f"({format_name_list(cut, _NAMED)})"
        )
    if tagged:
        lines.append(
            f"{tagged:,} of {counted(len(reviews), 'review')} with HTML tags or entities, which {WRITER} reads as text: convert "
            "them to plain text or Markdown first"
        )
    if silent:
        lines.append(
            f"no judgment in {counted(len(silent), 'review')} ({format_name_list(silent, _NAMED)}): {WRITER} reads English "
            "sentences"
        )
    return lines


def _count_cut_sentences(review: str) -> int:
    sections = split_into_sections(review) if len(review) > _LONGEST else ()
    return sum(
        len(sentence.text) > _LONGEST
        for section in sections
        if section.kind != "references"
        for sentence in section.sentences
    )


def write_passage_judgments(text: str, size: int, seed: int) -> str:
    """Returns at least *size* characters of judgments from consecutive paragraphs of *text*, or fewer at its end.

    *seed* decides which paragraph is the first. It is never in the first fifth of the text, where a paper has its
    abstract and introduction.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if len(part.split()) >= _PASSAGE]
    first = random.Random(f"passage {seed} {text[:200]}").randrange(len(paragraphs) // 5, len(paragraphs) or 1)
    lines: list[str] = []
    for paragraph in paragraphs[first:]:
        lines += write_rule_judgments(paragraph).splitlines()
        if sum(map(len, lines)) >= size:
            break
    return "\n".join(lines)


def _extract_content_words(text: str) -> frozenset[str]:
    """Returns the content words of *text*, or the empty set if *text* cannot be a judgment.

    Short texts, thanks, references to other parts of the review, and lists of keywords cannot be judgments.
    """
    words = _WORD.findall(text.lower().replace("’", "'"))
    listed = len(words) >= 6 and sum(word in _FUNCTION for word in words) < _FUNCTION_SHARE * len(words)
    silent = len(text.split()) < _SHORTEST or listed or _NO_JUDGMENT.search(text)
    return frozenset() if silent else frozenset(words) - _FUNCTION


def _is_nearly_same(content: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two lines with the content words *content* and *other* say nearly the same."""
    shared = len(content & other)
    return content == other or (shared > 1 and shared > _ALIKE * min(len(content), len(other)))
