"""The end of a paper: lists of references and what comes after them are no part of its body."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.ingest.pdf.parts import APPENDIX, REFERENCES, Type, bare, is_heading
from gre_bench.ingest.pdf.prose import function_words, prose
from gre_bench.ingest.pdf.rows import Row
from gre_bench.ingest.pdf.words import Fate

ENTRY = re.compile(
    r"\b(?:19|20)\d\d[a-z]?\b|^\s*\[\w{1,12}\]\s|\b(?:doi|arxiv|isbn|https?):|\bet al\b|\bpp\.\s?\d|\bvol\.\s?\d"
    r"|\bproc(?:\.|eedings of)|\bpreprint\b|\bunpublished\b",
    re.I,
)
"""What a line of a reference has: a year, a number in brackets, where it was published."""
LOOKED_AT = (8, 24)
"""Rows after a heading by which it is known as that of a list of references; a short list has few."""
FEW, MANY = 0.12, 0.4
"""Share of them that look like lines of references: enough where there are few function words, or by itself."""
LISTED = 0.27
"""Share of function words that names and titles have at most; running text that cites has more."""
LETTERED = re.compile(r"A(?:[.:]\s*|\s+)[A-Z]")
RESUMED = re.compile(
    r"(?:online |star )?methods?|materials and methods|experimental procedures|methods and materials"
    r"|results|discussion|results and discussion|conclusions?",
    re.I,
)
"""Headings of text that some journals print after the references."""


def body_of_rows(rows: Sequence[Row], usual: Type) -> tuple[list[Row], dict[Fate, list[Row]]]:
    """*rows* without lists of references and appendices, and the rows of both.

    The list is the last heading of its name that lines of references follow; an earlier one, as of a chapter, ends at
    the next heading. What stands after the last list, or after the heading of an appendix, is appendix; text that
    journals print there under a heading of its own (methods) is none.
    """
    heads = [place for place, row in enumerate(rows) if is_heading(row, rows[place - 1] if place else None, usual)]
    lists = [place for place in heads if REFERENCES.fullmatch(bare(rows[place].text)) and lists_references(rows, place)]
    end = _appendix(rows, heads, usual)
    fates: dict[int, Fate] = {}
    for number, place in enumerate(lists):
        if place > end:
            break
        after = next((head for head in heads if head > place and _ends_list(rows, head, usual)), len(rows))
        fates |= dict.fromkeys(range(place, after), "references")
        over = number + 1 == len(lists) and (after == len(rows) or not RESUMED.fullmatch(bare(rows[after].text)))
        if over or (after < len(rows) and _opens_appendix(rows[after])):
            end = min(end, after)
    for place in range(end, len(rows)):
        within = any(place >= start for start in lists if start >= end)
        fates.setdefault(place, "references" if within else "appendices")
    out: dict[Fate, list[Row]] = {"references": [], "appendices": []}
    for place in sorted(fates):
        out[fates[place]].append(rows[place])
    return [row for place, row in enumerate(rows) if place not in fates], out


def lists_references(rows: Sequence[Row], heading: int) -> bool:
    """Whether what follows the *heading* looks like a list of references."""
    return open_references([row.text for row in rows[heading + 1 : heading + 1 + LOOKED_AT[-1]]])


def open_references(texts: Sequence[str]) -> bool:
    """Whether lines of a paper begin with references, known by years and places, and by having few function words."""
    return any(_are_references(texts[:count]) for count in LOOKED_AT)


def _are_references(texts: Sequence[str]) -> bool:
    entries = sum(ENTRY.search(text) is not None for text in texts)
    bare_list = function_words(" ".join(texts)) < LISTED
    return entries >= max((FEW if bare_list else MANY) * len(texts), 1)


def _opens_appendix(row: Row) -> bool:
    return bool(LETTERED.match(row.text) or APPENDIX.match(row.text) or APPENDIX.fullmatch(bare(row.text)))


def _ends_list(rows: Sequence[Row], head: int, usual: Type) -> bool:
    """Whether a heading after a list of references is none of its lines."""
    row = rows[head]
    if REFERENCES.fullmatch(bare(row.text)) or ENTRY.search(row.text):
        return False
    return _opens_appendix(row) or not lists_references(rows, head)


def _appendix(rows: Sequence[Row], heads: Sequence[int], usual: Type) -> int:
    """Where the first appendix begins: at a heading that is not said again later, as an entry of a table is."""
    running = prose(rows, usual)
    later: set[str] = set()
    first = len(rows)
    for place in reversed(heads):
        text, name = rows[place].text, bare(rows[place].text)
        named = APPENDIX.fullmatch(name) or APPENDIX.match(text)
        if named and name.lower() not in later and any(running[place + 1 : place + 12]) and place >= 0.05 * len(rows):
            first = place
        later.add(name.lower())
    return first
