"""Finds the front of a paper: its title, its abstract, and the beginning of its body."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gre_bench.ingest.pdf.paragraphs import Paragraph, joined, paragraphs
from gre_bench.ingest.pdf.parts import INTRODUCTION, NUMBER, Type, bare, follows, is_heading, type_of
from gre_bench.ingest.pdf.prose import prose, reads_as_prose
from gre_bench.ingest.pdf.rows import Row

ABSTRACT = re.compile(r"A(?:bstract|BSTRACT)\b\s*(?:[.:—–-]+\s*|$|(?=[A-Z\d\W]))")
"""The heading of the abstract, alone or before its first words."""
KEYWORDS = re.compile(
    r"(?:key\s?words(?: and phrases)?|index terms|ccs concepts|categories and subject|general terms"
    r"|acm reference|contents)\b",
    re.I,
)
LONGEST = 600
"""The most words of an abstract; further words count as body."""
SENTENCES = 50
"""The fewest words of an abstract without a heading."""
NOTICE = re.compile(r"appearing in|(?:in )?proceedings of|(?:©|c⃝|copyright)|permission to (?:make|copy)", re.I)


def title_of(rows: Sequence[Row], height: float) -> tuple[list[Row], list[Row]]:
    """Splits *rows* into the rows of the paper's title and all other rows.

    The title is the largest type on the upper half of the first page. *height* is the height of that page in points.
    """
    upper = [row for row in rows if row.page == 0 and row.y0 < 0.55 * height and len(row.text) > 3]
    if not upper:
        return [], list(rows)
    largest = max(row.size for row in upper)
    title = [row for row in upper if row.size > 0.94 * largest]
    first = title[0]
    title = [row for row in title if row.y0 - first.y0 < 0.2 * height][:5]
    rest = [row for row in rows if row not in title]
    return (title, rest) if rest else ([], list(rows))


@dataclass(frozen=True, slots=True)
class Front:
    """The rows of a paper, divided into abstract, body and the rest.

    - *abstract*: the text of the abstract; None if it was not found.
    - *rows*: the rows of the abstract.
    - *body*: the rows of the body.
    - *dropped*: all other rows, such as authors and keywords.
    """

    abstract: str | None
    rows: list[Row]
    body: list[Row]
    dropped: list[Row]


def front(rows: Sequence[Row], text_type: Type, words: Any, heights: Sequence[float], notes: list[str]) -> Front:
    """Splits the *rows* of a paper into its abstract, its body and the rest, such as authors and keywords.

    The body begins at the first section. Paragraphs of text before that section belong to the body as well.

    - *text_type*: the font size and leading of the running text.
    - *words*: counts of the paper's words, by which words broken at a line's end are mended.
    - *heights*: the heights of the pages, in points.
    - *notes*: receives one line for each doubt.
    """
    every, rows = rows, _without_notice(rows, text_type)
    early = [index for index, row in enumerate(rows) if row.page < 2]
    opening = next((index for index in early if ABSTRACT.match(rows[index].text)), None)
    heads = [index for index in early if is_heading(rows[index], rows[index - 1] if index else None, text_type)]
    if opening is None:
        first = next((index for index in heads if INTRODUCTION.fullmatch(bare(rows[index].text))), 0)
        abstract, inside = _unnamed(rows[:first], words, heights, notes)
        return _parted(abstract, inside, first, every, rows, text_type, heights)
    closing = _closing(rows, opening, heads, notes)
    inside = [row for row in rows[opening:closing] if row.page > 0 or row.y0 > rows[opening].y0 - 1]
    parts = [part for part in paragraphs(inside, type_of(inside), heights) if part.kind in ("text", "heading")]
    parts = _first_parts(parts, notes)
    inside = [row for part in parts for row in part.rows]
    abstract = ABSTRACT.sub("", " ".join(joined(part.rows, words) for part in parts), count=1)
    first = _first_section(rows, closing, heads)
    running = prose(rows, text_type)
    byline = {
        row for row, full in zip(rows, running, strict=True) if row.page == 0 and row.y1 < rows[opening].y0 and not full
    }
    return _parted(abstract or None, inside, first, every, rows, text_type, heights, byline)


def _closing(rows: Sequence[Row], opening: int, heads: Container[int], notes: list[str]) -> int:
    """Returns the index after the last row of the abstract that opens at index *opening*.

    The abstract ends before the next heading or keywords. If neither follows, it ends after 40 rows, and *notes*
    receives a doubt. *heads* holds the indices of the headings among *rows*.
    """
    for index in range(opening + 1, len(rows)):
        if index in heads or KEYWORDS.match(rows[index].text):
            return index
    notes.append("the end of the abstract is not marked")
    return min(opening + 40, len(rows))


def _first_section(rows: Sequence[Row], closing: int, heads: Sequence[int]) -> int:
    """Returns the index at which the body begins.

    The body begins at *closing*, the index after the abstract. If keywords stand there, it begins at the next numbered
    heading or introduction. *heads* holds the indices of the headings among *rows*.
    """
    if closing == len(rows) or not KEYWORDS.match(rows[closing].text):
        return closing
    for index in heads:
        text = rows[index].text
        if index >= closing and (NUMBER.match(text) or INTRODUCTION.fullmatch(bare(text))):
            return index
    return closing


def _first_parts(parts: list[Paragraph], notes: list[str]) -> list[Paragraph]:
    """Returns as many of the first paragraphs in *parts* as have at most `LONGEST` words together, but at least one.

    If paragraphs are cut off, no heading marks the end of the abstract, and *notes* receives a doubt.
    """
    length = 0
    for index, part in enumerate(parts):
        length += sum(len(row.text.split()) for row in part.rows)
        if length > LONGEST and index:
            notes.append("the end of the abstract is not marked")
            return parts[:index]
    return parts


def _parted(
    abstract: str | None, inside: Sequence[Row], first: int, every: Sequence[Row], rows: Sequence[Row], text_type: Type,
    heights: Sequence[float], byline: Container[Row] = (),
) -> Front:  # fmt: skip
    """Divides *rows* into abstract, body and the rest.

    - *abstract*, *inside*: the text of the abstract and its rows.
    - *first*: the index in *rows* at which the body begins. Captions and long paragraphs of prose before that index
      belong to the body as well.
    - *every*: all rows, including the notices that *rows* lacks.
    - *heights*: the heights of the pages, in points.
    - *byline*: rows that are never part of the body.
    """
    held = set(inside)
    body = {row for row in rows[first:] if row not in byline} - held
    loose = [row for row in rows if row not in body and row not in held]
    start = rows.index(inside[0]) if inside else len(rows)
    for part in paragraphs(loose, text_type, heights):
        # Text around the abstract has the type of the body; a continuation has the abstract's.
        own = type_of(part.rows) if rows.index(part.rows[0]) > start else text_type
        opening = part.rows[0].text
        running = part.kind == "text" and not KEYWORDS.match(opening) and not NOTICE.match(opening)
        long = sum(len(row.text.split()) for row in part.rows) >= SENTENCES
        if part.kind == "caption" or (running and long and reads_as_prose(part.rows, own)):
            body |= set(part.rows)
    kept = [row for row in rows if row in body]
    return Front(abstract, [*inside], kept, [row for row in every if row not in body and row not in held])


def _unnamed(
    rows: Sequence[Row], words: Any, heights: Sequence[float], notes: list[str]
) -> tuple[str | None, list[Row]]:
    """Finds an abstract without a heading; returns its text (None if there is none) and its rows.

    The abstract is the longest paragraph of prose among *rows*, the rows before the introduction. *notes* receives a
    line on the result. *words* and *heights* are as in `front`.
    """
    parts = [part for part in paragraphs(rows, type_of(rows), heights) if part.kind == "text"] if rows else []
    texts = [joined(part.rows, words) for part in parts]
    longest = max(texts, key=len, default="")
    if len(longest.split()) >= SENTENCES and longest[-1] in ".!?" and len(re.findall(r"[a-z][.!?]", longest)) >= 3:
        notes.append("the abstract has no heading: it is the longest paragraph before the introduction")
        return longest, parts[texts.index(longest)].rows
    notes.append("no abstract was found")
    return None, []


def _without_notice(rows: Sequence[Row], text_type: Type) -> list[Row]:
    """Returns *rows* without notices of copyright or proceedings at the end of a column of the first page."""
    out: dict[int, float] = {}
    for above, row in pairwise(rows):
        if row.page == 0 and NOTICE.match(row.text) and not follows(row, above, text_type):
            out[row.column] = min(row.y0, out.get(row.column, row.y0))
    lowest = max((row.y1 for row in rows if row.page == 0), default=0.0)
    return [row for row in rows if row.page or row.y0 < out.get(row.column, lowest) or row.y0 < 0.6 * lowest]
