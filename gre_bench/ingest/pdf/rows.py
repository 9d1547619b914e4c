"""Reads the visible text on a page of a PDF as rows, which are lines of text.

A row (`TextLine`) is the text on one baseline of one column. PyMuPDF may return a row in several pieces. All
coordinates are in points, from the top left of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from gre_bench.ingest.pdf.text import Box, Fate

if TYPE_CHECKING:
    from gre_bench.ingest.pdf.hidden import PageVisibility


NOTE_MARK = re.compile(r"\d{1,2}|[∗*†‡§¶]{1,3}")
AFTER_WORD = re.compile(r"(?:(?<![^\W\d_])(?!(?:min|max|log|exp|sin|cos|tan|det)$)[^\W\d_]{3,}|[^\W_]{3}[.,;!?”\"])$")

TURNED_LETTERS = 100
"""A page with fewer sideways letters than this is not rotated before it is read."""


@dataclass(slots=True, eq=False)
class TextLine:
    """A line of text within one column, or a piece of such a line.

    - *x0*, *y0*, *x1*, *y1*: the row's box, as tall as the row's letters, even if the row holds a taller formula.
    - *size*, *bold*: the font size of most letters, and whether they are bold. *peak*: the largest font size, which
      differs from *size* in small capitals.
    - *raised*: whether the row begins with a small raised mark, like a footnote.
    - *page*: the page's index among the pages that could be read, from 0. *block*: the number of the row's block in
      PyMuPDF's result.
    - *left*, *right*, *column*: the bounds (x) and the number of the row's column.
    - *gap*: the widest white space in the row, in units of *size*.
    - *words*: how many words the row has. *marks*: how many further words were footnote marks, and are not in *text*.
    - *fate*: ``kept``, or why the row was removed (a key of `FATES`); None until that is decided.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    peak: float
    bold: bool
    raised: bool
    page: int
    block: int
    left: float = 0.0
    right: float = 0.0
    column: int = 0
    gap: float = 0.0
    words: int = 0
    marks: int = 0
    fate: Fate | None = None

    @property
    def page_and_column(self) -> tuple[int, int]:
        """(page, column) of the row; between two rows with the same value, there is no break of page or column."""
        return self.page, self.column

    @property
    def filled_share_of_column(self) -> float:
        return (self.x1 - self.x0) / max(self.right - self.left, 1.0)


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its lines of text, or pieces of lines (*rows*). *number*: the page's number in the file, from 1.

    *width*, *height*: in points. *words*: how many words the page has. *hidden*: how many of these words have no
    visible letter or digit. *turned*: how many are in lines that do not run in the direction of most lines. All other
    words are in *rows*.
    """

    rows: tuple[TextLine, ...]
    width: float
    height: float
    number: int = 1
    words: int = 0
    hidden: int = 0
    turned: int = 0


def set_fate(rows: Iterable[TextLine], fate: Fate) -> None:
    for row in rows:
        row.fate = fate


def list_undecided_rows(rows: Iterable[TextLine]) -> list[TextLine]:
    return [row for row in rows if row.fate is None]


def read_page(sight: PageVisibility, index: int, number: int, size: tuple[float, float]) -> Page:
    """Returns the visible text of a page. Its rows are still in the pieces that PyMuPDF returns.

    If most letters are sideways, as in a landscape table, the page is rotated first. *index*: the page's index among
    the pages that could be read, from 0. *number*: the page's number in the file, from 1. *size*: width and height in
    points.
    """
    turn = _find_main_direction(sight.glyphs.blocks)
    seen, unseen = sight.glyphs.count_words_by_line(sight.hidden, sight.copies)
    repeated = bool(sight.copies.any())
    start = number_of_line = 0
    lines: list[_Line] = []
    for block_number, block in enumerate(sight.glyphs.blocks):
        for line in block["lines"]:
            spans, start = _select_visible_spans(line, sight, start)
            words, number_of_line = int(seen[number_of_line]), number_of_line + 1
            if not any(span.text.strip() for span in spans):
                continue
            whole = sum(len(span.text) for span in spans) == sum(len(span["chars"]) for span in line["spans"])
            box = line["bbox"] if whole else _compute_bounding_box([span.box for span in spans])
            part = _Line(spans, box, line["dir"], block_number, words)
            if not (repeated and lines and lines[-1].append_if_continuation(part)):
                lines.append(part)
    pieces = [_make_row_from_line(line, index, turn, size) for line in lines if line.direction_name == turn]
    turned = sum(line.words for line in lines if line.direction_name != turn)
    width, height = size if turn == "right" else size[::-1]
    return Page(tuple(pieces), width, height, number, int(seen.sum() + unseen.sum()), int(unseen.sum()), turned)


Direction = Literal["right", "up", "down", "other"]


def _classify_direction(line: tuple[float, float]) -> Direction:
    """Returns the direction in which a line runs on the displayed page. *line*: PyMuPDF's direction vector."""
    across, along = line
    return "right" if across > 0.99 else "up" if along < -0.99 else "down" if along > 0.99 else "other"


def _find_main_direction(blocks: Sequence[dict[str, Any]]) -> Direction:
    """Returns the direction of most letters.

    The result is sideways (``up`` or ``down``) only if at least `TURNED_LETTERS` letters run that way. They must also
    be more than twice as many as those that run to the right.
    """
    letters: Counter[Direction] = Counter()
    for block in blocks:
        for line in block["lines"]:
            letters[_classify_direction(line["dir"])] += sum(len(span["chars"]) for span in line["spans"])
    side: Direction = "up" if letters["up"] >= letters["down"] else "down"
    return side if letters[side] >= TURNED_LETTERS and letters[side] > 2 * letters["right"] else "right"


