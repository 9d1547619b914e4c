"""Splits a review into sections and sentences without loss.

For every text, ``join_sections(split_into_sections(text)) == text``.

A section starts at a line that names a part of a review, in one of the usual forms: "Summary Of The Paper:",
"**Strengths**", "# Questions", "<weaknesses>", "Clarity: good".
A sentence ends before a list item, at the end of a paragraph, and at ``. ? !`` if a new sentence may follow. The
periods in "e.g.", "et al.", "Fig. 3" and "0.85" do not end a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["summary", "strengths", "weaknesses", "mixed", "questions", "aspects", "verdict", "minor", "update",
               "references", "other"]  # fmt: skip
"""Kinds of sections. *aspects*: clarity, novelty and the like. *verdict*: the summary of the review."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as written, in three consecutive parts.

    *mark*: the list mark before the sentence, with its indent; empty if there is none.
    *text*: the sentence. *gap*: the blanks and line breaks after it.
    """

    mark: str
    text: str
    gap: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a review.

    *heading*: the heading as written, with the blanks after it; empty for text before the first heading.
    """

    kind: Kind
    heading: str
    sentences: tuple[Sentence, ...]

    @property
    def name(self) -> str:
        """The words of the heading in lower case, such as ``novelty`` for ``**Novelty:**``."""
        return _strip_heading_marks(self.heading)


