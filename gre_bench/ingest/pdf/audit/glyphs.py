"""Reads every character that a page of a PDF draws, and draws the page with and without its text.

The properties of the characters, and what they change on the page, decide whether a reader sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import name, normalize

import numpy as np
import pymupdf
from numpy.typing import NDArray
from pymupdf import mupdf

from gre_bench.core.resources import word_lists
from gre_bench.ingest.pdf.text import PIECE, UNSPACED, Box, rounded

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

FILLED, STROKED, CLIPPING = 16, 32, 64
_UNSPACED = re.compile(f"[{UNSPACED}]+")
ENDLESS = 1e6
"""Half the side, in points, of the sheet that is searched, because text far off the page must be found too."""


@dataclass(frozen=True, slots=True, eq=False)
class Glyphs:
    """The n characters of a page in reading order. Each array has one row for each character.

    - *blocks*: PyMuPDF's nested blocks, lines and spans, which hold the same characters in the same order.
    - *box*, *origin*: x0, y0, x1, y1 (n × 4), and the left end of the base line (n × 2), in points from the top left.
    - *extent*: the font size in points; the geometric mean if it differs by direction.
    - *opacity*: from 0 to 1. *color*: red, green and blue, each from 0 to 255 (n × 3).
    - *painted*: whether it is filled or stroked at all. *clipping*: whether its outline clips what is drawn next.
    - *direction*: that of the character's line, as a vector of length 1 (n × 2); *even*: whether it is to the right.
    - *solid*: whether the character is a letter, a digit, or a sign that stands for a letter, such as ⒜.
    - *line*, *word*: the numbers of the character's line and word. Each white space character is a word of its own.
    """

    blocks: list[dict[str, Any]]
    text: str
    box: Floats
    origin: Floats
    extent: Floats
    opacity: Floats
    color: Whole
    painted: Mask
    clipping: Mask
    direction: Floats
    even: Mask
    solid: Mask
    line: Whole
    word: Whole

    @property
    def middle(self) -> Floats:
        """The centre of each character's box (n × 2, in points)."""
        return (self.box[:, :2] + self.box[:, 2:]) / 2

    def signs(self) -> list[tuple[str, float, float]]:
        """Returns (character, x, y of its origin to tenths of a point) for each character."""
        places = zip(self.text, self.origin.tolist(), strict=True)
        return [(letter, round(x, 1), round(y, 1)) for letter, (x, y) in places]

    def bounds(self, places: Any) -> Box:
        """Returns the box around the characters at the indices *places*, rounded to tenths of a point."""
        return rounded((*self.box[places, :2].min(axis=0), *self.box[places, 2:].max(axis=0)))

    def joined(self, places: Sequence[int] | Whole) -> str:
        """Returns the characters at the indices *places* as one text, with a space between lines."""
        parts = []
        for position, index in enumerate(places):
            if position and self.line[index] != self.line[places[position - 1]]:
                parts.append(" ")
            parts.append(self.text[index])
        return "".join(parts)

    def words_by_line(self, hidden: Mask, copies: Mask) -> tuple[Whole, Whole]:
        """Returns two counts for each line: its visible words, and those whose letters and digits are all *hidden*.

        A piece without any letter or digit, such as the leader dots in a table of contents, is no word; *copies* of
        letters make none either.
        """
        if not self.text:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        starts = np.ones(len(self.text), dtype=bool)
        starts[1:] = np.diff(self.word) > 0
        for run in _UNSPACED.finditer(self.text):
            starts[run.start()] = True
            starts[[piece.start() + run.start() for piece in PIECE.finditer(run[0])]] = True
            starts[run.end() : run.end() + 1] = True
        word = np.cumsum(starts) - 1
        line = np.zeros(word[-1] + 1, dtype=np.int64)
        line[word] = self.line
        solid = np.bincount(word, self.solid & ~copies) > 0
        seen = np.bincount(word, self.solid & ~copies & ~hidden) > 0
        lines = sum(len(block["lines"]) for block in self.blocks)
        return np.bincount(line[seen], minlength=lines), np.bincount(line[solid & ~seen], minlength=lines)


