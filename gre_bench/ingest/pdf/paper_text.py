"""Extracts abstract and body from a user's text of a whole paper; references and appendices are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gre_bench.ingest.pdf.references import begins_with_references
from gre_bench.ingest.pdf.words import PageWords, doubts

_MARKS = r"[#*\s]*(?:\d+\.?\s*|[IVX]+\.\s*)?"
_ABSTRACT = re.compile(rf"(?im)^{_MARKS}abstract[*:.\s]*$")
_FIRST = re.compile(rf"(?im)^{_MARKS}introduction[*:.\s]*$")
_LIST = re.compile(rf"(?im)^{_MARKS}(?:references|bibliography)[*:.\s]*$")
_APPENDIX = re.compile(
    rf"(?im)^(?:{_MARKS}(?:appendix(?:[ \t]+[A-Z\d])?|appendices)[*:.\s]*|#+[ \t]*appendix\b[^\n.]*)$"
)
_CONTENTS = re.compile(r"(?im)^[#*\s]*(?:table of )?contents[*:.\s]*$")
LONG_LINE = 40
"""The fewest characters of a line of text; entries of a table of contents are rarely as long."""
NEAR = 3
"""How many lines after a heading must include a line of its text."""


@dataclass(frozen=True, slots=True)
class Body:
    """The abstract and the body of a paper.

    - *abstract*: None if it was not found.
    - *text*: the body.
    - *words*: how many words of the paper were kept, and how many were dropped for each reason.
    - *doubts*: the reasons why parts of the paper may be missing, one line each.
    """

    abstract: str | None
    text: str
    words: PageWords
    doubts: tuple[str, ...] = ()


def body_of(text: str) -> Body:
    """Returns abstract and body of *text*, a paper in Markdown or plain text with each heading on a line of its own.

    A text without such headings is returned whole, and headings in a table of contents do not count. The references
    begin at the last heading of references that is followed by lines of references. Abstract, introduction and appendix
    begin at their first heading that is followed by text.
    """
    introduction, abstract = _opening(_FIRST, text), _opening(_ABSTRACT, text)
    summary = None
    if abstract and introduction and abstract.end() < introduction.start():
        summary = _CONTENTS.split(text[abstract.end() : introduction.start()])[0].strip() or None
    start = introduction.start() if introduction else abstract.end() if abstract else 0
    lists = [match for match in _LIST.finditer(text, start + 1) if begins_with_references(_lines(text, match.end()))]
    appendix = _opening(_APPENDIX, text, start + 1)
    end = min(lists[-1].start() if lists else len(text), appendix.start() if appendix else len(text))
    # Appendices may have references of their own, after those of the paper.
    if appendix and lists and end == appendix.start() and (before := [match for match in lists if match.start() < end]):
        end = before[-1].start()
    body = text[start:end].strip()
    cut = "references" if any(match.start() == end for match in lists) else "appendices"
    counts = {"kept": len(body.split()) + len((summary or "").split()), cut: len(text[end:].split())}
    counts["front matter"] = len(text.split()) - sum(counts.values())
    words = PageWords(0, {fate: count for fate, count in counts.items() if count})
    return Body(summary, body, words, tuple(doubts([words])))


def _opening(heading: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    """Returns the first match of *heading*, at or after index *start*, that is followed by text.

    If no match is followed by text, returns the first match; None if there is no match.
    """
    matches = list(heading.finditer(text, start))
    followed = [match for match in matches if any(len(line) >= LONG_LINE for line in _lines(text, match.end())[:NEAR])]
    return next(iter(followed or matches), None)


def _lines(text: str, start: int) -> list[str]:
    """Returns the lines that are not blank among the 20,000 characters of *text* from index *start* on."""
    return [line for line in text[start : start + 20_000].splitlines() if line.strip()]
