"""Extracts the text of a research paper from a PDF: title, abstract, and the body without references and appendices.

Only text that a human can see on the pages is kept; hidden text is reported as findings. A faulty file does not raise
an error; its status says what is wrong. Every dropped word is counted under the rule that dropped it. A file can still
hang this process or exhaust memory, so `reader` reads files in child processes with limits.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

import pymupdf

from gre_bench.ingest.pdf.audit import audit_page, find_text_in_hidden_layers, label_finding
from gre_bench.ingest.pdf.matter import (
    drop_back_matter,
    drop_figures_and_tables,
    drop_tables_of_contents,
    extract_abstract,
    find_title_rows,
)
from gre_bench.ingest.pdf.paragraphs import (
    CAPTION,
    count_row_words,
    drop_formula_and_table_fragments,
    join_rows_into_one_line,
    measure_font_metrics,
    split_into_paragraphs,
)
from gre_bench.ingest.pdf.rows import (
    Page,
    TextLine,
    compute_horizontal_bounds,
    is_footnote_mark,
    list_undecided_rows,
    read_page,
    set_fate,
)
from gre_bench.ingest.pdf.text import (
    FATES,
    LARGEST,
    PageWordCounts,
    PdfText,
    Status,
    SuspectText,
    explain_not_pdf,
    explain_truncation,
    list_completeness_doubts,
)

_LOST = re.compile(r"zlib error|premature end|cannot read|unexpected eof|truncated|cannot find startxref in tail", re.I)
_WRONG = re.compile(r"syntax error", re.I)
MOST_FINDINGS = 200
"""At most this many findings of a file are kept; a note states how many more there are."""


@dataclass(slots=True)
class _PdfPages:
    """The pages of a file that could be read, with notes, findings and counts.

    - *characters*: how many characters the pages have. *hidden*: how many of them are hidden. *recognised*: how many
      letters and digits come from text recognition.
    - *scans*: how many pages are scans. *pictures*: how many pages have pictures. *lost*: how many pages are damaged or
      could not be read. *wrong*: how many pages could be read only in part.
    """

    pages: list[Page] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: list[SuspectText] = field(default_factory=list)
    characters: int = 0
    hidden: int = 0
    recognised: int = 0
    scans: int = 0
    pictures: int = 0
    lost: int = 0
    wrong: int = 0


def read_pdf(data: bytes, *, max_pages: int = 200) -> PdfText:
    """Returns the text of the first *max_pages* pages of the PDF *data*, which is read in this process."""
    refused = explain_not_pdf(data)
    if refused:
        return PdfText("not_a_pdf", notes=(refused,))
    if len(data) > LARGEST:
        return PdfText("too_long", notes=(f"the file has {len(data):,} bytes; at most {LARGEST:,} are read",))
    faults = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)  # pyrefly: ignore
    pymupdf.TOOLS.mupdf_display_errors(False)
    cut = explain_truncation(data)
    try:
        with pymupdf.open(stream=data, filetype="pdf") as document:
            if document.needs_pass:
                return PdfText("encrypted", notes=("a password is needed",))
            if not document.is_pdf:
                return PdfText("not_a_pdf", notes=("the file is of another format",))
            count = document.page_count
            read = _read_pages(document, min(count, max_pages), faults)
            try:
                read.findings += [
                    label_finding(finding) for finding in find_text_in_hidden_layers(data, document, max_pages)
                ]
            except faults as error:
                read.notes.append(f"layers cannot be looked at: {_format_ascii_line(error)}")
            status = _decide_status(document, count, max_pages, read, cut)
    except faults as error:
        notes = (f"cannot be opened: {_format_ascii_line(error)}", *([cut] if cut else []))
        return PdfText("truncated" if cut else "empty", notes=notes)
    findings = sorted(read.findings, key=lambda finding: finding.page)
    if len(findings) > MOST_FINDINGS:
        read.notes.append(f"{len(findings) - MOST_FINDINGS} more findings are not listed")
    title, abstract, text, rows = None, None, "", []
    if any(page.rows for page in read.pages):
        title, abstract, text, rows = _extract_title_abstract_and_text(read.pages, read.notes)
    words = _count_words_by_fate(read.pages, rows)
    doubtful = list_completeness_doubts(words)
    return PdfText(
        "doubtful" if doubtful and status in ("ok", "repaired") else status, title, abstract, text, len(read.pages),
        words, read.characters, read.hidden, (*read.notes, *doubtful), tuple(findings[:MOST_FINDINGS]),
    )  # fmt: skip


def _read_pages(document: Any, count: int, faults: tuple[type[Exception], ...]) -> _PdfPages:
    """Returns the first *count* pages of *document*; a page that raises one of *faults* counts as lost, with a note."""
    read = _PdfPages()
    pymupdf.TOOLS.mupdf_warnings()
    for number in range(1, count + 1):
        try:
            page = document[number - 1]
            sight, findings, notes = audit_page(page, number, faults)
            warnings = pymupdf.TOOLS.mupdf_warnings().splitlines()
            rows = read_page(sight, len(read.pages), number, (page.rect.width, page.rect.height))
        except (*faults, IndexError) as error:
            read.notes.append(f"page {number} cannot be read: {_format_ascii_line(error)}")
            read.lost += 1
            continue
        if (loss := next(filter(_LOST.search, warnings), None)) or (sight.empty and document.is_repaired):
            read.notes.append(f"page {number} is damaged: {_format_ascii_line(loss or 'nothing is left on it')}")
            read.lost += 1
        elif error := next(filter(_WRONG.search, warnings), None):
            read.notes.append(f"page {number} is not all understood: {_format_ascii_line(error)}")
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


def _decide_status(document: Any, count: int, most: int, read: _PdfPages, cut: str | None) -> Status:
    """Returns the status of a file with *count* pages, and adds the reasons to the notes of *read*.

    *most*: how many pages are read at most. *cut*: why the file seems to be truncated, if it does.
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