def glyphs_of(page: Any) -> Glyphs:
    """Returns all characters in the contents of the PyMuPDF *page*, without its annotations and form fields.

    Characters off the page, or clipped away, are included. Replacement texts (ActualText) are ignored.
    """
    blocks = text_page(page).extractRAWDICT()["blocks"]
    chars: list[dict[str, Any]] = []
    spans: list[tuple[float, ...]] = []
    counts: list[int] = []
    lines = 0
    for block in blocks:
        for line in block["lines"]:
            across, down = line["dir"]
            for span in line["spans"]:
                counts.append(len(span["chars"]))
                chars += span["chars"]
                how = span["char_flags"]
                spans.append((span["size"], span["alpha"] / 255, span["color"], how, across, down, lines))
            lines += 1
    n = len(chars)
    text = "".join(char["c"] for char in chars)
    if len(text) != n:  # one character each, whatever the file says they mean
        text = "".join(char["c"][:1] or "\ufffd" for char in chars)
    table = np.repeat(np.array(spans, dtype=float).reshape(len(spans), 7), counts, axis=0)
    color, how = table[:, 2].astype(np.int64), table[:, 3].astype(np.int64)
    known = {sign: sign.isalnum() or stands_for_letters(sign) for sign in set(text)}
    solid = np.fromiter((known[sign] for sign in text), dtype=bool, count=n)
    white = np.fromiter((letter.isspace() for letter in text), dtype=bool, count=n)
    line_of = table[:, 6].astype(np.int64)
    starts = np.ones(n, dtype=bool)
    starts[1:] = white[1:] | white[:-1] | (line_of[1:] != line_of[:-1])
    return Glyphs(
        blocks=blocks,
        text=text,
        box=np.array([char["bbox"] for char in chars], dtype=float).reshape(n, 4),
        origin=np.array([char["origin"] for char in chars], dtype=float).reshape(n, 2),
        extent=table[:, 0],
        opacity=table[:, 1],
        color=np.stack([color >> 16 & 255, color >> 8 & 255, color & 255], axis=1).reshape(n, 3),
        painted=how & (FILLED | STROKED) > 0,
        clipping=how & CLIPPING > 0,
        direction=table[:, 4:6],
        even=table[:, 4] > 0.99,
        solid=solid,
        line=line_of,
        word=np.cumsum(starts),
    )


def stands_for_letters(sign: str) -> bool:
    """Whether *sign* is a letter, or a letter in brackets, in a ring or in a frame."""
    return any(map(str.isalpha, normalize("NFKC", sign))) or " LETTER " in name(sign, "")


def text_page(page: Any, followed: bool = False) -> Any:
    """Returns PyMuPDF's text page of *page*; if *followed*, with the file's replacement texts (ActualText)."""
    flags = pymupdf.TEXTFLAGS_TEXT & ~(pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CLIP)
    sheet = mupdf.FzStextPage(mupdf.FzRect(-ENDLESS, -ENDLESS, ENDLESS, ENDLESS))
    options = mupdf.FzStextOptions(flags if followed else flags | pymupdf.TEXT_IGNORE_ACTUALTEXT)
    device = mupdf.fz_new_stext_device(sheet, options)
    mupdf.fz_run_page_contents(page.this, device, mupdf.FzMatrix(), mupdf.FzCookie())
    mupdf.fz_close_device(device)
    return pymupdf.TextPage(sheet)


NEAR = 0.15
"""The distance, in units of the size, within which the same letter drawn again makes the letter bold or a shadow."""
NEXT = 12
"""How many letters each is compared with, so that the time grows in proportion to the letters."""
SHIFTED = 3
"""The fewest letters of a page that are drawn again at one shift; the bars of a norm may stand as close."""


