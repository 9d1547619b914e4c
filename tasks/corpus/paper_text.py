"""The body of a paper whose whole text a user supplies: abstract found, references and appendices cut."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKS = r"[#*\s]*(?:\d+\.?\s*|[IVX]+\.\s*)?"
_ABSTRACT = re.compile(rf"(?im)^{_MARKS}abstract[*:.\s]*$")
_FIRST = re.compile(rf"(?im)^{_MARKS}introduction[*:.\s]*$")
_LAST = re.compile(rf"(?im)^{_MARKS}(?:references|bibliography|appendix(?:[ \t]+[A-Z\d])?|appendices)[*:.\s]*$")
_APPENDIX = re.compile(r"(?im)^#+[ \t]*appendix\b[^\n.]*$")


@dataclass(frozen=True, slots=True)
class Body:
    """Abstract (None if not found) and body of a paper's text."""

    abstract: str | None
    text: str


def body_of(text: str) -> Body:
    """What stands between the abstract and the references of *text* (markdown or plain, headings on their own lines).

    A text without such headings is its own body.
    """
    introduction, abstract = _FIRST.search(text), _ABSTRACT.search(text)
    found = None
    if abstract and introduction and abstract.end() < introduction.start():
        found = text[abstract.end() : introduction.start()].strip() or None
    start = introduction.start() if introduction else abstract.end() if abstract else 0
    ends = [end.start() for pattern in (_LAST, _APPENDIX) if (end := pattern.search(text, start + 1))]
    return Body(found, text[start : min(ends, default=len(text))].strip())
