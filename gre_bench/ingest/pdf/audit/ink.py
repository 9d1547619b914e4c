"""Draws a page with and without its text, to see which text leaves a mark."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pymupdf
from numpy.typing import NDArray
from pymupdf import mupdf

from gre_bench.ingest.pdf.audit.glyphs import Floats, Mask, Whole

ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя")
"""The alphabets; capitals count as their small letters, because small capitals are drawn like them."""
FACES = ("helv", "heit", "hebo", "tiro", "tiit", "tibo", "cour")
"""Typefaces of the references, by PyMuPDF's names; PyMuPDF includes them, so every machine has the same."""
HEIGHTS = (1.0, 1.18, 0.85)
"""Sizes in which each letter is compared, because typefaces of one size differ in the height of an x."""
COLUMNS, ROWS = 6, 10
"""Samples across the advance of a letter, and from `ABOVE` to `BELOW` its base line."""
ABOVE, BELOW = 0.78, 0.26
"""Top and bottom of a letter's picture, in units of its size from the base line."""
SHIFTS = (-0.1, -0.05, 0.0, 0.05)
"""The shifts to the right that a closer look tries, in units of the size."""
UPPER = 7
"""Rows above the base line, by which letters over a rule or underline are read."""
SECOND = 0.085
"""The highest rank at which at most two other letters of an alphabet of 26 are more alike than the letter itself."""
BLANK = 3.0
"""The norm of the samples, in steps of 255, below which nothing is drawn."""


@cache
def letter_of(character: str) -> tuple[int, int]:
    """Returns the index of the alphabet of *character* in `ALPHABETS`, and its index there; -1, -1 if it is in none.

    Case, accents and mathematical style are ignored.
    """
    base = [part for part in unicodedata.normalize("NFKD", character) if not unicodedata.combining(part)]
    small = base[0].lower() if len(base) == 1 else ""
    for number, alphabet in enumerate(ALPHABETS):
        if len(small) == 1 and small in alphabet:
            return number, alphabet.index(small)
    return -1, -1


