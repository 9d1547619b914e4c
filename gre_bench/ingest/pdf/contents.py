"""Finds tables of contents, whose entries repeat a paper's headings and must not be taken for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.ingest.pdf.parts import Type, bare
from gre_bench.ingest.pdf.prose import prose
from gre_bench.ingest.pdf.rows import Row

HEADING = re.compile(r"(?:table of )?contents|list of (?:figures|tables|algorithms|abbreviations|symbols)", re.I)
LEADER = re.compile(r"(?:\.\s?){4,}\s*(?:\d{1,4}|[ivxlc]{1,6})?$|(?:…|_){2,}", re.I)
NUMBERED = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,6})$", re.I)
ENTRY = re.compile(r"[\d\W]*[A-Z].*[^.;,:]")
"""An entry of a table of contents, without its page number."""
LONGEST = 14
"""The most words of an entry."""
FEWEST = 3
"""The fewest entries of a table of contents."""
RUN = 4
"""How many consecutive rows with leaders form a table of contents without a heading."""


def without_contents(rows: Sequence[Row], usual: Type) -> tuple[list[Row], list[Row]]:
    """Returns *rows* without tables of contents and lists of figures and tables, and the removed rows.

    *rows* are in reading order.
    """
    running = prose(rows, usual)
    out: set[int] = set()
    place = 0
    while place < len(rows):
        end = _end(place, rows, running)
        out |= set(range(place, end))
        place = max(end, place + 1)
    kept = [row for place, row in enumerate(rows) if place not in out]
    return kept, [rows[place] for place in sorted(out)]


def _end(start: int, rows: Sequence[Row], running: Sequence[bool]) -> int:
    """Returns the index after the table of contents that begins at *start*; *start* if none begins there."""
    if HEADING.fullmatch(bare(rows[start].text)):
        end = _after_entries(start + 1, rows, running)
        return end if end - start - 1 >= FEWEST else start
    end = start
    while end < len(rows) and LEADER.search(rows[end].text):
        end += 1
    return end if end - start >= RUN else start


def _after_entries(first: int, rows: Sequence[Row], running: Sequence[bool]) -> int:
    """Returns the index after the entries that begin at *first*.

    Entries end at running text, or at a heading that repeats the words of an entry.
    """
    names: set[str] = set()
    last = first
    for place in range(first, len(rows)):
        row = rows[place]
        listed = _is_listed(row.text)
        name = " ".join(re.findall(r"[^\W\d_]+", NUMBERED.sub("", LEADER.sub("", bare(row.text))).lower()))
        if (name in names and not listed) or HEADING.fullmatch(bare(row.text)):
            return place
        if running[place] and not listed:
            # An entry of two rows fills the first one.
            if place + 1 < len(rows) and _is_listed(rows[place + 1].text):
                continue
            return last
        if not listed and (len(row.text.split()) > LONGEST or not ENTRY.fullmatch(row.text)):
            return last
        names.add(name)
        last = place + 1
    return last


def _is_listed(text: str) -> bool:
    """Whether *text* ends as an entry does: with leaders or a page number."""
    return LEADER.search(text) is not None or NUMBERED.search(text) is not None