def copies(glyphs: Glyphs, among: Mask) -> Mask:
    """Returns the mask of the characters *among* that repeat an earlier one in its place, in about its size.

    Producers draw text twice, with a small shift, for bold print, shadows and outlines.
    """
    out = np.zeros(len(among), dtype=bool)
    places = np.flatnonzero(among)
    code = np.fromiter((ord(glyphs.text[index]) for index in places), dtype=np.int64, count=len(places))
    # Letters in rows and columns differ in this direction, so that few are compared.
    along = glyphs.origin[places] @ (0.8, 0.6)
    order = np.lexsort((along, code))
    places, code, along = places[order], code[order], along[order]
    size = glyphs.extent[places]
    first = np.arange(len(places))
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for step in range(1, NEXT + 1):
        first = first[first + step < len(places)]
        second = first + step
        close = (code[first] == code[second]) & (along[second] - along[first] < NEAR * size[first])
        first, second = first[close], second[close]
        if not len(first):
            break
        apart = np.hypot(*(glyphs.origin[places[second]] - glyphs.origin[places[first]]).T)
        alike = np.abs(size[first] - size[second]) < 0.2 * size[first]
        met = alike & (apart < NEAR * np.minimum(size[first], size[second]))
        pairs.append(np.sort(np.stack([places[first], places[second]], axis=1)[met], axis=1))
    earlier, later = np.concatenate(pairs).T
    shift = glyphs.origin[later] - glyphs.origin[earlier]
    for half in (0.0, 0.5):  # of tenths of a point, as a shift may lie between two
        number = np.unique(np.floor(10 * shift + half), axis=0, return_inverse=True)[1].reshape(-1)
        shared = np.bincount(number, glyphs.solid[later])[number] >= SHIFTED
        out[later[shared]] = True
    return out


LETTERS = 6
"""The fewest letters of a stretch that counts as hidden by what is drawn around it."""

PIECES = 24
"""Letters of stray words on one page that are a passage in pieces; signs of formulas are single letters."""
PROSE, COMMON = 8, 0.3
"""Words that sentences have, and the share of COMMON_WORDS among them: labels of figures are names and numbers."""
COMMON_WORDS = frozenset(word_lists()["common words"])


def lettered(glyphs: Glyphs) -> Mask:
    """Returns a mask of the characters that are letters, or signs that a reader takes for letters, such as ⒜."""
    known = {sign: stands_for_letters(sign) for sign in set(glyphs.text)}
    return np.fromiter((known[sign] for sign in glyphs.text), dtype=bool, count=len(glyphs.text))


def by_word(glyphs: Glyphs, marked: Mask, among: Mask) -> Mask:
    """Returns the mask *marked*, widened to whole words and limited to the mask *among*.

    A word is marked if at least half of its letters and digits are. Signs between words are marked if both words are.
    """
    words = glyphs.word - glyphs.word[0]
    letters = np.bincount(words, glyphs.solid & among)
    share = np.bincount(words, marked & glyphs.solid & among) / np.maximum(letters, 1)
    state = np.where(letters > 0, share >= 0.5, np.nan)
    lines = np.zeros(len(state), dtype=np.int64)
    lines[words] = glyphs.line
    whole = np.bincount(words, marked & among) >= np.maximum(np.bincount(words, among), 1)
    for word in np.flatnonzero(np.isnan(state)):
        beside = [state[word - 1] if word and lines[word - 1] == lines[word] else np.nan]
        after = word + 1
        while after < len(state) and lines[after] == lines[word] and np.isnan(state[after]):
            after += 1
        beside.append(state[after] if after < len(state) and lines[after] == lines[word] else np.nan)
        known = [value for value in beside if not np.isnan(value)]
        state[word] = all(known) if known else whole[word]
    return (state[words] > 0) & among