def _extract_title_abstract_and_text(
    pages: Sequence[Page], notes: list[str]
) -> tuple[str | None, str | None, str, list[TextLine]]:
    """Returns (title, abstract, text, rows) of *pages*; title and abstract are None if they were not found.

    The rows are the lines of text in reading order; the *fate* of each says whether it was kept, or why it was removed.
    Headers, footers, sidebars, and page and line numbers are not among them. Adds doubts about the result to *notes*.
    """
    heights = [page.height for page in pages]
    drop_headers_and_footers(pages, measure_font_metrics([row for page in pages for row in page.rows]).size)
    drop_sidebars(pages)
    rows = sort_in_reading_order(pages)
    text_type = measure_font_metrics(rows)
    words = count_row_words(rows)
    title = find_title_rows(rows, heights[0])
    drop_tables_of_contents(list_undecided_rows(rows), text_type)
    abstract = extract_abstract(list_undecided_rows(rows), text_type, words, heights, notes)
    drop_back_matter(list_undecided_rows(rows), text_type)
    drop_figures_and_tables(list_undecided_rows(rows), text_type)
    parts = split_into_paragraphs(list_undecided_rows(rows), text_type, heights)
    drop_formula_and_table_fragments(parts)
    kept = [part.rows for part in parts if part.rows[0].fate is None]
    set_fate(list_undecided_rows(rows), "kept")
    return (
        join_rows_into_one_line(title, words) or None,
        abstract,
        "\n\n".join(join_rows_into_one_line(part, words) for part in kept),
        rows,
    )


def _count_words_by_fate(pages: Sequence[Page], rows: Sequence[TextLine]) -> tuple[PageWordCounts, ...]:
    """Returns, for each page, how many words were kept, and how many were removed for each reason.

    *rows*: as in `_extract_title_abstract_and_text`.
    """
    counts = [Counter({"hidden": page.hidden, "turned": page.turned}) for page in pages]
    for row in [*(piece for page in pages for piece in page.rows), *rows]:
        if row.fate:
            counts[row.page][row.fate] += row.words
            counts[row.page]["footnote marks" if row.fate == "kept" else row.fate] += row.marks
    counted = []
    for page, fates in zip(pages, counts, strict=True):
        fates["unaccounted"] += page.words - fates.total()
        counted.append(PageWordCounts(page.number, {fate: fates[fate] for fate in FATES if fates[fate]}))
    return tuple(counted)