_ASPECT = (
    r"(?:technical |overall )?(?:clarity|quality|novelty|originality|significance|reproducibility|soundness|"
    r"presentation|contributions?|correctness|importance|impact|writing|readability|rigou?r)"
)
_NAMES: dict[Kind, str] = {
    "verdict": (
        r"(?:overall )?(?:summary|conclusion) of (?:the |my )?review|justification.*|recommendation|"
        r"(?:overall )?(?:evaluation|assessment|rating|verdict)|conclusions?|overall|final (?:remarks|thoughts)"
    ),
    "summary": (
        r"(?:brief |short |paper )?summary(?: of (?:the |this )?(?:paper|work|submission|contributions?))?|"
        r"summary and contributions?|(?:main )?contributions? of the paper"
    ),
    "mixed": (
        r"(?:main )?(?:strengths?|pros?)(?: ?and | ?& ?| ?/ ?|, ?)(?:the )?(?:weakness(?:es)?|cons?|weak points)|"
        r"(?:main )?(?:review|comments|evaluation of the paper|detailed (?:review|comments|feedback)|(?:major|main|"
        r"general|other|additional|further) comments)"
    ),
    "strengths": (
        r"(?:the |main |major |key |paper )*(?:str?engh?t?hs?|strengthes|pros?|advantages?|positives?|(?:strong|"
        r"positive|good) (?:points?|aspects?|sides?)|reasons to accept|merits|"
        r"things (?:that )?i liked?)(?: of the paper)?(?: ?\(.*)?"
    ),
    "weaknesses": (
        r"(?:the |main |major |key |minor |paper |some )*(?:weakne?ss?e?s?|cons?|disadvantages?|negatives?|"
        r"drawbacks?|limitations?|concerns?|issues|problems|(?:weak|negative|bad) (?:points?|aspects?|sides?)|"
        r"(?:points|room|areas?|suggestions) (?:to|for) improve(?:ment)?|reasons to reject)(?: of the paper| ?\(.*|"
        r" ?(?:-|and|&|/) ?(?:questions?|comments|suggestions|limitations))?"
    ),
    "questions": (
        r"(?:some |other |additional |minor |open |detailed |further )*(?:questions?|clarifications?)(?: (?:for|"
        r"to) (?:the )?authors?| and .{1,30}| during rebuttal.*)?"
    ),
    "minor": (
        r"(?:other |some |very |more )*(?:minor|small)(?: ?(?:points?|comments?|issues?|remarks?|things?|details?|"
        r"suggestions?|corrections?|edits?|and typos))?s?|typos?.{0,20}|nit(?:s|picks?)|corrections?|suggestions?"
    ),
    "references": r"(?:missing )?(?:references?|refs?|bibliography|citations?)",
    "update": (
        r".{0,10}\b(?:update|(?:post|after)[ -](?:the )?(?:rebuttal|discussion|(?:author )?response)|"
        r"post-?rebuttal)\b.{0,30}"
    ),
    "aspects": rf"{_ASPECT}(?:(?:, and |, | and | ?& ?| ?/ ?){_ASPECT})*",
}
_PATTERNS: dict[Kind, re.Pattern[str]] = {kind: re.compile(pattern) for kind, pattern in _NAMES.items()}
_TAGS: tuple[Kind, ...] = ("summary", "strengths", "weaknesses", "questions")
_LINE = re.compile(r"[^\n]*\n?")
_TAG = re.compile(rf"[ \t]*(?:<(/?)({'|'.join(_TAGS)})>\s*)+", re.IGNORECASE)
_WHOLE = re.compile(r"[ \t]*(#{1,6})[ \t]*\S")
_INLINE = re.compile(
    r"([ \t]*(?:[-+*•#]+[ \t]+|\d{1,2}[.)][ \t]+)?(?:(?:\*\*|__|\*|_|\[)[ \t]*)?"
    r"[A-Za-z,&/-]+(?: [A-Za-z,&/-]+){0,6} ?(?::[ \t]*(?:\*\*|__|\*|_|\])?|(?:\*\*|__|\]|"
    r"\*)[ \t]*[:.]?)[ \t]*)(?=\S)"
)
_DRESS = " \t\r\n\f\v#*_=-+~:.[](){}<>/•|`'\"0123456789"
_LONGEST_HEADING = 80
_MARK = re.compile(
    r"[ \t>]*(?:\([-+]\)|[-*+•‣◦·–—]+(?=[ \t])|[-•](?=[A-Z])|[\[(]?(?:\d{1,2}|[a-zA-Z]|[ivxIVX]{1,4}|[A-Z]{1,2}\d{1,2})"
    r"[.)\]:](?=[ \t])|\(?\d{1,2}[.)](?=[A-Za-z]))[ \t]*"
)
_END = re.compile(r"(?<![.?!])[.?!]++[\"'”’)\]*_]*+(?=[ \t]+\S)|\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|al|figs?|eqs?|eqns?|secs?|sects?|tabs?|vs|cf|w\.r\.t|s\.t|resp|approx|dr|prof|thms?|props?|"
    r"defs?|"
    r"algs?|apps?|refs?|lem|cor|no|pp?|st|incl|ch|vol|i\.i\.d|a\.k\.a|viz)|(?<![\w.])(?-i:[A-Z]))\.$",
    re.IGNORECASE,
)
_CONTINUERS = ",;:)]}"
_SPACE = re.compile(r"(?:[ \t\r\f\v]*\n)*")
_BLANKS = re.compile(r"[ \t]*")


def split_into_sections(text: str) -> tuple[Section, ...]:
    """Returns the sections of *text* in order; `join_sections` gives back the same text."""
    marks: list[tuple[int, int, Kind]] = []
    kind: Kind = "other"
    for line in _LINE.finditer(text):
        if heading := _match_heading(line[0], kind):
            end, kind = line.start() + heading[0], heading[1]
            marks.append((line.start(), _get_match_end(_SPACE.match(text, end), end), kind))
    starts = marks if marks and not marks[0][0] else [(0, 0, "other"), *marks]
    ends = [start for start, _, _ in starts[1:]] + [len(text)]
    return tuple(
        Section(kind, text[start:body], tuple(_iter_sentences(text[body:end])))
        for (start, body, kind), end in zip(starts, ends, strict=True)
        if end > start
    )


def join_sections(sections: Iterable[Section]) -> str:
    """Returns the text of *sections* from `split_into_sections`; sentences may have been changed or removed since."""
    return "".join(
        section.heading + "".join(sentence.mark + sentence.text + sentence.gap for sentence in section.sentences)
        for section in sections
    )


def list_sentences(text: str) -> list[str]:
    """Returns the non-empty sentences of *text* without their list marks; *text* must not have headings."""
    return [sentence.text for sentence in _iter_sentences(text) if sentence.text]


