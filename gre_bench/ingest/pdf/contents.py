"""Finds tables of contents; their entries repeat a paper's headings and must not be mistaken for headings."""

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


def without_contents(rows: Sequence[Row], text_type: Type) -> tuple[list[Row], list[Row]]:
    """Removes tables of contents and lists of figures and tables; returns the kept rows and the removed rows.

    *rows* are in reading order. *text_type* is the font size and leading of the running text.
    """
    running = prose(rows, text_type)
    out: set[int] = set()
    index = 0
    while index < len(rows):
        end = _end(index, rows, running)
        out |= set(range(index, end))
        index = max(end, index + 1)
    kept = [row for index, row in enumerate(rows) if index not in out]
    return kept, [rows[index] for index in sorted(out)]


def _end(start: int, rows: Sequence[Row], running: Sequence[bool]) -> int:
    """Returns the index after the last row of the table of contents that begins at index *start*.

    Returns *start* if no table of contents begins there. *running* says for each of *rows* whether it is running text.
    """
    if HEADING.fullmatch(bare(rows[start].text)):
        end = _after_entries(start + 1, rows, running)
        return end if end - start - 1 >= FEWEST else start
    end = start
    while end < len(rows) and LEADER.search(rows[end].text):
        end += 1
    return end if end - start >= RUN else start


def _after_entries(first: int, rows: Sequence[Row], running: Sequence[bool]) -> int:
    """Returns the index after the last entry of the table of contents whose first entry is at index *first*.

    The entries end before running text or a row too long for an entry. They also end before a heading that repeats the
    words of an entry, and before the heading of another table. *running* says for each of *rows* whether it is running
    text.
    """
    names: set[str] = set()
    last = first
    for index in range(first, len(rows)):
        row = rows[index]
        listed = _is_listed(row.text)
        name = " ".join(re.findall(r"[^\W\d_]+", NUMBERED.sub("", LEADER.sub("", bare(row.text))).lower()))
        if (name in names and not listed) or HEADING.fullmatch(bare(row.text)):
            return index
        if running[index] and not listed:
            # An entry of two rows fills the first one.
            if index + 1 < len(rows) and _is_listed(rows[index + 1].text):
                continue
            return last
        if not listed and (len(row.text.split()) > LONGEST or not ENTRY.fullmatch(row.text)):
            return last
        names.add(name)
        last = index + 1
    return last


def _is_listed(text: str) -> bool:
    """Whether *text* ends like an entry of a table of contents: with leader dots or a page number."""
    return LEADER.search(text) is not None or NUMBERED.search(text) is not None
