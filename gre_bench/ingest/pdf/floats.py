"""Removes the labels in figures and the cells of tables, which lie between a caption and the running text.

The captions stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from gre_bench.ingest.pdf.parts import BULLET, KNOWN, NUMBER, Type, bare, follows, goes_on, is_heading, starts_caption
from gre_bench.ingest.pdf.prose import prose, reads_as_prose
from gre_bench.ingest.pdf.rows import Row


def without_floats(rows: Sequence[Row], text_type: Type) -> tuple[list[Row], list[Row]]:
    """Removes the cells of tables and the labels in figures; returns the kept rows and the removed rows.

    The rows between a caption and the nearest running text are removed. Sentences in the font size of the running text
    (*text_type*) stay.
    """
    tails = [
        _tail(index, rows, text_type)
        for index, row in enumerate(rows)
        if starts_caption(row, rows[index - 1] if index else None, text_type)
    ]
    inside = set().union(*tails)
    kept = prose(rows, text_type, inside)
    for index in range(len(rows)):
        kept[index] = kept[index] or index in inside or _ends_float(index, rows, kept, text_type)
    by_page: defaultdict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_page[row.page].append(index)
    out: set[int] = set()
    for tail in tails:
        row = rows[tail[0]]
        beside = [
            index for index in by_page[row.page] if rows[index].x1 > row.left - 5 and rows[index].x0 < row.right + 5
        ]
        upper = sorted((index for index in beside if rows[index].y1 < row.y0 + 3), key=lambda index: -rows[index].y1)
        lower = sorted(
            (index for index in beside if rows[index].y0 > row.y0 + 3 and index not in tail),
            key=lambda index: rows[index].y0,
        )
        above, below = set(_until(upper, kept)), set(_until(lower, kept))
        if row.text.lower().startswith("fig"):
            out |= above
        elif row.text.lower().startswith("tab"):
            out |= max(above, below, key=len)
    out -= _sentences(out, rows, text_type)
    kept_rows = [row for index, row in enumerate(rows) if index not in out]
    return kept_rows, [rows[index] for index in sorted(out)]


def _sentences(out: Collection[int], rows: Sequence[Row], text_type: Type) -> set[int]:
    """Returns those indices of *out* whose paragraphs read as prose.

    *out* holds indices of *rows* that are about to be removed. *text_type* is the font size and leading of the running
    text.
    """
    indices: set[int] = set()
    block: list[int] = []
    for index in [*sorted(out), -1]:
        if block and (index != block[-1] + 1 or not follows(rows[index], rows[block[-1]], text_type)):
            if reads_as_prose([rows[inside] for inside in block], text_type):
                indices |= set(block)
            block = []
        block.append(index)
    return indices


def _ends_float(index: int, rows: Sequence[Row], kept: Sequence[bool], text_type: Type) -> bool:
    """Whether the row at *index*, which is no running text, is a heading or a list item, which ends a float.

    *kept* says for each of *rows* whether it is running text or part of a caption.
    """
    row, above = rows[index], rows[index - 1] if index else None
    if BULLET.match(row.text):
        return len(row.text.split()) >= 5 and row.gap < 2
    if not is_heading(row, above, text_type):
        return False
    below = index + 1 < len(rows) and rows[index + 1].page_and_column == row.page_and_column and kept[index + 1]
    return below or bool(NUMBER.match(row.text)) or KNOWN.fullmatch(bare(row.text)) is not None


def _tail(caption: int, rows: Sequence[Row], text_type: Type) -> list[int]:
    """Returns the indices of all rows of the caption whose first row is at the index *caption*."""
    tail = [caption]
    while tail[-1] + 1 < len(rows) and goes_on(rows[tail[-1] + 1], rows[tail[-1]], text_type):
        tail.append(tail[-1] + 1)
    return tail


def _until(indices: Sequence[int], kept: Sequence[bool]) -> Iterator[int]:
    for index in indices:
        if kept[index]:
            return
        yield index
