"""A research paper's PDF as text: title, abstract, and the body without references and appendices.

Nothing a file holds makes this fail: what cannot be read is told by its status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tasks.corpus.pdf_floats import without_floats
from tasks.corpus.pdf_furniture import without_furniture
from tasks.corpus.pdf_layout import in_reading_order
from tasks.corpus.pdf_outline import front, main_matter, title_of
from tasks.corpus.pdf_paragraphs import joined, paragraphs, words_of
from tasks.corpus.pdf_parts import type_of
from tasks.corpus.pdf_rows import Page, read_page

Status = Literal["ok", "repaired", "not_a_pdf", "encrypted", "empty"]

MAGIC = b"%PDF-"
HEAD = 1024
"""Bytes in which the magic bytes must stand, as readers of PDFs allow."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """What a PDF gave.

    *text* is the body in reading order: a paragraph, heading or caption a line, a blank line between.
    *pages* counts the pages read. *dropped* says how many rows of each sort were left out, *notes* what is doubtful.
    """

    status: Status
    title: str | None = None
    abstract: str | None = None
    text: str = ""
    pages: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_pdf(data: bytes, *, max_pages: int = 200) -> PdfText:
    """The text of the PDF *data*, of its first *max_pages* pages."""
    if MAGIC not in data[:HEAD]:
        return PdfText("not_a_pdf", notes=("the file does not begin as a PDF does",))
    import pymupdf

    faults = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
    pymupdf.TOOLS.mupdf_display_errors(False)
    try:
        with pymupdf.open(stream=data, filetype="pdf") as document:
            if document.needs_pass:
                return PdfText("encrypted", notes=("a password is needed",))
            if not document.is_pdf:
                return PdfText("not_a_pdf", notes=("the file is of another format",))
            pages, turned, notes = _pages(document, max_pages, faults)
            repaired = bool(document.is_repaired)
    except faults as error:
        return PdfText("empty", notes=(f"cannot be opened: {_line(error)}",))
    if repaired:
        notes.append("the file is damaged: text may be missing")
    if not any(page.rows for page in pages):
        return PdfText("empty", pages=len(pages), notes=(*notes, "no text on any page"))
    return _put_together("repaired" if repaired else "ok", pages, turned, notes)


def _pages(document: Any, max_pages: int, faults: tuple[type[Exception], ...]) -> tuple[list[Page], int, list[str]]:
    """The pages that can be read, how many turned rows they hold, and what was passed over."""
    pages: list[Page] = []
    notes: list[str] = []
    turned, count = 0, document.page_count
    for number in range(min(count, max_pages)):
        try:
            page, sideways = read_page(document[number], len(pages))
        except (*faults, IndexError) as error:
            notes.append(f"page {number + 1} cannot be read: {_line(error)}")
            continue
        pages.append(page)
        turned += sideways
    if count > max_pages:
        notes.append(f"only {max_pages} of {count} pages were read")
    return pages, turned, notes


def _put_together(status: Status, pages: list[Page], turned: int, notes: list[str]) -> PdfText:
    heights = [page.height for page in pages]
    pages, dropped = without_furniture(pages)
    rows = in_reading_order(pages)
    usual = type_of(rows)
    words = words_of(rows)
    title, rows = title_of(rows, pages[0].height)
    abstract, body = front(rows, usual, words, heights, notes)
    body, cut = main_matter(body, usual)
    body, cells = without_floats(body, usual)
    parts = paragraphs(body, usual, heights)
    text = "\n\n".join(joined(part.rows, words) for part in parts)
    dropped.update({"turned": turned, "figures and tables": cells, "references and appendices": cut})
    return PdfText(status, joined(title, words) or None, abstract, text, len(pages), dict(+dropped), tuple(notes))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
