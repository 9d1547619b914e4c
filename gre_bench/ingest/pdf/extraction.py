"""Reads a research paper's PDF as text: title, abstract, and the body without references and appendices.

Only text that a human can see on the pages is kept; hidden text is reported as findings. A faulty file raises no error:
its status says what was wrong. Every word that is left out is counted under the rule that dropped it. A file can still
hang this process or take all memory, so `reader` reads files in child processes with limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pymupdf

from gre_bench.ingest.pdf.audit.findings import Finding
from gre_bench.ingest.pdf.audit.pages import audit_page, conform, judged, layers
from gre_bench.ingest.pdf.layout import drop_furniture, drop_sidebars, in_reading_order
from gre_bench.ingest.pdf.matter import drop_back_matter, drop_contents, drop_floats, front, title_of
from gre_bench.ingest.pdf.paragraphs import drop_debris, joined, paragraphs, words_of
from gre_bench.ingest.pdf.parts import type_of
from gre_bench.ingest.pdf.rows import Page, Row, decide, read_page, undecided
from gre_bench.ingest.pdf.text import LARGEST, PdfText, Status, cut_off, refusal
from gre_bench.ingest.pdf.words import MEANING, PageWords, doubts

_LOST = re.compile(r"zlib error|premature end|cannot read|unexpected eof|truncated|cannot find startxref in tail", re.I)
_WRONG = re.compile(r"syntax error", re.I)
MOST_FINDINGS = 200
"""The most findings of a file that are kept; the number of further ones is noted."""


@dataclass(slots=True)
class _Pages:
    """The pages of a file as far as they could be read, with notes, findings and counts.

    - *characters*: all characters, of which *hidden* are hidden and *recognised* come from text recognition on scans.
    - *scans*, *pictures*, *lost*, *wrong*: how many pages are scans, have pictures, are damaged or unreadable, and have
      parts that MuPDF did not understand.
    """

    pages: list[Page] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    characters: int = 0
    hidden: int = 0
    recognised: int = 0
    scans: int = 0
    pictures: int = 0
    lost: int = 0
    wrong: int = 0


def read_pdf(data: bytes, *, max_pages: int = 200) -> PdfText:
    """Reads the first *max_pages* pages of the PDF *data* in this process, and returns their text.

    A faulty file raises no error; its status says what was wrong.
    """
    refused = refusal(data)
    if refused:
        return PdfText("not_a_pdf", notes=(refused,))
    if len(data) > LARGEST:
        return PdfText("too_long", notes=(f"the file has {len(data):,} bytes; at most {LARGEST:,} are read",))
    faults = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)  # pyright: ignore[reportPrivateImportUsage]
    pymupdf.TOOLS.mupdf_display_errors(False)
    cut = cut_off(data)
    try:
        with pymupdf.open(stream=data, filetype="pdf") as document:
            if document.needs_pass:
                return PdfText("encrypted", notes=("a password is needed",))
            if not document.is_pdf:
                return PdfText("not_a_pdf", notes=("the file is of another format",))
            count = document.page_count
            noted, expressed = [], False
            try:
                expressed = conform(document)
            except faults as error:
                noted.append(f"memberships of layers cannot be looked at: {_plain(error)}")
            read = _read(document, min(count, max_pages), faults)
            read.notes += noted
            try:
                read.findings += [judged(finding) for finding in layers(data, document, max_pages, expressed)]
            except faults as error:
                read.notes.append(f"layers cannot be looked at: {_plain(error)}")
            status = _status(document, count, max_pages, read, cut)
    except faults as error:
        notes = (f"cannot be opened: {_plain(error)}", *([cut] if cut else []))
        return PdfText("truncated" if cut else "empty", notes=notes)
    return _put_together(status, read)


def _read(document: Any, count: int, faults: tuple[type[Exception], ...]) -> _Pages:
    """Returns the first *count* pages of *document*; one that raises any of *faults* counts as lost, with a note."""
    read = _Pages()
    pymupdf.TOOLS.mupdf_warnings()
    for number in range(1, count + 1):
        try:
            page = document[number - 1]
            empty = not page.get_bboxlog()
            warnings = pymupdf.TOOLS.mupdf_warnings().splitlines()
            sight, findings, notes = audit_page(page, number, faults)
            rows = read_page(sight, len(read.pages), number, (page.rect.width, page.rect.height))
        except (*faults, IndexError) as error:
            read.notes.append(f"page {number} cannot be read: {_plain(error)}")
            read.lost += 1
            continue
        if (loss := next(filter(_LOST.search, warnings), None)) or (empty and document.is_repaired):
            read.notes.append(f"page {number} is damaged: {_plain(loss or 'nothing is left on it')}")
            read.lost += 1
        elif error := next(filter(_WRONG.search, warnings), None):
            read.notes.append(f"page {number} is not all understood: {_plain(error)}")
            read.wrong += 1
        read.pages.append(rows)
        read.notes += notes
        read.findings += findings
        read.characters += len(sight.glyphs.text)
        read.hidden += int(sight.hidden.sum())
        read.recognised += sight.recognised
        read.scans += sight.scan
        read.pictures += sight.pictured > 0.05
        pymupdf.TOOLS.mupdf_warnings()
    return read


def _status(document: Any, count: int, most: int, read: _Pages, cut: str | None) -> Status:
    """Returns the status of a file with *count* pages, and adds the reasons for it to the notes of *read*.

    *most* is how many pages are read at most. *cut* says why the file seems to be only the beginning of a longer one.
    """
    repaired = bool(document.is_repaired)
    if repaired:
        read.notes.append("the file is damaged and was repaired: text may be missing")
    if (repaired and cut) or read.lost:
        read.notes += [cut] if cut else []
        return "truncated"
    if count > most:
        read.notes.append(f"only {most} of {count} pages were read")
        return "too_long"
    text = any(page.rows for page in read.pages)
    if read.recognised:
        read.notes.append(f"{read.recognised} letters are those of text recognition laid over a scan")
    if (read.scans > 0.5 * len(read.pages)) if text else read.pictures:
        return "scanned"
    if not text:
        read.notes.append("no text on any page")
        return "empty"
    return "repaired" if repaired or read.wrong else "ok"


def _put_together(status: Status, read: _Pages) -> PdfText:
    notes, findings = read.notes, sorted(read.findings, key=lambda finding: finding.page)
    if len(findings) > MOST_FINDINGS:
        notes.append(f"{len(findings) - MOST_FINDINGS} more findings are not listed")
    title, abstract, text, rows = None, None, "", []
    if any(page.rows for page in read.pages):
        title, abstract, text, rows = _parts(read.pages, notes)
    words = _counted(read.pages, rows)
    doubtful = doubts(words)
    return PdfText(
        "doubtful" if doubtful and status in ("ok", "repaired") else status, title, abstract, text, len(read.pages),
        words, read.characters, read.hidden, (*notes, *doubtful), tuple(findings[:MOST_FINDINGS]),
    )  # fmt: skip


def _parts(pages: Sequence[Page], notes: list[str]) -> tuple[str | None, str | None, str, list[Row]]:
    """Returns title and abstract (None if not found) and text of *pages*, and all rows in reading order, with fates.

    Pieces that are dropped from the edges of a page have their fates in *pages* alone. *notes* receives doubts.
    """
    heights = [page.height for page in pages]
    drop_furniture(pages, type_of([row for page in pages for row in page.rows]).size)
    drop_sidebars(pages)
    rows = in_reading_order(pages)
    text_type = type_of(rows)
    words = words_of(rows)
    title = title_of(rows, heights[0])
    drop_contents(undecided(rows), text_type)
    abstract = front(undecided(rows), text_type, words, heights, notes)
    drop_back_matter(undecided(rows), text_type)
    drop_floats(undecided(rows), text_type)
    parts = paragraphs(undecided(rows), text_type, heights)
    drop_debris(parts)
    kept = [part.rows for part in parts if part.rows[0].fate is None]
    decide(undecided(rows), "kept")
    return joined(title, words) or None, abstract, "\n\n".join(joined(part, words) for part in kept), rows


def _counted(pages: Sequence[Page], rows: Sequence[Row]) -> tuple[PageWords, ...]:
    """Returns for each page how many of its words have which fate; *rows* are all rows in reading order."""
    counts = [Counter({"hidden": page.hidden, "turned": page.turned}) for page in pages]
    for row in [*(piece for page in pages for piece in page.rows), *rows]:
        if row.fate:
            counts[row.page][row.fate] += row.words
            counts[row.page]["footnote marks" if row.fate == "kept" else row.fate] += row.marks
    for page, fates in zip(pages, counts, strict=True):
        fates["unaccounted"] += page.words - fates.total()
    return tuple(
        PageWords(page.number, {fate: fates[fate] for fate in MEANING if fates[fate]})
        for page, fates in zip(pages, counts, strict=True)
    )


def _plain(message: object) -> str:
    """Returns *message*, from MuPDF, as one line of at most 200 ASCII characters, with ? for each other one."""
    return " ".join(str(message).encode("ascii", "replace").decode().split())[:200]
