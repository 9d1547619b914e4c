"""Removes headers, footers, page numbers and line numbers around the text of a page.

They are found by their position and by their recurrence on other pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from gre_bench.ingest.pdf.parts import CAPTION
from gre_bench.ingest.pdf.rows import Page, Row, extent
from gre_bench.ingest.pdf.words import Fate

EDGE = 0.2
"""The share of the page's height, at the top and at the bottom, that may hold running headers and footers."""

LARGER = 1.2
"""The largest size of running headers, in units of that of the running text."""

NOTICE = re.compile(
    r"proceedings of|copyright|©|c⃝|permission to|all rights reserved|licen[sc]e|arxiv:|under review", re.I
)
PAGE_NUMBER = re.compile(r"\W*(page\s*)?(\d{1,4}|[ivxlc]{1,6})(\s*(of|/)\s*\d{1,4})?\W*", re.I)


def without_furniture(pages: Sequence[Page], text_size: float) -> tuple[list[Page], dict[Fate, list[Row]]]:
    """Removes line numbers, page numbers, running headers and footers; returns the pages, and the removed rows by kind.

    *text_size* is the font size of the running text, in points.
    """
    dropped: dict[Fate, list[Row]] = {"line numbers": [], "page numbers": [], "headers and footers": []}
    numbered = []
    for page in pages:
        numbers = _line_numbers(page)
        dropped["line numbers"] += numbers
        numbered.append(replace(page, rows=tuple(row for row in page.rows if row not in numbers)))
    edges = [_edge_rows(page, text_size) for page in numbered]
    seen: Counter[tuple[str, str]] = Counter()
    for rows in edges:
        seen.update({key for key, _ in rows})
    kept = []
    for index, (page, rows) in enumerate(zip(numbered, edges, strict=True)):
        counted: set[Row] = set()
        out: set[Row] = set()
        for (zone, text), row in rows:
            if PAGE_NUMBER.fullmatch(row.text.strip()) and _stands_alone(row, zone, page):
                counted.add(row)
            elif re.search(r"[^\W\d_]{3}", text) and seen[zone, text] > max(1, len(pages) // 8):
                out.add(row)
            elif index == 0 and NOTICE.search(row.text) and (zone == "bottom" or row.y1 < 0.1 * page.height):
                out |= {other for other in page.rows if other.block == row.block and other.y0 >= row.y0} - counted
        out |= {
            row
            for _, row in rows
            if len(row.text.strip()) <= 2 and any(abs(row.y1 - other.y1) < 3 for other in out | counted)
        }
        dropped["page numbers"] += counted
        dropped["headers and footers"] += out - counted
        kept.append(replace(page, rows=tuple(row for row in page.rows if row not in out | counted)))
    return kept, dropped


def _edge_rows(page: Page, text_size: float) -> list[tuple[tuple[str, str], Row]]:
    """Returns (key, piece) for every piece of the three outermost rows at the top and at the bottom of *page*.

    The key is (``top`` or ``bottom``, the piece's text in lower case without digits and signs). A running header thus
    has the same key on all pages. Captions are left out, and so is type larger than the running text, as in titles of
    slides. *text_size* is the size of the running text in points.
    """
    edges = []
    from_top = sorted(page.rows, key=lambda row: row.y0)
    for zone, rows in (("top", from_top), ("bottom", sorted(page.rows, key=lambda row: -row.y1))):
        heights: list[float] = []
        for row in rows:
            inside = row.y1 < EDGE * page.height if zone == "top" else row.y0 > (1 - EDGE) * page.height
            middle = (row.y0 + row.y1) / 2
            if not inside:
                break
            if not any(abs(middle - height) < 4 for height in heights):
                heights.append(middle)
            if len(heights) > 3:
                break
            if row.size > LARGER * text_size or CAPTION.match(row.text.strip()):
                continue
            edges.append(((zone, re.sub(r"\d+|\W+", " ", row.text.lower()).strip()), row))
    return edges


def _stands_alone(number: Row, zone: str, page: Page) -> bool:
    """Whether *number*, a piece at an edge of *page*, stands alone, as page numbers do.

    At most two pieces may lie nearer to the edge, and at most two beside *number*. *zone* is the edge, ``top`` or
    ``bottom``.
    """
    further = [row for row in page.rows if (row.y1 < number.y0 if zone == "top" else row.y0 > number.y1)]
    beside = [row for row in page.rows if row.y0 < number.y1 and row.y1 > number.y0 and row is not number]
    return len(further) <= 2 and len(beside) <= 2


def _line_numbers(page: Page) -> set[Row]:
    """Returns the rows of *page* that are line numbers.

    Line numbers are five or more numbers in one margin, outside the text, that rise from top to bottom.
    """
    left, right = extent(page.rows)
    number_rows: set[Row] = set()
    numbers = [row for row in page.rows if re.fullmatch(r"\s*\d{1,4}\s*", row.text)]
    for side in ([row for row in numbers if row.x1 < left], [row for row in numbers if row.x0 > right]):
        side.sort(key=lambda row: row.y0)
        rising = all(int(above.text) < int(below.text) for above, below in pairwise(side))
        if len(side) >= 5 and rising:
            number_rows |= set(side)
    return number_rows