def stretches(mask: Mask) -> Iterator[tuple[int, int]]:
    """Returns start and end (exclusive) of each run of marked characters."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return zip(edges[::2], edges[1::2], strict=True)


def without_strays(glyphs: Glyphs, marked: Mask) -> Mask:
    """Returns the mask *marked* without stretches of fewer than `LETTERS` letters, in lines of few marked letters."""
    marked = marked.copy()
    letters = lettered(glyphs)
    line = np.bincount(glyphs.line, marked & letters, minlength=int(glyphs.line[-1]) + 1)
    for start, end in stretches(marked | ~glyphs.solid):
        if letters[start:end][marked[start:end]].sum() < LETTERS and line[glyphs.line[start]] < 5 * LETTERS:
            marked[start:end] = False
    return marked


def prose(glyphs: Glyphs, places: Whole) -> bool:
    """Whether the characters at *places* form sentences: at least `PROSE` words, a share of `COMMON` of them common."""
    words = [word for word in _words(glyphs, places) if word.isalpha()]
    return len(words) >= PROSE and sum(word in COMMON_WORDS for word in words) >= COMMON * len(words)


def lines_of_words(glyphs: Glyphs, places: Whole) -> bool:
    """Whether most words of the characters at *places* stand in lines of several long words, as in running text."""
    ends = np.flatnonzero(np.diff(glyphs.word[places])) + 1
    lines = glyphs.line[places[np.concatenate([[0], ends])]]
    long = [line for line, word in zip(lines, _words(glyphs, places), strict=True) if word.isalpha() and len(word) > 3]
    count = np.unique(long, return_counts=True)[1]
    together = int(count[count > 1].sum())
    return together >= 1.5 * PROSE and together >= 0.7 * len(long) and len(long) >= 0.5 * len(ends)


def fragments(glyphs: Glyphs, strays: Mask, least: int, in_all: int = 0, surely: Mask | None = None) -> Mask:
    """Returns the strays in words of *least* letters, all strays and, if given, *surely*; none below *in_all*."""
    letters = lettered(glyphs)
    words = glyphs.word - glyphs.word[0]
    count = np.bincount(words, strays & letters if surely is None else strays & letters & surely)
    whole = (count >= least) & (count == np.bincount(words, letters))
    return strays & whole[words] if count[whole].sum() >= in_all else np.zeros(len(strays), dtype=bool)


def _words(glyphs: Glyphs, places: Whole) -> list[str]:
    parts = np.split(places, np.flatnonzero(np.diff(glyphs.word[places])) + 1)
    return ["".join(glyphs.text[index] for index in part).strip(".,;:!?()\"' ").lower() for part in parts]


SEEN = 6
"""By how many of 255 steps a pixel's darkest channel must change for text to leave a mark."""

LARGEST = 6e6
"""The most pixels of a picture: a sheet of paper of usual size at three pixels per point."""


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """A page, or a region of it, drawn with its text (*whole*) and without (*ground*), each height × width × RGB.

    *scale*: pixels per point. *corner*: (x, y) of the pictures' top left corner, in pixels from that of the page.
    """

    whole: NDArray[np.uint8]
    ground: NDArray[np.uint8]
    scale: float
    corner: tuple[int, int]

    def marks(self, boxes: Floats) -> Mask:
        """Returns for each of *boxes* (n × 4, in points) whether text leaves a mark in the box."""
        changed = np.maximum(self.whole, self.ground) - np.minimum(self.whole, self.ground) > SEEN
        return self._count(changed[:, :, 0] | changed[:, :, 1] | changed[:, :, 2], boxes) > 0

    def contrasts(self, boxes: Floats, least: int) -> Mask:
        """Returns for each of *boxes* (n × 4, in points) if neighbouring grey pixels with text differ by *least*."""
        grey = self.whole.astype(np.int16).sum(axis=2) // 3
        edges = np.zeros(grey.shape, dtype=bool)
        edges[:, 1:] |= np.abs(np.diff(grey, axis=1)) >= least
        edges[1:] |= np.abs(np.diff(grey, axis=0)) >= least
        return self._count(edges, boxes) > 0

    def beneath(self, boxes: Floats) -> Floats:
        """Returns the mean colour (n × 3, of 255) of the picture without text, at five points in each of *boxes*."""
        height, width = self.ground.shape[:2]
        total = np.zeros((len(boxes), 3))
        for across, down in ((0.5, 0.5), (0.2, 0.2), (0.8, 0.2), (0.2, 0.8), (0.8, 0.8)):
            x = (boxes[:, 0] + across * (boxes[:, 2] - boxes[:, 0])) * self.scale - self.corner[0]
            y = (boxes[:, 1] + down * (boxes[:, 3] - boxes[:, 1])) * self.scale - self.corner[1]
            total += self.ground[_whole(y, height - 1), _whole(x, width - 1)]
        return total / 5

    def rough(self, boxes: Floats, least: int) -> Floats:
        """Returns the share of grey pixels of each of *boxes* (n × 4, points), without text, with a step of *least*."""
        red, green, blue = (self.ground[:, :, part].astype(np.int16) for part in range(3))
        grey = red + green + blue
        if not (np.ptp(grey, axis=0) >= 3 * least).any():
            return np.zeros(len(boxes))
        edges = np.zeros(grey.shape, dtype=bool)
        edges[:, 1:] = np.abs(grey[:, 1:] - grey[:, :-1]) >= 3 * least
        edges[1:] |= np.abs(grey[1:] - grey[:-1]) >= 3 * least
        x0, y0, x1, y1 = self._pixels(boxes)
        return self._count(edges, boxes) / np.maximum((x1 - x0) * (y1 - y0), 1)

    def _count(self, mask: Mask, boxes: Floats) -> Whole:
        """Returns for each of *boxes* how many of its pixels, at least one each way, *mask* (as the pictures) marks."""
        height, width = mask.shape
        sums = np.zeros((height + 1, width + 1), dtype=np.int32)
        mask.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, out=sums[1:, 1:])
        x0, y0, x1, y1 = self._pixels(boxes)
        return sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]

    def _pixels(self, boxes: Floats) -> tuple[Whole, ...]:
        """Returns each box's first column, first row, end column and end row (exclusive), as four arrays of indices."""
        height, width = self.whole.shape[:2]
        x0 = _whole(boxes[:, 0] * self.scale - self.corner[0], width - 1)
        y0 = _whole(boxes[:, 1] * self.scale - self.corner[1], height - 1)
        x1 = np.maximum(_whole(np.ceil(boxes[:, 2] * self.scale) - self.corner[0], width), x0 + 1)
        y1 = np.maximum(_whole(np.ceil(boxes[:, 3] * self.scale) - self.corner[1], height), y0 + 1)
        return x0, y0, x1, y1