@cache
def references(alphabet: int, shifts: tuple[float, ...] = (0.0,), rows: int = ROWS) -> NDArray[np.float32]:
    """Returns reference pictures of the letters of ``ALPHABETS[alphabet]``: letters × variants × samples.

    The variants combine case, typeface, height and shift. *shifts* are distances to the right, in units of the font
    size, because typefaces place italics differently. Only the upper *rows* of samples are kept.
    """
    size, cell = 40, 90.0
    letters = ALPHABETS[alphabet]
    origins = []
    with pymupdf.open() as document:
        page = document.new_page(width=cell * len(letters), height=cell * 2 * len(FACES))
        writer = pymupdf.TextWriter(page.rect)
        for row, (face, case) in enumerate((face, case) for face in FACES for case in (str.lower, str.upper)):
            font = pymupdf.Font(face)
            for column, letter in enumerate(map(case, letters)):
                origin = (column * cell + 15.0, row * cell + 60.0)
                writer.append(origin, letter, font=font, fontsize=size)
                origins.append((*origin, font.text_length(letter, size)))
        writer.write_text(page)
        picture = page.get_pixmap(colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(picture.samples, dtype=np.uint8).reshape(picture.height, picture.width)
    where = np.array(origins)
    advance, down = np.zeros((2, len(where), 2))
    advance[:, 0] = where[:, 2]
    pictures = []
    for height, shift in product(HEIGHTS, shifts):
        down[:, 1] = size * height
        pictures.append(normal(samples(grey, where[:, :2] - (shift * size, 0), advance, down)[:, : rows * COLUMNS]))
    variants = np.stack(pictures).reshape(len(pictures), -1, len(letters), rows * COLUMNS)
    return np.ascontiguousarray(variants.transpose(2, 0, 1, 3).reshape(len(letters), -1, rows * COLUMNS))


def samples(picture: NDArray[np.uint8], origin: Floats, advance: Floats, down: Floats) -> NDArray[np.float32]:
    """Returns the darkness, from 0 to 255, of n letters in a grey *picture* (height × width) at ROWS × COLUMNS points.

    The result is n × (ROWS · COLUMNS), row by row. Values between pixels are interpolated linearly. All other arguments
    are n × 2, in pixels:

    - *origin*: the left end of each letter's base line.
    - *advance*: the vector along the line to the next letter.
    - *down*: the vector downwards, as long as the font size.
    """
    across = ((np.arange(COLUMNS, dtype=np.float32) + 0.5) / COLUMNS)[None, None, :]
    below = ((np.arange(ROWS, dtype=np.float32) + 0.5) / ROWS * (ABOVE + BELOW) - ABOVE)[None, :, None]
    o, a, d = (values.astype(np.float32)[:, :, None, None] for values in (origin, advance, down))
    height, width = picture.shape
    x = np.clip(o[:, 0] + a[:, 0] * across + d[:, 0] * below - 0.5, 0, width - 1.01)
    y = np.clip(o[:, 1] + a[:, 1] * across + d[:, 1] * below - 0.5, 0, height - 1.01)
    left, top = x.astype(np.int32), y.astype(np.int32)
    x -= left
    y -= top
    pixel = top * width + left
    flat = picture.ravel()
    upper = flat[pixel] * (1 - x) + flat[pixel + 1] * x
    pixel += width
    lower = flat[pixel] * (1 - x) + flat[pixel + 1] * x
    dark = 255 - (upper * (1 - y) + lower * y)
    return dark.astype(np.float32, copy=False).reshape(len(origin), ROWS * COLUMNS)


def normal(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the samples *values* (n × samples) with mean 0 and norm 1 a letter, or 0 if almost nothing is drawn."""
    out = values - values.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", out, out))
    out /= np.maximum(norm, 1e-6)[:, None]
    out[norm < BLANK] = 0
    return out


def compared(
    values: NDArray[np.float32], alphabet: int, letter: Whole, shifts: tuple[float, ...] = (0.0,)
) -> tuple[Floats, NDArray[np.float32]]:
    """Returns the rank (see the module) and the likeness of each of n letters.

    The likeness, from -1 to 1, is the highest correlation of the letter's samples with a reference of the same letter.
    The rank of a blank picture is 1/2.

    - *values*: the normal samples of the letters (n × samples).
    - *alphabet*: the index of their alphabet in `ALPHABETS`.
    - *letter*: their indices in the alphabet.
    - *shifts*: the shifts of the references, as in `references`.
    """
    against = references(alphabet, shifts, values.shape[1] // COLUMNS)
    letters, variants, size = against.shape
    alike = (values @ against.reshape(-1, size).T).reshape(len(values), letters, variants).max(axis=2)
    own = alike[np.arange(len(values)), letter]
    rank = (alike > own[:, None]).sum(axis=1) / (letters - 1)
    rank[~values.any(axis=1)] = 0.5
    return rank, own


def surplus(rank: Floats, likeness: NDArray[np.float32]) -> Floats:
    """Returns for each letter the evidence that it is unreadable: about the log of the odds, from -3.5 to 4.5.

    *rank* and *likeness* are those of `compared`. The function was fitted to two sets of letters. In research papers,
    92% have rank 0, and the mean likeness is 0.88. Among overprinted letters, 10% have rank 0, and the mean likeness is
    0.6.
    """
    by_rank = np.select([rank == 0, rank <= SECOND], [-2.0, 1.0], 2.5)
    return by_rank + np.interp(likeness, (0.4, 0.6, 0.7, 0.8, 0.9), (2.0, 1.5, 0.8, -0.4, -1.5))


SEEN = 6
"""By how many of 255 steps a pixel's darkest channel must change for text to leave a mark."""

LARGEST = 6e6
"""The most pixels of a picture: a sheet of paper of usual size at three pixels per point."""


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """A page, or a region of it, drawn twice: with its text and without.

    - *whole*: the picture with text, height × width × RGB.
    - *ground*: the picture without text, of the same shape.
    - *scale*: pixels per point.
    - *corner*: (x, y) of the pictures' top left corner, in pixels from the top left of the page.
    """

    whole: NDArray[np.uint8]
    ground: NDArray[np.uint8]
    scale: float
    corner: tuple[int, int]

    def marks(self, boxes: Floats) -> Mask:
        """Returns for each of *boxes* (n × 4, in points) whether text leaves a mark in the box."""
        changed = np.maximum(self.whole, self.ground) - np.minimum(self.whole, self.ground) > SEEN
        return self._count(changed[:, :, 0] | changed[:, :, 1] | changed[:, :, 2], boxes) > 0

    def letters(self, origin: Floats, *sides: Floats, channel: int) -> NDArray[np.float32]:
        """Returns how dark the picture with text is at sample points of n letters (n × samples; see `shapes.samples`).

        - *origin*: the left end of each letter's base line.
        - *sides*: two vectors for each letter, its advance along the line and its size downwards.
        - *channel*: 0 is red, 1 green, 2 blue, 3 the mean of the three.

        *origin* and both of *sides* are n × 2, in points.
        """
        if channel == 3:
            red, green, blue = (self.whole[:, :, part].astype(np.uint16) for part in range(3))
            picture = ((red + green + blue) // 3).astype(np.uint8)
        else:
            picture = np.ascontiguousarray(self.whole[:, :, channel])
        return samples(picture, origin * self.scale - np.array(self.corner), *(side * self.scale for side in sides))

    def contrasts(self, boxes: Floats, least: int) -> Mask:
        """Returns for each of *boxes* (n × 4, in points) whether two neighbouring pixels differ by *least* of 255.

        The picture with text is measured in grey.
        """
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
        """Returns for each of *boxes* (n × 4, in points) the share of pixels that differ from a neighbour by *least*.

        The picture without text is measured in grey, of 255.
        """
        red, green, blue = (self.ground[:, :, part].astype(np.int16) for part in range(3))
        grey = red + green + blue
        if not (np.ptp(grey, axis=0) >= 3 * least).any():
            return np.zeros(len(boxes))
        edges = np.zeros(grey.shape, dtype=bool)
        edges[:, 1:] = np.abs(grey[:, 1:] - grey[:, :-1]) >= 3 * least
        edges[1:] |= np.abs(grey[1:] - grey[:-1]) >= 3 * least
        return self._count(edges, boxes) / np.maximum(self._area(boxes), 1)

    def _count(self, mask: Mask, boxes: Floats) -> Whole:
        """Returns for each of *boxes* how many of its pixels, at least one each way, *mask* (as the pictures) marks."""
        height, width = mask.shape
        sums = np.zeros((height + 1, width + 1), dtype=np.int32)
        mask.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, out=sums[1:, 1:])
        x0, y0, x1, y1 = self._pixels(boxes)
        return sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]

    def _area(self, boxes: Floats) -> Whole:
        """Returns the number of pixels in each of *boxes*."""
        x0, y0, x1, y1 = self._pixels(boxes)
        return (x1 - x0) * (y1 - y0)

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

    *region* (x0, y0, x1, y1 in points) limits the drawing to a part of the page. *scale* is in pixels per point. It is
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
