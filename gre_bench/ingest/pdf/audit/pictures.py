"""Draws pages of a PDF with the findings of its audit marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gre_bench.ingest.pdf.audit.findings import Finding

if TYPE_CHECKING:
    import pymupdf

HIDDEN, ORDER = (0.85, 0.05, 0.1), (0.95, 0.55, 0.0)
"""Red for hidden text, orange for instructions."""


def draw(data: bytes, findings: Iterable[Finding], folder: Path, dpi: int) -> list[str]:
    """Writes a picture of each page with findings into *folder*, and returns the names of the files (``page-NNN.png``).

    *data* is the PDF. Each finding is framed, and its number in *findings*, from 1, is written beside the frame. A
    finding off the page is marked at the page's edge. *dpi* is the resolution; it is lowered for huge pages.
    """
    import pymupdf

    by_page: defaultdict[int, list[tuple[int, Finding]]] = defaultdict(list)
    for number, finding in enumerate(findings, 1):
        by_page[finding.page].append((number, finding))
    names = []
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for page_number, listed in sorted(by_page.items()):
            page = document[page_number - 1]
            scale = min(dpi / 72, (12e6 / max(page.rect.width * page.rect.height, 1.0)) ** 0.5)
            picture = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
            name = f"page-{page_number:03d}.png"
            _marked(picture, scale, listed).save(folder / name)
            names.append(name)
    return names


def _marked(picture: pymupdf.Pixmap, scale: float, listed: list[tuple[int, Finding]]) -> pymupdf.Pixmap:
    """Returns *picture*, a page drawn with *scale* pixels per point, with frames around findings.

    *listed* holds (number, finding) for each finding on the page. The frames are drawn on a new sheet, because the
    original page's transformations could displace them.
    """
    import pymupdf

    with pymupdf.open() as sheet:
        width, height = picture.width / scale, picture.height / scale
        page = sheet.new_page(width=width, height=height)
        page.insert_image(page.rect, pixmap=picture)
        for number, finding in listed:
            color = HIDDEN if finding.hidden else ORDER
            left, top, right, bottom = finding.box
            x0, x1 = (min(max(side, 2.0), width - 2) for side in (left - 2, right + 2))
            y0, y1 = (min(max(side, 2.0), height - 2) for side in (top - 2, bottom + 2))
            page.draw_rect((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)), color=color, width=1.0)
            page.insert_text((max(x0 - 10, 1), max(y0 + 6, 8)), str(number), fontsize=8, color=color)
        return page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
