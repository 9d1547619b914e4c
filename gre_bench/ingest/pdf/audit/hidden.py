"""Decides which characters of a page a human cannot see, and why.

A character is judged by its setting (size, opacity, render mode, position, code point) and by its effect on the page.
To measure the effect, the page is drawn twice, with and without its text. A character is visible if the two drawings
differ at its place and its colour differs from the colour beneath it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.ingest.pdf.audit.glyphs import (
    LETTERS,
    PIECES,
    PROSE,
    Floats,
    Glyphs,
    Ink,
    Mask,
    Whole,
    by_word,
    copies,
    fragments,
    glyphs_of,
    ink_of,
    lettered,
    lines_of_words,
    prose,
    stretches,
    without_strays,
)
from gre_bench.ingest.pdf.audit.legibility import illegible, unlike
from gre_bench.ingest.pdf.text import INVISIBLE, Finding, Kind, readable

PALE = 20
"""By how many of 255 steps text must differ from its ground in red, green or blue."""
PALER, CONTRAST = 130, 1.3
"""Text is as good as invisible below both limits: steps of 255, and the contrast ratio (WCAG asks for 4.5)."""
LEAST_CONTRAST = 1.06
"""The contrast ratio below which text is as good as invisible, whatever its hue. Pure yellow on white has 1.07."""
TINY = 0.95
"""Size in points that no reader makes out at any usual enlargement. Labels in shrunk figures are larger."""
SMALL, RUNNING = 2.6, 8
"""Size in points, and words per line, that together mean hidden running text; no figure has both."""
FINE = 3.6
"""Size in points at which an x has fewer than four pixels at 100 dots per inch: labels of figures, or sentences."""
SMALLER = 1.35
"""Size in points at which a line of a few letters suffices; labels of shrunk figures are only numbers at that size."""
READ, OF_BODY = 4.0, 0.2
"""Size in points, and as a share of the page's usual size, below which type counts as hidden, except in a figure."""
NEAR, SIDE, PARTS, RULE = 25.0, 20.0, 5, 2.0
"""Type is in a figure if PARTS drawn objects lie within NEAR points of it, which together reach over SIDE points both
ways; two of them are higher than RULE points, so that the rules of a table are no figure."""
FAINT = 0.1
"""Text below this opacity counts as hidden without further checks."""
USUAL, FINER = 100 / 72, 3.0
"""Pixels per point of the first look, at 100 dots per inch, and of the second."""
MARGIN = 6.0
"""Points around a place that is looked at a second time."""
SCAN = 0.6
"""The share of a page that pictures cover if it is a scan."""
WRITTEN = 20
"""Steps of 255 between neighbouring pixels of a scan that mean writing."""
KINDS: tuple[Kind | None, ...] = (
    None, "pale", "tiny", "transparent", "unpainted", "covered", "clipped", "off_page", "zero_width", "packed",
    "illegible",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """The characters of a page, and which of them its readers do not see (*hidden*), also as *findings*.

    *copies*: which visible characters repeat another in its place, as in text that is drawn twice to look bold.
    *recognised*: how many letters and digits text recognition laid invisibly over the writing of a *scan*; they are not
    hidden. *pictured*: the share of the page's area that pictures cover.
    """

    glyphs: Glyphs
    hidden: Mask
    copies: Mask
    findings: tuple[Finding, ...]
    scan: bool
    recognised: int
    pictured: float


def look_at(page: Any, number: int) -> Sight:
    """Returns what a reader sees of the PyMuPDF *page*, whose number in the file, from 1, is *number*."""
    glyphs = glyphs_of(page)
    log = page.get_bboxlog()
    pictured = _pictured(page, log)
    if not glyphs.text:
        nothing = np.zeros(0, dtype=bool)
        return Sight(glyphs, nothing, nothing, (), pictured >= SCAN, 0, pictured)
    ink = ink_of(page, USUAL)
    why = _judged(glyphs, ink, page, log)
    recognised = np.zeros(len(why), dtype=bool)
    unseen = np.isin(why, [_code(kind) for kind in ("unpainted", "transparent", "covered")])
    scan = pictured >= SCAN and bool(unseen[glyphs.solid].mean() > 0.5 if glyphs.solid.any() else True)
    if scan:
        # This is judged by line, because recognised words are often set wider than the writing they stand for.
        letters = glyphs.solid & unseen
        written = np.bincount(glyphs.line, letters & ink.contrasts(glyphs.box, WRITTEN))
        recognised = unseen & (written >= 0.5 * np.maximum(np.bincount(glyphs.line, letters), 1))[glyphs.line]
        recognised &= ~unlike(glyphs, ink_of(page, FINER), recognised)
        why = np.where(recognised, 0, why)
    findings = tuple(_findings(glyphs, why, number))
    return Sight(
        glyphs, why > 0, copies(glyphs, why == 0), findings, scan, int(recognised[glyphs.solid].sum()), pictured
    )


def _judged(glyphs: Glyphs, ink: Ink, page: Any, log: list[Any]) -> Whole:
    """Returns for each character why it is hidden, as an index in `KINDS`; *log*: the drawn objects with boxes."""
    band = _bands(glyphs)
    middle = glyphs.middle
    outside = ((middle < 0) | (middle > (page.rect.width, page.rect.height))).any(axis=1)
    tiny = _tiny(glyphs) | _small_type(glyphs, ink, log)
    drawn = glyphs.painted & ~glyphs.clipping & ~outside & ~tiny
    why = np.zeros(len(drawn), dtype=np.int64)
    unseen, pale, strays = _unseen(glyphs, ink, band, drawn)
    again = unseen | fragments(glyphs, strays, 3, 3)
    strays[:] = False
    if again.any():
        # The page is drawn again, larger, because thin strokes leave almost no mark at the first scale.
        surely, pale, strays = _unseen(glyphs, ink_of(page, FINER, _around(band[again])), band, drawn & again)
        unseen &= surely
    under = overprinted(glyphs, page, log)
    unpainted = glyphs.clipping & ~ink.contrasts(band, PALE) if glyphs.clipping.any() else glyphs.clipping
    legible = (drawn | (glyphs.clipping & ~unpainted & ~outside & ~tiny)) & ~unseen & ~under
    unread, unsure = illegible(glyphs, ink, legible, lambda places: ink_of(page, FINER, _around(band[places])))
    why[unread] = _code("illegible")
    if unseen.any():
        own = np.abs(glyphs.color - ink.beneath(band)).max(axis=1)
        why[unseen] = _code("clipped")
        why[unseen & covers(glyphs, log)] = _code("covered")
        why[unseen & pale] = _code("pale")
        why[unseen & pale & (glyphs.opacity < 0.5) & (own >= PALE)] = _code("transparent")
    why[under] = _code("covered")
    why[unpainted] = _code("unpainted")
    why[~glyphs.painted & ~glyphs.clipping] = _code("unpainted")
    why[drawn & (glyphs.opacity < FAINT)] = _code("transparent")
    why[tiny] = _code("tiny")
    why[outside] = _code("off_page")
    why[_packed(glyphs)] = _code("packed")
    rest = np.bincount(glyphs.line, glyphs.solid & (why == 0)) <= np.bincount(glyphs.line, glyphs.solid & (why > 0))
    strays &= why == 0
    both = strays | (unsure & (why == 0))
    enough = rest[glyphs.line] | fragments(glyphs, strays, 3, 3) | fragments(glyphs, both, 2, PIECES)
    why[both & enough] = _code("illegible")
    why[[ord(letter) in INVISIBLE for letter in glyphs.text]] = _code("zero_width")
    return why


def _unseen(glyphs: Glyphs, ink: Ink, band: Floats, among: Mask) -> tuple[Mask, Mask, Mask]:
    """Returns three masks of those characters *among*: unseen, pale and strays. *band* holds the boxes to measure.

    - Unseen characters belong to words that leave no mark on the page or have the colour of the page beneath them.
    - Pale characters have the colour of the page beneath them.
    - Strays leave no mark, but are only a few letters. They may be signs of a formula, which are positioned unlike
      letters. Strays that together form sentences count as unseen, and so do words of pale letters, however short.
    """
    ground = ink.beneath(band)
    shown = ground + glyphs.opacity[:, None] * (glyphs.color - ground)
    step = np.abs(shown - ground).max(axis=1)
    ratio = contrast(shown, ground)
    pale = among & ((step < PALE) | ((step < PALER) & (ratio < CONTRAST)) | (ratio < LEAST_CONTRAST))
    lost = among & glyphs.solid & ~ink.marks(band)
    if not (pale | lost).any():
        return pale, pale, lost
    words = by_word(glyphs, pale | lost, among)
    unseen = without_strays(glyphs, words)
    strays = words & ~unseen
    sentences = not strays.any() or prose(glyphs, np.flatnonzero(strays))
    unseen |= strays if sentences else fragments(glyphs, strays, 2, surely=pale)
    return unseen, pale, words & ~unseen


def contrast(colour: Floats, ground: Floats) -> Floats:
    """Returns the contrast ratio of each *colour* to the *ground* in the same row, from 1 to 21, as in WCAG 2.2.

    Both arrays are n × 3: red, green and blue in sRGB, from 0 to 255.
    """

    def luminance(colours: Floats) -> Floats:
        part = np.clip(colours, 0, 255) / 255
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        return linear @ np.array([0.2126, 0.7152, 0.0722])

    first, second = luminance(colour), luminance(ground)
    return (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)


def _around(boxes: Floats) -> tuple[float, float, float, float]:
    """Returns one rectangle (x0, y0, x1, y1 in points) around all *boxes*, with a margin, as letters leave boxes."""
    (left, top), (right, bottom) = boxes[:, :2].min(axis=0) - MARGIN, boxes[:, 2:].max(axis=0) + MARGIN
    return float(left), float(top), float(right), float(bottom)


def _bands(glyphs: Glyphs) -> Floats:
    """Returns for each character the box (n × 4, in points) in which its mark and the colour beneath it are measured.

    For text from left to right, it is the middle of the lower half, where almost every letter has ink and its
    neighbours have none. For other directions, it is the middle of the whole character.
    """
    box = glyphs.box
    inset = 0.15 * (box[:, 2:] - box[:, :2])
    inner = np.concatenate([box[:, :2] + inset, box[:, 2:] - inset], axis=1)
    lower = inner.copy()
    lower[:, 1] = np.maximum(glyphs.origin[:, 1] - 0.5 * glyphs.extent, box[:, 1])
    lower[:, 3] = np.minimum(glyphs.origin[:, 1] - 0.03 * glyphs.extent, box[:, 3])
    level = glyphs.even & (lower[:, 3] > lower[:, 1])
    return np.where(level[:, None], lower, inner)


def _tiny(glyphs: Glyphs) -> Mask:
    """Returns the mask of the characters below `TINY` points, or slightly larger ones in a line or sentence of text.

    Those below `FINE` points must form sentences, or lines of several words. Elsewhere the larger ones may be labels in
    a shrunk figure.
    """
    small, fine = glyphs.extent < SMALL, glyphs.extent < FINE
    if not fine.any():
        return small
    words = np.zeros(glyphs.line[-1] + 1, dtype=np.int64)
    first = np.ones(len(small), dtype=bool)
    first[1:] = glyphs.word[1:] != glyphs.word[:-1]
    long = np.bincount(glyphs.word, glyphs.solid)[glyphs.word] >= 2
    np.add.at(words, glyphs.line[first & long], 1)
    alphabetic = lettered(glyphs)
    letters = np.bincount(glyphs.line, alphabetic)[glyphs.line]
    wordy = (glyphs.extent < SMALLER) & (letters >= LETTERS) | (words[glyphs.line] >= RUNNING)
    out = (glyphs.extent < TINY) | (small & wordy)
    for start, end in stretches(fine | ~glyphs.solid):
        places = np.arange(start, end)
        if fine[places].sum() >= PROSE and (prose(glyphs, places) or lines_of_words(glyphs, places)):
            out[places] |= fine[places]
    return out


def _small_type(glyphs: Glyphs, ink: Ink, log: list[Any]) -> Mask:
    """Returns the mask of the characters in type too small for readers, outside of figures, but for a few letters."""
    usual = float(np.median(glyphs.extent[glyphs.solid])) if glyphs.solid.any() else 0.0
    small = glyphs.extent < max(READ, OF_BODY * usual)
    if not (small & glyphs.solid).any():
        return np.zeros(len(small), dtype=bool)
    places = np.flatnonzero(small)
    small[places] = ~_in_figures(glyphs.box[places], ink, log)
    kept = without_strays(glyphs, small)
    return kept | fragments(glyphs, small & ~kept, 2, PIECES)


def _in_figures(boxes: Floats, ink: Ink, log: list[Any]) -> Mask:
    """Returns for each of *boxes* (n × 4, in points) whether it lies in or beside a figure that a reader sees.

    A figure is several drawn objects, not all of them rules, that leave marks on the page.
    """
    drawn = np.array([box for kind, box, *_ in log if kind in ("fill-path", "stroke-path", "fill-shade", "fill-image")])
    around = boxes + np.array([-NEAR, -NEAR, NEAR, NEAR])
    out = ink.rough(around, PALE) > 0
    for place in np.flatnonzero(out) if len(drawn) else []:
        left, top, right, bottom = around[place]
        near = drawn[(drawn[:, 0] < right) & (drawn[:, 2] > left) & (drawn[:, 1] < bottom) & (drawn[:, 3] > top)]
        upright = near[:, 3] - near[:, 1] > RULE
        sides = near[:, 2:].max(axis=0) - near[:, :2].min(axis=0) if len(near) else np.zeros(2)
        out[place] = len(near) >= PARTS and bool(upright.sum() > 1 and sides.min() >= SIDE)
    return out & (len(drawn) > 0)


def _packed(glyphs: Glyphs) -> Mask:
    """Returns the mask of four or more consecutive characters without width, and the character before them."""
    box = glyphs.box
    flat = (box[:, 2] - box[:, 0] < 0.01) & (box[:, 3] - box[:, 1] > 0.1) & glyphs.even
    out = np.zeros(len(flat), dtype=bool)
    if flat.any():
        for start, end in stretches(flat):
            if end - start >= 4:
                out[max(start - 1, 0) : end] = True
    return out


def _pictured(page: Any, log: list[Any]) -> float:
    """Returns the share of the page's area that its pictures cover, each counted separately, at most 1."""
    sheet, total = page.rect, 0.0
    for kind, box, *_ in log:
        if kind in ("fill-image", "fill-imgmask"):
            width = min(box[2], sheet.width) - max(box[0], 0)
            height = min(box[3], sheet.height) - max(box[1], 0)
            total += max(width, 0) * max(height, 0)
    return min(total / max(sheet.width * sheet.height, 1.0), 1.0)


def _findings(glyphs: Glyphs, why: Whole, number: int) -> list[Finding]:
    """Returns one finding for each run of characters that are hidden for the same reason *why*, an index in `KINDS`."""
    findings: list[Finding] = []
    places = np.flatnonzero(why)
    if not len(places):
        return findings
    breaks = np.flatnonzero((np.diff(why[places]) != 0) | (np.diff(places) > 3)) + 1
    for run in np.split(places, breaks):
        kind = KINDS[why[run[0]]]
        text = glyphs.joined(run).strip()
        if kind is not None and text:
            findings.append(Finding(kind, number, glyphs.bounds(run), readable(text)))
    return findings


def _code(kind: Kind) -> int:
    return KINDS.index(kind)


COVERS = ("fill-path", "fill-image", "fill-shade")
LEAST = (30.0, 4.0)
"""Smallest width and height, in points, of an object that can cover a passage."""
MOST = 200
"""The most covers that are checked on a page, the largest first."""


def covers(glyphs: Glyphs, log: list[Any]) -> Mask:
    """Returns the mask of the characters whose centre lies in a large object that is drawn over earlier text."""
    middle = glyphs.middle
    under = np.zeros(len(middle), dtype=bool)
    texts = _boxes(log, ("fill-text", "stroke-text"))
    for operation, box in _large(log):
        earlier = texts[texts[:, 4] < operation]
        if len(earlier) and _meets(earlier, box).any():
            under |= _inside(middle, box)
    return under


def overprinted(glyphs: Glyphs, page: Any, log: list[Any]) -> Mask:
    """Returns the mask of the characters that an object covers, and on which later text is then printed.

    The finished page shows only the later text there; only the order of drawing reveals the earlier. Of each operation
    of which most letters are covered, all characters count. Rotated pages are not checked.
    """
    marked = np.zeros(len(glyphs.text), dtype=bool)
    texts = _boxes(log, ("fill-text", "stroke-text"))
    suspects = []
    for operation, box in _large(log):
        # Earlier text lies inside the object, with a tolerance of one point.
        within = (texts[:, :2] > np.subtract(box[:2], 1)) & (texts[:, 2:4] < np.add(box[2:], 1))
        earlier = texts[(texts[:, 4] < operation) & within.all(axis=1)]
        later = texts[(texts[:, 4] > operation) & _meets(texts, box)]
        if len(earlier) and len(later) and any(_meets(later, some).any() for some in earlier[:MOST]):
            suspects.append((operation, box))
    if not suspects or page.rotation:
        return marked
    order: dict[tuple[str, float, float], int] = {}
    for span in page.get_texttrace():
        for code, _, (x, y), _ in span["chars"]:
            if 0 <= code < 0x110000:
                order.setdefault((chr(code), round(x, 1), round(y, 1)), span["seqno"])
    operation_of = np.array([order.get(key, -1) for key in glyphs.signs()])
    middle = glyphs.middle
    for operation, box in suspects:
        inside = _inside(middle, box) & glyphs.solid & (operation_of >= 0)
        upper = np.flatnonzero(inside & (operation_of > operation))
        for lower in np.flatnonzero(inside & (operation_of < operation)):
            over = upper[_inside(middle[lower][None], glyphs.box[upper].T).ravel()] if len(upper) else upper
            marked[lower] |= len(over) > 0 and glyphs.text[lower] not in {glyphs.text[other] for other in over}
    out = np.zeros(len(marked), dtype=bool)
    for operation in np.unique(operation_of[marked]):
        stroke = operation_of == operation
        if marked[stroke & glyphs.solid].mean() > 0.5:
            out |= stroke
    return out


def _large(log: list[Any]) -> list[tuple[int, tuple[float, float, float, float]]]:
    """Returns the `MOST` largest objects that can cover text, each as (number in the order of drawing, box in points).

    Objects drawn before all text are left out, because they are backgrounds.
    """
    first = next((operation for operation, (kind, *_) in enumerate(log) if kind.endswith("-text")), len(log))
    boxes = [
        (operation, box)
        for operation, (kind, box, *_) in enumerate(log)
        if operation > first and kind in COVERS and box[2] - box[0] > LEAST[0] and box[3] - box[1] > LEAST[1]
    ]
    boxes.sort(key=lambda item: (item[1][0] - item[1][2]) * (item[1][3] - item[1][1]))
    return boxes[:MOST]


def _boxes(log: list[Any], kinds: tuple[str, ...]) -> Floats:
    """Returns a row x0, y0, x1, y1 (points), number in the order of drawing, for each object of *kinds* in *log*."""
    return np.array(
        [(*box, operation) for operation, (kind, box, *_) in enumerate(log) if kind in kinds], dtype=float
    ).reshape(-1, 5)


def _meets(boxes: Floats, box: Any) -> Mask:
    return (boxes[:, 0] < box[2]) & (boxes[:, 2] > box[0]) & (boxes[:, 1] < box[3]) & (boxes[:, 3] > box[1])


def _inside(points: Floats, box: Any) -> Mask:
    x, y = points[:, 0], points[:, 1]
    return (x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])