def ink_of(page: Any, scale: float = 1.0, region: tuple[float, float, float, float] | None = None) -> Ink:
    """Draws the PyMuPDF *page* and its annotations twice, with and without the page's text.

    *region* (x0, y0, x1, y1 in points) limits the drawing to a part of the page. *scale*, in pixels per point, is
    lowered if a picture would have more than `LARGEST` pixels.
    """
    sheet = mupdf.fz_bound_page(page.this)
    if region is not None:
        inner = mupdf.fz_intersect_rect(sheet, mupdf.FzRect(*region))
        sheet = inner if inner.x1 > inner.x0 and inner.y1 > inner.y0 else sheet
    scale = min(scale, (LARGEST / max((sheet.x1 - sheet.x0) * (sheet.y1 - sheet.y0), 1.0)) ** 0.5)
    shown = mupdf.fz_new_display_list_from_page(page.this)
    matrix = mupdf.FzMatrix(scale, 0, 0, scale, 0, 0)
    bounds = mupdf.fz_round_rect(mupdf.fz_transform_rect(sheet, matrix))
    pictures = [_drawn(shown, matrix, bounds, with_text) for with_text in (True, False)]
    return Ink(pictures[0], pictures[1], scale, (bounds.x0, bounds.y0))


def _drawn(shown: Any, matrix: Any, bounds: Any, with_text: bool) -> NDArray[np.uint8]:
    pixels = mupdf.fz_new_pixmap_with_bbox(mupdf.fz_device_rgb(), bounds, mupdf.FzSeparations(), 0)
    mupdf.fz_clear_pixmap_with_value(pixels, 255)
    device = mupdf.fz_new_draw_device(matrix, pixels)
    if not with_text:
        # MuPDF skips what a device has no function for. Clipping by text stays, because the clipped content is not
        # text.
        device.m_internal.fill_text = None
        device.m_internal.stroke_text = None
    everything = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)
    mupdf.fz_run_display_list(shown, device, mupdf.FzMatrix(), everything, mupdf.FzCookie())
    mupdf.fz_close_device(device)
    picture = pymupdf.Pixmap("raw", pixels)
    return np.frombuffer(picture.samples, dtype=np.uint8).reshape(picture.height, picture.width, 3)


def _whole(values: Floats, highest: int) -> Whole:
    return np.clip(np.nan_to_num(values), 0, highest).astype(np.int64)
