"""Removes lists of references and the appendices after them, which are not part of a paper's body."""

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


def body_of_rows(rows: Sequence[Row], text_type: Type) -> tuple[list[Row], dict[Fate, list[Row]]]:
    """Removes lists of references and appendices; returns the kept rows, and {reason (`Fate`): removed rows}.

    A list opens at a heading such as References if references follow, and ends at the next heading. Rows after the last
    list are appendices, and so are rows after the heading of an appendix. Some journals print text such as methods
    after the list, under a heading of its own; that text stays.
    """
    heads = [index for index, row in enumerate(rows) if is_heading(row, rows[index - 1] if index else None, text_type)]
    lists = [index for index in heads if REFERENCES.fullmatch(bare(rows[index].text)) and lists_references(rows, index)]
    end = _appendix(rows, heads, text_type)
    fates: dict[int, Fate] = {}
    for number, index in enumerate(lists):
        if index > end:
            break
        after = next((head for head in heads if head > index and _ends_list(rows, head)), len(rows))
        fates |= dict.fromkeys(range(index, after), "references")
        over = number + 1 == len(lists) and (after == len(rows) or not RESUMED.fullmatch(bare(rows[after].text)))
        if over or (after < len(rows) and _opens_appendix(rows[after])):
            end = min(end, after)
    for index in range(end, len(rows)):
        within = any(index >= start for start in lists if start >= end)
        fates.setdefault(index, "references" if within else "appendices")
    out: dict[Fate, list[Row]] = {"references": [], "appendices": []}
    for index in sorted(fates):
        out[fates[index]].append(rows[index])
    return [row for index, row in enumerate(rows) if index not in fates], out


def lists_references(rows: Sequence[Row], heading: int) -> bool:
    """Whether a list of references seems to follow the heading at index *heading* of *rows*."""
    return begins_with_references([row.text for row in rows[heading + 1 : heading + 1 + LOOKED_AT[-1]]])


def begins_with_references(texts: Sequence[str]) -> bool:
    """Whether *texts*, the lines after a heading, begin with references.

    Lines of references contain years and places of publication, and few function words.
    """
    return any(_are_references(texts[:count]) for count in LOOKED_AT)


def _are_references(texts: Sequence[str]) -> bool:
    entries = sum(ENTRY.search(text) is not None for text in texts)
    bare_list = function_words(" ".join(texts)) < LISTED
    return entries >= max((FEW if bare_list else MANY) * len(texts), 1)


def _opens_appendix(row: Row) -> bool:
    return bool(LETTERED.match(row.text) or APPENDIX.match(row.text) or APPENDIX.fullmatch(bare(row.text)))


def _ends_list(rows: Sequence[Row], head: int) -> bool:
    """Whether the heading at index *head* ends a list of references.

    Another heading of references does not end the list. Neither does a line of the list that only looks like a heading.
    """
    row = rows[head]
    if REFERENCES.fullmatch(bare(row.text)) or ENTRY.search(row.text):
        return False
    return _opens_appendix(row) or not lists_references(rows, head)


def _appendix(rows: Sequence[Row], heads: Sequence[int], text_type: Type) -> int:
    """Returns the index of the heading of the first appendix; the number of *rows* if there is no appendix.

    *heads* holds the indices of the headings. If a later heading repeats the words of a heading, the earlier one is an
    entry of a table of contents and is skipped.
    """
    running = prose(rows, text_type)
    later: set[str] = set()
    first = len(rows)
    for index in reversed(heads):
        text, name = rows[index].text, bare(rows[index].text)
        named = APPENDIX.fullmatch(name) or APPENDIX.match(text)
        if named and name.lower() not in later and any(running[index + 1 : index + 12]) and index >= 0.05 * len(rows):
            first = index
        later.add(name.lower())
    return first
