"""Removes lists of references and everything after them, which are no part of a paper's body."""

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
"""Matches a line of a reference by a year, a number in brackets, or a place of publication."""
LOOKED_AT = (8, 24)
"""How many rows after a heading are searched for references; a short list has few."""
FEW, MANY = 0.12, 0.4
"""Shares of these rows that must look like references: in text with few function words, and in any text."""
LISTED = 0.27
"""The largest share of function words in names and titles; running text with citations has more."""
LETTERED = re.compile(r"A(?:[.:]\s*|\s+)[A-Z]")
RESUMED = re.compile(
    r"(?:online |star )?methods?|materials and methods|experimental procedures|methods and materials"
    r"|results|discussion|results and discussion|conclusions?",
    re.I,
)
"""Headings of text that some journals print after the references."""


def body_of_rows(rows: Sequence[Row], usual: Type) -> tuple[list[Row], dict[Fate, list[Row]]]:
    """Returns *rows* without lists of references and appendices, and the removed rows of both.

    The last heading of references that is followed by references opens the list. An earlier one, such as a chapter's,
    ends at the next heading. Rows after the last list, or after the heading of an appendix, are appendix. Text that
    journals print there under its own heading (methods) stays.
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
    """Whether a list of references seems to follow the *heading*."""
    return open_references([row.text for row in rows[heading + 1 : heading + 1 + LOOKED_AT[-1]]])


def open_references(texts: Sequence[str]) -> bool:
    """Whether lines of a paper begin with references, which have years and places and few function words."""
    return any(_are_references(texts[:count]) for count in LOOKED_AT)


def _are_references(texts: Sequence[str]) -> bool:
    entries = sum(ENTRY.search(text) is not None for text in texts)
    bare_list = function_words(" ".join(texts)) < LISTED
    return entries >= max((FEW if bare_list else MANY) * len(texts), 1)


def _opens_appendix(row: Row) -> bool:
    return bool(LETTERED.match(row.text) or APPENDIX.match(row.text) or APPENDIX.fullmatch(bare(row.text)))


def _ends_list(rows: Sequence[Row], head: int, usual: Type) -> bool:
    """Whether the heading *head* ends a list of references, rather than being one of its lines."""
    row = rows[head]
    if REFERENCES.fullmatch(bare(row.text)) or ENTRY.search(row.text):
        return False
    return _opens_appendix(row) or not lists_references(rows, head)


def _appendix(rows: Sequence[Row], heads: Sequence[int], usual: Type) -> int:
    """Returns the index of the first appendix: a heading that is not repeated later, as a table's entry would be."""
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