def _format_ascii_line(message: object) -> str:
    """Returns MuPDF's *message* as one line of at most 200 ASCII characters, with ? for any other character."""
    return " ".join(str(message).encode("ascii", "replace").decode().split())[:200]


EDGE = 0.2
"""Running headers are within this share of the page's height from the top; footers, from the bottom."""

LARGER = 1.2
"""The largest font size of running headers, as a multiple of the font size of the body."""

NOTICE = re.compile(
    r"proceedings of|copyright|©|c⃝|permission to|all rights reserved|licen[sc]e|arxiv:|under review", re.I
)
PAGE_NUMBER = re.compile(r"\W*(page\s*)?(\d{1,4}|[ivxlc]{1,6})(\s*(of|/)\s*\d{1,4})?\W*", re.I)


def drop_headers_and_footers(pages: Sequence[Page], text_size: float) -> None:
    """Drops line numbers, page numbers, running headers and footers; finds them by position and recurrence."""
    for page in pages:
        set_fate(_find_line_numbers(page), "line numbers")
    edges = [_find_edge_rows(page, text_size) for page in pages]
    seen = Counter(key for rows in edges for key in {key for key, _ in rows})
    for index, (page, rows) in enumerate(zip(pages, edges, strict=True)):
        counted: set[TextLine] = set()
        out: set[TextLine] = set()
        for (zone, text), row in rows:
            if PAGE_NUMBER.fullmatch(row.text.strip()) and _page_number_stands_alone(row, zone, page):
                counted.add(row)
            elif re.search(r"[^\W\d_]{3}", text) and seen[zone, text] > max(1, len(pages) // 8):
                out.add(row)
            elif index == 0 and NOTICE.search(row.text) and (zone == "bottom" or row.y1 < 0.1 * page.height):
                out |= {
                    other for other in list_undecided_rows(page.rows) if other.block == row.block and other.y0 >= row.y0
                } - counted
        out |= {
            row
            for _, row in rows
            if len(row.text.strip()) <= 2 and any(abs(row.y1 - other.y1) < 3 for other in out | counted)
        }
        set_fate(out, "headers and footers")
        set_fate(counted, "page numbers")


def _find_edge_rows(page: Page, text_size: float) -> list[tuple[tuple[str, str], TextLine]]:
    """Returns (key, piece) for every piece of the first three and the last three lines of *page*.

    The key is (``top`` or ``bottom``, the text in lower case without digits and punctuation). A running header has the
    same key on all pages. Captions are left out, and so are lines in a font clearly larger than *text_size*, such as
    titles of slides.
    """
    edges = []
    left = list_undecided_rows(page.rows)
    by_zone = {"top": sorted(left, key=lambda row: row.y0), "bottom": sorted(left, key=lambda row: -row.y1)}
    for zone, rows in by_zone.items():
        heights: list[float] = []
        for row in rows:
            inside = row.y1 < EDGE * page.height if zone == "top" else row.y0 > (1 - EDGE) * page.height
            middle = (row.y0 + row.y1) / 2
            if not any(abs(middle - height) < 4 for height in heights):
                heights.append(middle)
            if not inside or len(heights) > 3:
                break
            if row.size <= LARGER * text_size and not CAPTION.match(row.text.strip()):
                edges.append(((zone, re.sub(r"\d+|\W+", " ", row.text.lower()).strip()), row))
    return edges


def _page_number_stands_alone(number: TextLine, zone: str, page: Page) -> bool:
    """Whether the page number *number* stands alone on *page*.

    At most two pieces of text may lie between it and the page's edge *zone* (``top`` or ``bottom``), and at most two
    beside it.
    """
    left = list_undecided_rows(page.rows)
    further = [row for row in left if (row.y1 < number.y0 if zone == "top" else row.y0 > number.y1)]
    beside = [row for row in left if row.y0 < number.y1 and row.y1 > number.y0 and row is not number]
    return len(further) <= 2 and len(beside) <= 2


def _find_line_numbers(page: Page) -> set[TextLine]:
    """Returns the line numbers of *page*: at least five numbers in one margin that increase from top to bottom."""
    left, right = compute_horizontal_bounds(page.rows)
    numbers = sorted((row for row in page.rows if re.fullmatch(r"\s*\d{1,4}\s*", row.text)), key=lambda row: row.y0)
    sides = [row for row in numbers if row.x1 < left], [row for row in numbers if row.x0 > right]
    return {
        row
        for side in sides
        if len(side) >= 5 and all(int(above.text) < int(below.text) for above, below in pairwise(side))
        for row in side
    }


SPACED = re.compile(r"(?:[A-Z]\s){3,}[A-Z]")


def sort_in_reading_order(pages: Sequence[Page]) -> list[TextLine]:
    """Returns the text lines of *pages* that no step has kept or removed so far, in reading order.

    Lines that span the columns, such as a title, divide a page into bands. The order is band by band, and within each
    band column by column.
    """
    gutters, usual = _find_page_gutters(pages)
    ordered: list[TextLine] = []
    for page, own in zip(pages, gutters, strict=True):
        gutter = own if own is not None else usual
        rows = list_undecided_rows(page.rows)
        ordered += (
            _join_column_pieces_into_rows(rows, *compute_horizontal_bounds(rows), 0)
            if gutter is None
            else _order_rows_by_band(rows, gutter)
        )
    return ordered


def drop_sidebars(pages: Sequence[Page]) -> None:
    """Drops sidebars next to a single text column on the first two pages; later pages show where the column lies."""
    if _find_page_gutters(pages)[1] is not None:
        return
    extents = [
        compute_horizontal_bounds(rows) for page in pages[2:] if len(rows := list_undecided_rows(page.rows)) > 20
    ]
    if extents:
        left, right = (statistics.median(side) for side in zip(*extents, strict=True))
        for page in pages[:2]:
            beside = (row for row in list_undecided_rows(page.rows) if row.x1 <= left - 5 or row.x0 >= right + 5)
            set_fate(beside, "sidebar")


def _find_page_gutters(pages: Sequence[Page]) -> tuple[list[float | None], float | None]:
    """Returns (the gutter of each page, the median gutter). A gutter is the x of the gap between two columns.

    The gutter of a page with one column is None. If fewer than a third of the pages with text have a gutter, all
    gutters are None.
    """
    gutters: list[float | None] = [_find_gutter(list_undecided_rows(page.rows)) for page in pages]
    votes = [gutter for gutter in gutters if gutter is not None]
    if len(votes) * 3 < sum(bool(list_undecided_rows(page.rows)) for page in pages):
        gutters = [None for _ in pages]
        votes = []
    return gutters, statistics.median(votes) if votes else None


def _find_gutter(rows: Sequence[TextLine]) -> float | None:
    """Returns the middle (x in points) of the widest gap between two columns of *rows*; None if there is one column."""
    long = [row for row in rows if len(row.text.strip()) >= 12]
    if len(long) < 12:
        return None
    left, right = min(row.x0 for row in long), max(row.x1 for row in long)
    places = [left + (right - left) * (0.3 + 0.4 * step / 80) for step in range(81)]
    crossed = [sum(row.x0 < x < row.x1 for row in long) for x in places]
    least = min(crossed)
    runs = [list(run) for count, run in groupby(range(81), crossed.__getitem__) if count == least]
    widest = max(runs, key=len)
    x = (places[widest[0]] + places[widest[-1]]) / 2
    sides = sum(row.x1 <= x for row in long), sum(row.x0 >= x for row in long)
    return x if min(sides) >= 4 and sum(sides) > 2 * least else None


def _split_into_columns(rows: Sequence[TextLine], gutter: float) -> list[list[TextLine]]:
    """Splits *rows*, lines that do not cross *gutter*, into columns at the gutter; splits each side again if needed."""
    parts: list[list[TextLine]] = []
    for side in ([row for row in rows if row.x1 <= gutter + 3], [row for row in rows if row.x1 > gutter + 3]):
        inner = _find_gutter(side)
        crossing = inner is not None and any(row.x0 < inner - 3 and row.x1 > inner + 3 for row in side)
        parts += [side] if inner is None or crossing else _split_into_columns(side, inner)
    return parts


def _order_rows_by_band(rows: Sequence[TextLine], gutter: float) -> list[TextLine]:
    """Returns the text lines *rows* of a page in reading order. *gutter*: the x of the gap between the columns.

    Lines that cross the gutter, such as a title, divide the page into bands. A short line directly below a crossing
    line of the same block counts as crossing, too.
    """
    full = [row for row in rows if row.x0 < gutter - 3 and row.x1 > gutter + 3]
    crossing = set(full)
    for row in sorted(set(rows) - crossing, key=lambda row: row.y0):
        above = [other for other in full if other.block == row.block and -1 < row.y0 - other.y0 < 1.7 * row.size]
        if above:
            full.append(row)
            crossing.add(row)
    left, right = compute_horizontal_bounds(rows)
    columns = _split_into_columns([row for row in rows if row not in crossing], gutter)
    bounds = [compute_horizontal_bounds(column) for column in columns]
    ordered: list[TextLine] = []
    top = -1.0
    whole = _join_column_pieces_into_rows(full, left, right, 0)
    for row in [*whole, None]:
        limit = row.y0 + 0.3 * row.size if row else float("inf")
        for number, column in enumerate(columns, 1):
            band = [piece for piece in column if top <= (piece.y0 + piece.y1) / 2 < limit]
            ordered += _join_column_pieces_into_rows(band, *bounds[number - 1], number)
        if row:
            ordered.append(row)
            top = max(top, limit)
    return ordered


def _join_column_pieces_into_rows(pieces: Sequence[TextLine], left: float, right: float, column: int) -> list[TextLine]:
    """Joins those *pieces* of one column that are on the same line; returns the lines from top to bottom."""
    return [_join_pieces_into_row(row, left, right, column) for row in _group_pieces_by_line(pieces)]


def _group_pieces_by_line(pieces: Sequence[TextLine]) -> Iterator[list[TextLine]]:
    row: list[TextLine] = []
    for piece in sorted(pieces, key=lambda piece: ((piece.y0 + piece.y1) / 2, piece.x0)):
        if row:
            tallest = max(row, key=lambda other: other.y1 - other.y0)
            shared = min(tallest.y1, piece.y1) - max(tallest.y0, piece.y0)
            if shared < 0.55 * min(tallest.y1 - tallest.y0, piece.y1 - piece.y0):
                yield row
                row = []
        row.append(piece)
    if row:
        yield row


def _join_pieces_into_row(row: list[TextLine], left: float, right: float, column: int) -> TextLine:
    row = sorted(row, key=lambda piece: piece.x0)
    main = max(row, key=lambda piece: len(piece.text))
    text, gap, marks = row[0].text, 0.0, 0
    for before, piece in pairwise(row):
        space = piece.x0 - before.x1
        small = piece.size < 0.8 * main.size and piece.y1 < main.y1 - 0.15 * main.size
        if small and space < 0.12 * main.size and is_footnote_mark(piece.text, text):
            marks += piece.words
            continue
        gap = max(gap, space / main.size)
        text = text + piece.text if space < 0.12 * main.size else f"{text.rstrip()} {piece.text.lstrip()}"
    text = " ".join(text.split())
    if SPACED.fullmatch(text):
        text = text.replace(" ", "")
    letters = sum(len(piece.text) for piece in row)
    bold = sum(len(piece.text) for piece in row if piece.bold) > 0.8 * letters
    return replace(
        main,
        text=text,
        x0=row[0].x0,
        x1=max(piece.x1 for piece in row),
        peak=max(piece.peak for piece in row),
        bold=bold,
        raised=row[0].raised or (len(row[0].text.strip()) <= 2 and row[0].size < 0.8 * main.size),
        left=left,
        right=right,
        column=column,
        gap=gap,
        words=sum(piece.words for piece in row) - marks,
        marks=marks,
    )