@dataclass(frozen=True, slots=True)
class _Span:
    """The visible part of a span: a part of a line in one font and size. *origin*: x, y where its baseline starts."""

    text: str
    size: float
    bold: bool
    origin: tuple[float, float]
    box: Box


WORD_SPACE, LINE_SPACE = 0.15, 0.8
"""The widest gap within a word and within a line, as multiples of the font size; MuPDF uses the same limits."""


@dataclass(slots=True)
class _Line:
    """The visible *spans* of a line in *block*, with the line's *box*, *direction* (a vector) and number of *words*."""

    spans: list[_Span]
    box: Box
    direction: tuple[float, float]
    block: int
    words: int

    @property
    def direction_name(self) -> Direction:
        return _classify_direction(self.direction)

    def append_if_continuation(self, part: _Line) -> bool:
        """If *part* continues where this line ends, appends *part* and returns True; else returns False.

        MuPDF breaks a line wherever a word is drawn again, because the second copy begins left of the end of the first.
        """
        last, first = self.spans[-1], part.spans[0]
        if part.block != self.block or part.direction != self.direction:
            return False
        (along, down), size = self.direction, max(last.size, first.size)
        ends = (along * last.box[side] + down * last.box[side + 1] for side in (0, 2))
        starts = (along * first.box[side] + down * first.box[side + 1] for side in (0, 2))
        gap = min(starts) - max(ends)
        moved = (first.origin[0] - last.origin[0]) * -down + (first.origin[1] - last.origin[1]) * along
        if abs(moved) > 0.5 * size or not -WORD_SPACE * size < gap < LINE_SPACE * size:
            return False
        if gap > WORD_SPACE * size and not (last.text[-1:].isspace() or first.text[:1].isspace()):
            self.spans[-1] = replace(last, text=f"{last.text} ")
        self.spans += part.spans
        self.box = _compute_bounding_box([self.box, part.box])
        self.words += part.words
        return True


def _select_visible_spans(line: dict[str, Any], sight: PageVisibility, start: int) -> tuple[list[_Span], int]:
    """Returns the visible spans of *line*, and the index after its last character.

    *start*: the index of the line's first character among those of the page.
    """
    spans = []
    for span in line["spans"]:
        chars, end = span["chars"], start + len(span["chars"])
        out = sight.hidden[start:end] | sight.copies[start:end]
        if out.any():
            chars = [char for char, hidden in zip(chars, out, strict=True) if not hidden]
        start = end
        if chars:
            bold = bool(span["flags"] & 16) or _is_bold_font(span["font"])
            text = "".join(char["c"] for char in chars)
            box = _compute_bounding_box([char["bbox"] for char in chars]) if out.any() else span["bbox"]
            spans.append(_Span(text, span["size"], bold, span["origin"], box))
    return spans, start


def _compute_bounding_box(boxes: Sequence[Sequence[float]]) -> Box:
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _make_row_from_line(line: _Line, number: int, turn: Direction, page: tuple[float, float]) -> TextLine:
    def rotate_point(x: float, y: float) -> tuple[float, float]:
        """Returns the position of (*x*, *y*) after rotating the *page*, whose letters run in direction *turn*."""
        return (x, y) if turn == "right" else (page[1] - y, x) if turn == "up" else (y, page[0] - x)

    spans, box = line.spans, line.box
    sizes: Counter[float] = Counter()
    for span in spans:
        sizes[round(span.size, 1)] += len(span.text.strip())
    letters = sizes.total()
    size = sizes.most_common(1)[0][0]
    corners = rotate_point(*box[:2]), rotate_point(*box[2:])
    (x0, x1), (y0, y1) = (sorted(side) for side in zip(*corners, strict=True))
    if turn != "right":
        spans = [replace(span, origin=rotate_point(*span.origin)) for span in spans]
    baseline = max(spans, key=lambda span: (round(span.size, 1) == size, len(span.text))).origin[1]
    y0, y1 = max(y0, baseline - 0.8 * size), min(y1, baseline + 0.25 * size)
    first = next(span for span in spans if span.text.strip())
    raised = first.size < 0.8 * size and len(first.text.strip()) <= 2
    text = ""
    for span in spans:
        small = span.size < 0.8 * size and span.origin[1] < baseline - 0.15 * size
        if small and is_footnote_mark(span.text, text):
            continue
        opens = raised and text and text.strip() == first.text.strip() and NOTE_MARK.fullmatch(text.strip())
        text += f" {span.text}" if opens and span.text[:1].isalpha() else span.text
    bold = sum(len(span.text.strip()) for span in spans if span.bold) > 0.8 * letters
    return TextLine(text, x0, y0, x1, y1, size, max(sizes), bold, raised, number, line.block, words=line.words)


def is_footnote_mark(text: str, before: str) -> bool:
    """Whether *text* is a footnote mark, and not an exponent or part of a name.

    *text*: small raised text. *before*: the text before it.
    """
    return NOTE_MARK.fullmatch(text.strip()) is not None and AFTER_WORD.search(before) is not None


def compute_horizontal_bounds(rows: Sequence[TextLine]) -> tuple[float, float]:
    """Returns the left and right bounds (x in points) of the lines *rows*.

    If there are long lines, only these count. The outermost twentieth of the lines on each side is ignored.
    """
    long = [row for row in rows if len(row.text) >= 25] or list(rows)
    if not long:
        return 0.0, 1.0
    starts, ends = sorted(row.x0 for row in long), sorted(row.x1 for row in long)
    return starts[len(starts) // 20], ends[-1 - len(ends) // 20]


@cache
def _is_bold_font(font: str) -> bool:
    return re.search(r"bold|-medi|black|heavy|cmbx|semib", font, re.I) is not None
