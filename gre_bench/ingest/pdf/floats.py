"""Removes labels of figures and cells of tables, between a caption and the running text; captions stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from gre_bench.ingest.pdf.parts import BULLET, KNOWN, NUMBER, Type, bare, follows, goes_on, is_heading, starts_caption
from gre_bench.ingest.pdf.prose import prose, reads_as_prose
from gre_bench.ingest.pdf.rows import Row


def without_floats(rows: Sequence[Row], usual: Type) -> tuple[list[Row], list[Row]]:
    """Returns *rows* without the cells of tables and the labels in figures, and the removed rows.

    Removed are rows between a caption and running text. Sentences in the size of the text stay anywhere.
    """
    tails = [
        _tail(place, rows, usual)
        for place, row in enumerate(rows)
        if starts_caption(row, rows[place - 1] if place else None, usual)
    ]
    inside = set().union(*tails)
    kept = prose(rows, usual, inside)
    for place in range(len(rows)):
        kept[place] = kept[place] or place in inside or _stops(place, rows, kept, usual)
    by_page: defaultdict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_page[row.page].append(place)
    out: set[int] = set()
    for tail in tails:
        row = rows[tail[0]]
        beside = [
            place for place in by_page[row.page] if rows[place].x1 > row.left - 5 and rows[place].x0 < row.right + 5
        ]
        upper = sorted((place for place in beside if rows[place].y1 < row.y0 + 3), key=lambda place: -rows[place].y1)
        lower = sorted(
            (place for place in beside if rows[place].y0 > row.y0 + 3 and place not in tail),
            key=lambda place: rows[place].y0,
        )
        above, below = set(_until(upper, kept)), set(_until(lower, kept))
        if row.text.lower().startswith("fig"):
            out |= above
        elif row.text.lower().startswith("tab"):
            out |= max(above, below, key=len)
    out -= _sentences(out, rows, usual)
    kept_rows = [row for place, row in enumerate(rows) if place not in out]
    return kept_rows, [rows[place] for place in sorted(out)]


def _sentences(out: Collection[int], rows: Sequence[Row], usual: Type) -> set[int]:
    """Returns those of the indices *out* whose paragraphs read as prose."""
    found: set[int] = set()
    block: list[int] = []
    for place in [*sorted(out), -1]:
        if block and (place != block[-1] + 1 or not follows(rows[place], rows[block[-1]], usual)):
            if reads_as_prose([rows[inside] for inside in block], usual):
                found |= set(block)
            block = []
        block.append(place)
    return found


def _stops(place: int, rows: Sequence[Row], kept: Sequence[bool], usual: Type) -> bool:
    """Whether a row that is not running text is still no part of a figure or table: a heading or a list item."""
    row, above = rows[place], rows[place - 1] if place else None
    if BULLET.match(row.text):
        return len(row.text.split()) >= 5 and row.gap < 2
    if not is_heading(row, above, usual):
        return False
    below = place + 1 < len(rows) and rows[place + 1].place == row.place and kept[place + 1]
    return below or bool(NUMBER.match(row.text)) or KNOWN.fullmatch(bare(row.text)) is not None


def _tail(caption: int, rows: Sequence[Row], usual: Type) -> list[int]:
    """Returns the indices of the rows of the caption that begins at *caption*."""
    tail = [caption]
    while tail[-1] + 1 < len(rows) and goes_on(rows[tail[-1] + 1], rows[tail[-1]], usual):
        tail.append(tail[-1] + 1)
    return tail


def _until(places: Sequence[int], kept: Sequence[bool]) -> Iterator[int]:
    for place in places:
        if kept[place]:
            return
        yield place
