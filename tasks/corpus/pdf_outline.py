"""The outline of a paper: its title, its abstract, and where its body begins and ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tasks.corpus.pdf_floats import prose
from tasks.corpus.pdf_paragraphs import joined, paragraphs
from tasks.corpus.pdf_parts import APPENDIX, INTRODUCTION, NUMBER, REFERENCES, Type, bare, follows, is_heading, type_of
from tasks.corpus.pdf_rows import Row

ABSTRACT = re.compile(r"abstract\b\s*[.:—–-]*\s*", re.I)
KEYWORDS = re.compile(
    r"(?:key\s?words(?: and phrases)?|index terms|ccs concepts|categories and subject|general terms"
    r"|acm reference|contents)\b",
    re.I,
)
SENTENCES = 50
"""Words that an abstract without a heading must have."""
NOTICE = re.compile(r"appearing in|(?:in )?proceedings of|(?:©|c⃝|copyright)|permission to (?:make|copy)", re.I)


def title_of(rows: Sequence[Row], height: float) -> tuple[list[Row], list[Row]]:
    """The rows of the title, the largest type on the upper half of the first page, and the rows without it."""
    upper = [row for row in rows if row.page == 0 and row.y0 < 0.55 * height and len(row.text) > 3]
    if not upper:
        return [], list(rows)
    largest = max(row.size for row in upper)
    title = [row for row in upper if row.size > 0.94 * largest]
    first = title[0]
    title = [row for row in title if row.y0 - first.y0 < 0.2 * height][:5]
    rest = [row for row in rows if row not in title]
    return (title, rest) if rest else ([], list(rows))


def front(
    rows: Sequence[Row], usual: Type, words: Any, heights: Sequence[float], notes: list[str]
) -> tuple[str | None, list[Row]]:
    """The abstract, and the rows from the first section on."""
    rows = _without_notice(rows, usual)
    early = [place for place, row in enumerate(rows) if row.page < 2]
    opening = next((place for place in early if ABSTRACT.match(rows[place].text) and rows[place].text[:1] == "A"), None)
    heads = [place for place in early if is_heading(rows[place], rows[place - 1] if place else None, usual)]
    if opening is None:
        first = next((place for place in heads if INTRODUCTION.fullmatch(bare(rows[place].text))), 0)
        return _unnamed(rows[:first], words, heights, notes), list(rows[first:])
    closing = next(
        (place for place in range(opening + 1, len(rows)) if place in heads or KEYWORDS.match(rows[place].text)), None
    )
    if closing is None:
        closing = min(opening + 40, len(rows))
        notes.append("the end of the abstract is not marked")
    inside = [row for row in rows[opening:closing] if row.page > 0 or row.y0 > rows[opening].y0 - 1]
    parts = [part for part in paragraphs(inside, type_of(inside), heights) if part.kind in ("text", "heading")]
    abstract = ABSTRACT.sub("", " ".join(joined(part.rows, words) for part in parts), count=1)
    first = closing
    if closing < len(rows) and KEYWORDS.match(rows[closing].text):
        first = next(
            (
                place
                for place in heads
                if place >= closing
                and (NUMBER.match(rows[place].text) or INTRODUCTION.fullmatch(bare(rows[place].text)))
            ),
            closing,
        )
    running = prose(rows, usual)
    byline = [row.page == 0 and row.y1 < rows[opening].y0 and not full for row, full in zip(rows, running, strict=True)]
    return abstract or None, [row for row, out in zip(rows[first:], byline[first:], strict=True) if not out]


def _unnamed(rows: Sequence[Row], words: Any, heights: Sequence[float], notes: list[str]) -> str | None:
    """The abstract without a heading among the rows before the introduction: their longest paragraph of sentences."""
    parts = [part for part in paragraphs(rows, type_of(rows), heights) if part.kind == "text"] if rows else []
    texts = [joined(part.rows, words) for part in parts]
    longest = max(texts, key=len, default="")
    if len(longest.split()) >= SENTENCES and longest[-1] in ".!?" and len(re.findall(r"[a-z][.!?]", longest)) >= 3:
        notes.append("the abstract has no heading: it is the longest paragraph before the introduction")
        return longest
    notes.append("no abstract was found")
    return None


def _without_notice(rows: Sequence[Row], usual: Type) -> list[Row]:
    """*rows* without the notice of copyright or proceedings that ends a column of the first page."""
    out: dict[int, float] = {}
    for above, row in pairwise(rows):
        if row.page == 0 and NOTICE.match(row.text) and not follows(row, above, usual):
            out[row.column] = min(row.y0, out.get(row.column, row.y0))
    lowest = max((row.y1 for row in rows if row.page == 0), default=0.0)
    return [row for row in rows if row.page or row.y0 < out.get(row.column, lowest) or row.y0 < 0.6 * lowest]


def main_matter(rows: Sequence[Row], usual: Type) -> tuple[list[Row], int]:
    """*rows* before the references or an appendix, and how many come after."""
    for place, row in enumerate(rows):
        if place < 0.05 * len(rows):
            continue
        if is_heading(row, rows[place - 1], usual) and (
            REFERENCES.fullmatch(bare(row.text)) or APPENDIX.fullmatch(bare(row.text)) or APPENDIX.match(row.text)
        ):
            return list(rows[:place]), len(rows) - place
    return list(rows), 0