def find_heading(sentence: str, before: Kind) -> tuple[int, Kind]:
    """Returns (length, kind of section) of the heading at the start of *sentence*, as in "Weaknesses: it is slow".

    If there is no heading, returns (0, *before*). *before*: the kind of the section before the sentence.
    """
    return _match_heading(sentence, before) or (0, before)


def _match_heading(line: str, before: Kind) -> tuple[int, Kind] | None:
    """Returns (length, kind of section) of the heading at the start of *line*; None if there is none."""
    if tag := _TAG.match(line):
        return tag.end(), "other" if tag[1] else next(kind for kind in _TAGS if kind == tag[2].lower())
    if not line.strip():
        return None
    if len(line) <= _LONGEST_HEADING:
        bare = line.strip()
        if kind := _find_section_kind(_strip_heading_marks(line)):
            dressed = bare[-1] in ":*_]=-#" or bare[0] in "#*_[=-+"
            if dressed or bare[0].isupper() or len(bare) <= 20:
                return len(line), _choose_section_kind(kind, before, _strip_heading_marks(line))
        if _WHOLE.match(line) and bare[-1] not in "?!.":
            return len(line), before
    if (inline := _INLINE.match(line, 0, _LONGEST_HEADING)) and (
        kind := _find_section_kind(_strip_heading_marks(inline[1]))
    ):
        return inline.end(), _choose_section_kind(kind, before, _strip_heading_marks(inline[1]))
    return None


def _choose_section_kind(kind: Kind, before: Kind, core: str) -> Kind:
    """Returns the kind of the section under a heading. *core*: the words of the heading. *kind*: the kind they name.

    The result is *kind*, except for a heading of a single aspect, such as "Clarity", after strengths, weaknesses or
    questions. Such a heading continues the section above it, so the result is *before*, the kind of that section.
    """
    several = re.search(r",|/|&| and ", core)
    return before if kind == "aspects" and not several and before in ("strengths", "weaknesses", "questions") else kind


def _find_section_kind(core: str) -> Kind | None:
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(core)), None)


def _strip_heading_marks(heading: str) -> str:
    return " ".join(heading[: 2 * _LONGEST_HEADING].strip(_DRESS).lower().replace("*", "").split())


def _iter_sentences(body: str) -> Iterable[Sentence]:
    start = 0
    for cut in [*_find_sentence_starts(body), len(body)]:
        if cut > start:
            piece = body[start:cut]
            mark = _MARK.match(piece) if start == 0 or body[start - 1] == "\n" else None
            begin = mark.end() if mark else 0
            if not mark or not piece[begin:].isspace():
                begin = len(piece) - len(piece[begin:].lstrip())
            end = max(begin, len(piece.rstrip()))
            yield Sentence(piece[:begin], piece[begin:end], piece[end:])
            start = cut


def _find_sentence_starts(body: str) -> Iterable[int]:
    """Yields the position in *body* at which each sentence starts, except the first.

    Blanks after a sentence belong to that sentence. The indent of a line belongs to the sentence that starts the line.
    """
    first = _MARK.match(body)
    opened = first.end() if first else 0
    for end in _END.finditer(body):
        if end[0][0] == "\n":
            line = body.rindex("\n", 0, end.end()) + 1
            item = _MARK.match(body, line)
            paragraph = end[0].count("\n") > 1
            upper = end.end() < len(body) and not body[end.end()].islower()
            if item or paragraph or upper or body[max(0, end.start() - 3) : end.start()].rstrip()[-1:] in ".?!:;":
                opened = item.end() if item else 0
                yield line
        elif end.end() >= opened:
            after = _get_match_end(_BLANKS.match(body, end.end()), end.end())
            word = body[max(0, end.start() - 12) : end.start() + 1]
            stop = end[0] != "." or not _ABBREVIATION.search(word)
            if stop and not body[after].islower() and body[after] not in _CONTINUERS:
                yield after


def _get_match_end(match: re.Match[str] | None, otherwise: int) -> int:
    return match.end() if match else otherwise
