"""Reads every character on a page of a PDF, and decides which of them a reader cannot see.

A character is judged by its properties (render mode, opacity, size, position, code point) and by the rendered page.
Each page is rendered once. Some words are checked again, because they leave no mark there, are pale, or lie under a
later object. For this second check, the page around them is rendered with and without its text. docs/security.md lists
ways of hiding text that are not detected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unicodedata import name, normalize

import numpy as np
import pymupdf
from numpy.typing import NDArray
from pymupdf import mupdf

from gre_bench.ingest.pdf.text import (
    INVISIBLE,
    PIECE,
    UNSPACED,
    Box,
    Kind,
    SuspectText,
    reveal_invisible_characters,
    round_box,
)

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FILLED, STROKED, CLIPPING = 16, 32, 64
ENDLESS = 1e6
"""Text is searched for up to this many points from the page's origin, so that text far off the page is found."""
LETTERS, PIECES = 6, 24
"""LETTERS: fewer consecutive letters than this do not count as hidden by size or by rendering, because formulas have
unusual characters. PIECES: on a page with at least this many hidden letters, shorter runs count too."""
FAINT = 0.1
"""Text below this opacity counts as hidden without further checks."""
TINY, READ, OF_BODY = 0.95, 4.0, 0.2
"""Font sizes that count as unreadable: below TINY points anywhere; outside figures, also below READ points or below
OF_BODY times the usual size."""
NEAR, SIDE, PARTS, RULE = 25.0, 20.0, 5, 2.0
"""Text is in a figure if PARTS drawn objects lie within NEAR points of it, and together span more than SIDE points in
both directions. Two of them must be higher than RULE points, so that the ruled lines of a table are not a figure."""
SEEN = 6
"""Text leaves no mark if it changes the pixels' colours (0 to 255) by at most this much."""
PALE = 20
"""Visible text differs from its background by at least this much in red, green or blue (0 to 255)."""
PALER, CONTRAST = 130, 1.3
"""Text counts as invisible if it is below both limits: PALER for its difference from the background (0 to 255), and
CONTRAST for its contrast ratio (WCAG requires 4.5)."""
LEAST_CONTRAST = 1.06
"""Text with a lower contrast ratio counts as invisible, whatever its colour. Pure yellow on white has 1.07."""
FINE, MARGIN, LARGEST = 3.0, 6.0, 6e6
"""FINE: pixels per point in the second check. MARGIN: points around the checked text. LARGEST: maximum number of pixels
in a rendering."""
COVERS = ("fill-path", "fill-image", "fill-shade")
LEAST_COVER, MOST = (30.0, 4.0), 200
"""LEAST_COVER: the smallest width and height, in points, of an object that can cover text. MOST: how many such objects
are checked per page."""
SCAN = 0.6
"""A page can count as a scan only if pictures cover at least this share of it."""
CLOSE, SHIFTED = 0.15, 3
"""A letter that is repeated at a distance below CLOSE times its size is bold print or a shadow, if at least SHIFTED
letters on the page are repeated at the same distance and direction."""
_UNSPACED = re.compile(f"[{UNSPACED}]+")


@dataclass(frozen=True, slots=True, eq=False)
class Glyphs:
    """The n characters of a page in PyMuPDF's order. The first axis of each array has one entry per character.

    - *blocks*: PyMuPDF's nested blocks, lines and spans, which hold the same characters in the same order.
    - *box*: x0, y0, x1, y1 (n × 4). *origin*: the left end of the baseline (n × 2). *middle*: the centre of the box
      (n × 2). All are in points from the top left.
    - *size*: the font size in points; the geometric mean if it differs by direction.
    - *opacity*: from 0 to 1. *color*: red, green and blue, each from 0 to 255 (n × 3).
    - *painted*: whether the character is filled or stroked. *clipping*: whether it only clips what is drawn next.
    - *even*: whether the character's line runs horizontally from left to right.
    - *letter*: whether the character is a letter, or a sign that stands for a letter, such as ⒜. *solid*: whether it is
      a letter or a digit.
    - *line*, *word*: the numbers of the character's line and word. Each white space character counts as a word.
    """

    blocks: list[dict[str, Any]]
    text: str
    box: Floats
    origin: Floats
    middle: Floats
    size: Floats
    opacity: Floats
    color: Integers
    painted: Mask
    clipping: Mask
    even: Mask
    solid: Mask
    letter: Mask
    line: Integers
    word: Integers

    def list_characters_with_origins(self) -> list[tuple[str, float, float]]:
        """Returns (character, x, y of its origin to tenths of a point) for each character."""
        return [(sign, x, y) for sign, (x, y) in zip(self.text, self.origin.round(1).tolist(), strict=True)]

    def compute_box(self, places: Any) -> Box:
        """Returns the box around the characters at the indices *places*, rounded to tenths of a point."""
        return round_box((*self.box[places, :2].min(axis=0), *self.box[places, 2:].max(axis=0)))

    def join_characters(self, places: Any) -> str:
        """Returns the characters at the indices *places* as one text, with a space between lines."""
        breaks = np.flatnonzero(np.diff(self.line[places])) + 1
        parts = np.split(np.asarray(places), breaks)
        return " ".join("".join(self.text[index] for index in part) for part in parts)

    def count_words_by_line(self, hidden: Mask, copies: Mask) -> tuple[Integers, Integers]:
        """Returns two arrays: for each line, the number of visible words and the number of hidden words.

        A word is hidden if all its letters and digits are *hidden*. A string without any letter or digit, such as the
        leader dots in a table of contents, is not a word. Letters and digits in *copies* are ignored: they repeat
        another character at the same place. Both masks are those of `PageVisibility`.
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


@dataclass(frozen=True, slots=True, eq=False)
class PageVisibility:
    """The characters of a page (*glyphs*), and which of them a reader cannot see.

    - *hidden*: the mask of the characters that a reader cannot see. *findings*: the texts that they form.
    - *copies*: the mask of visible characters that repeat another at the same place, as in text that is drawn twice to
      look bold.
    - *scan*: whether the page is a scan. *recognised*: how many invisible letters and digits do not count as hidden,
      because text recognition put them over the writing of the scan.
    - *pictured*: the share of the page's area that pictures cover. *empty*: whether the page is blank.
    """

    glyphs: Glyphs
    hidden: Mask
    copies: Mask
    findings: tuple[SuspectText, ...]
    scan: bool
    recognised: int
    pictured: float
    empty: bool


def build_text_page(page: Any, apply_actual_text: bool = False) -> Any:
    """Returns the text of *page* as a PyMuPDF `TextPage`.

    *apply_actual_text*: whether to put the file's replacement texts (ActualText) in place of the shown characters.
    """
    flags = pymupdf.TEXTFLAGS_TEXT & ~(pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CLIP)
    sheet = mupdf.FzStextPage(mupdf.FzRect(-ENDLESS, -ENDLESS, ENDLESS, ENDLESS))
    options = mupdf.FzStextOptions(flags if apply_actual_text else flags | pymupdf.TEXT_IGNORE_ACTUALTEXT)
    device = mupdf.fz_new_stext_device(sheet, options)
    mupdf.fz_run_page_contents(page.this, device, mupdf.FzMatrix(), mupdf.FzCookie())
    mupdf.fz_close_device(device)
    return pymupdf.TextPage(sheet)


def read_glyphs(page: Any) -> Glyphs:
    """Returns all characters in the contents of the PyMuPDF page *page*, without its annotations and form fields.

    Includes characters that are off the page or clipped away. Ignores replacement texts (ActualText).
    """
    blocks = build_text_page(page).extractRAWDICT()["blocks"]
    lines = [line for block in blocks for line in block["lines"]]
    spans = [(number, line, span) for number, line in enumerate(lines) for span in line["spans"]]
    chars = [char for _, _, span in spans for char in span["chars"]]
    n = len(chars)
    text = "".join(char["c"] for char in chars)
    if len(text) != n:  # each glyph counts as one character, even if the file gives it a longer text
        text = "".join(char["c"][:1] or "\ufffd" for char in chars)
    table = np.repeat(
        np.array(
            [(span["size"], span["alpha"] / 255, span["color"], span["char_flags"], line["dir"][0], number)
             for number, line, span in spans], dtype=float,
        ).reshape(-1, 6),
        [len(span["chars"]) for _, _, span in spans], axis=0,
    )  # fmt: skip
    color, line_of = table[:, 2].astype(np.int64), table[:, 5].astype(np.int64)
    known = {sign: (is_letter_or_framed_letter(sign), sign.isalnum(), sign.isspace()) for sign in set(text)}
    letter, alnum, white = np.array([known[sign] for sign in text], dtype=bool).reshape(n, 3).T
    how = table[:, 3].astype(np.int64)
    starts = np.ones(n, dtype=bool)
    starts[1:] = white[1:] | white[:-1] | (line_of[1:] != line_of[:-1])
    places = np.array([(*char["bbox"], *char["origin"]) for char in chars], dtype=float).reshape(n, 6)
    return Glyphs(
        blocks, text, places[:, :4], places[:, 4:], (places[:, :2] + places[:, 2:4]) / 2, table[:, 0], table[:, 1],
        np.stack([color >> 16 & 255, color >> 8 & 255, color & 255], axis=1),
        (how & (FILLED | STROKED) > 0) & (how & CLIPPING == 0), how & CLIPPING > 0, table[:, 4] > 0.99,
        letter | alnum, letter, line_of, np.cumsum(starts) - 1,
    )  # fmt: skip


def is_letter_or_framed_letter(sign: str) -> bool:
    """Whether *sign* is a letter, or a letter in brackets, in a ring or in a frame."""
    return any(map(str.isalpha, normalize("NFKC", sign))) or " LETTER " in name(sign, "")


def detect_hidden_text(page: Any, number: int) -> PageVisibility:
    """Returns which text a reader of the PyMuPDF page *page* can see. *number*: its number in the file, from 1."""
    glyphs, log = read_glyphs(page), page.get_bboxlog()
    pictured = _compute_picture_share(page, log)
    why = np.full(len(glyphs.text), "", dtype="U12")
    if not glyphs.text:
        return PageVisibility(glyphs, why != "", why != "", (), pictured >= SCAN, 0, pictured, not log)
    outside = ((glyphs.middle < 0) | (glyphs.middle > (page.rect.width, page.rect.height))).any(axis=1)
    ink = PageRenderings(page, 1.0)
    tiny = _find_tiny_characters(glyphs, log)
    _record_invisible_characters(glyphs, page, log, ink, ~outside & ~tiny, why)
    why[~glyphs.painted & (why != "seen")] = "unpainted"
    why[why == "seen"] = ""
    why[glyphs.painted & (glyphs.opacity < FAINT)] = "transparent"
    why[tiny] = "tiny"
    why[outside] = "off_page"
    flat = (glyphs.box[:, 2] - glyphs.box[:, 0] < 0.01) & (glyphs.box[:, 3] - glyphs.box[:, 1] > 0.1) & glyphs.even
    for start, end in find_mask_runs(flat):
        if end - start >= 4:
            why[max(start - 1, 0) : end] = "packed"
    why[[ord(letter) in INVISIBLE for letter in glyphs.text]] = "zero_width"
    unseen = np.isin(why, ("unpainted", "transparent", "covered"))
    scan = pictured >= SCAN and bool(unseen[glyphs.solid].mean() > 0.5 if glyphs.solid.any() else True)
    recognised = np.zeros(len(why), dtype=bool)
    if scan:  # judged by line, because recognised words are often wider than the writing beneath
        letters = glyphs.solid & unseen
        written = np.bincount(glyphs.line, letters & (ink.measure_brightness_ranges(glyphs.box) >= PALE))
        recognised = unseen & (written >= 0.5 * np.maximum(np.bincount(glyphs.line, letters), 1))[glyphs.line]
        why[recognised] = ""
    hidden = why != ""
    again, findings = find_repeated_characters(glyphs, ~hidden), tuple(_group_into_findings(glyphs, why, number))
    return PageVisibility(glyphs, hidden, again, findings, scan, int(recognised[glyphs.solid].sum()), pictured, not log)


def _group_into_findings(glyphs: Glyphs, why: NDArray[np.str_], number: int) -> Iterator[SuspectText]:
    """Yields one finding for each run of characters that are hidden for the same reason.

    *why*: the reason for each character; empty if it is visible.
    """
    places = np.flatnonzero(why != "")
    breaks = np.flatnonzero((why[places[1:]] != why[places[:-1]]) | (np.diff(places) > 3)) + 1
    for run in np.split(places, breaks) if len(places) else ():
        kind: Kind = str(why[run[0]])  # pyrefly: ignore
        if text := glyphs.join_characters(run).strip():
            yield SuspectText(kind, number, glyphs.compute_box(run), reveal_invisible_characters(text))


def _record_invisible_characters(
    glyphs: Glyphs, page: Any, log: list[Any], ink: PageRenderings, among: Mask, why: NDArray[np.str_]
) -> None:
    """Records in *why* which of the characters *among* leave no mark on the page, or hardly differ from the background.

    *why*: as in `_group_into_findings`. For a line of letters that only clip later objects, it becomes ``seen`` if
    something is visible within them. *log*: the page's objects in drawing order. *ink*: the rendered page.
    """
    band, clips = _choose_boxes_to_measure(glyphs), np.flatnonzero(among & glyphs.clipping)
    shown = clips[ink.measure_brightness_ranges(glyphs.box[clips]) >= PALE]
    why[glyphs.clipping & np.isin(glyphs.line, glyphs.line[shown])] = "seen"
    drawn = among & glyphs.painted
    covers, under = _find_covering_objects(log), np.zeros(len(drawn), dtype=bool)
    for _, box in covers:
        under |= _mask_points_inside(glyphs.middle, box)
    marks = np.where(drawn & glyphs.solid, ink.measure_text_changes(glyphs.box), 0)
    faint = np.maximum.reduceat(marks, np.flatnonzero(np.diff(glyphs.word, prepend=-1)))[glyphs.word] < 3 * PALE
    suspects = drawn & glyphs.solid & (faint | _find_pale_characters(glyphs, np.full((len(drawn), 3), 255.0)))
    if suspects.any():
        places = np.flatnonzero(drawn & (np.bincount(glyphs.word, suspects) > 0)[glyphs.word])
        low, high = band[places, :2].min(axis=0) - MARGIN, band[places, 2:].max(axis=0) + MARGIN
        fine = PageRenderings(page, FINE, (*low, *high))
        beneath = np.full((len(drawn), 3), 255.0)
        beneath[places] = fine.sample_in_boxes(band[places], fine.ground).mean(axis=1)
        lost, pale = np.zeros(len(drawn), dtype=bool), np.zeros(len(drawn), dtype=bool)
        lost[places] = fine.measure_text_changes(band[places], 12) <= SEEN
        pale[places] = _find_pale_characters(glyphs, beneath)[places]
        unseen = _extend_mask_to_words(glyphs, pale | lost, drawn)
        own = np.abs(glyphs.color - beneath).max(axis=1)
        why[unseen] = "clipped"
        why[unseen & under] = "covered"
        why[unseen & pale] = "pale"
        why[unseen & pale & (glyphs.opacity < 0.5) & (own >= PALE)] = "transparent"
        last = np.maximum.accumulate(np.where(unseen & glyphs.solid, np.arange(len(drawn)), 0))
        why[unseen & ~glyphs.solid] = why[last[unseen & ~glyphs.solid]]
    if under.any() and not page.rotation:
        why[_find_overprinted_characters(glyphs, page, covers, drawn & (why == ""))] = "covered"


def _find_pale_characters(glyphs: Glyphs, ground: Floats) -> Mask:
    """Returns the mask of the characters that hardly differ from their background colours *ground* (n × 3)."""
    shown = ground + glyphs.opacity[:, None] * (glyphs.color - ground)
    step, ratio = np.abs(shown - ground).max(axis=1), compute_contrast_ratio(shown, ground)
    return (step < PALE) | ((step < PALER) & (ratio < CONTRAST)) | (ratio < LEAST_CONTRAST)


def compute_contrast_ratio(colour: Floats, ground: Floats) -> Floats:
    """Returns the contrast ratio (1 to 21, as in WCAG 2.2) of each of n text colours to its background colour.

    *colour*, *ground*: text and background colours (n × 3): red, green and blue in sRGB, from 0 to 255.
    """

    def luminance(colours: Floats) -> Floats:
        part = np.clip(colours, 0, 255) / 255
        return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)

    first, second = luminance(colour), luminance(ground)
    return (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)


def _choose_boxes_to_measure(glyphs: Glyphs) -> Floats:
    """Returns the box (n × 4, in points) in which each character's mark and background colour are measured.

    For text from left to right, the box is the middle of the character's lower half. Almost every letter has ink there,
    and the neighbouring letters have none. For other directions, the box is the middle of the whole character.
    """
    box = glyphs.box
    inset = 0.15 * (box[:, 2:] - box[:, :2])
    inner = np.concatenate([box[:, :2] + inset, box[:, 2:] - inset], axis=1)
    lower = inner.copy()
    lower[:, 1] = np.maximum(glyphs.origin[:, 1] - 0.5 * glyphs.size, box[:, 1])
    lower[:, 3] = np.minimum(glyphs.origin[:, 1] - 0.03 * glyphs.size, box[:, 3])
    return np.where((glyphs.even & (lower[:, 3] > lower[:, 1]))[:, None], lower, inner)


def _extend_mask_to_words(glyphs: Glyphs, marked: Mask, among: Mask) -> Mask:
    """Returns the mask of all words of which at least half is *marked*, without stray letters.

    A run of fewer than `LETTERS` letters is stray, unless it is a whole word of at least three letters. On a page with
    at least `PIECES` marked letters, a short run in a mostly marked line is not stray either. *among*: the mask of the
    characters to consider.
    """
    letters = np.bincount(glyphs.word, glyphs.solid & among)
    whole = (np.bincount(glyphs.word, glyphs.letter & marked) > 2) & (
        np.bincount(glyphs.word, glyphs.solid & marked) == letters
    )
    hidden = np.bincount(glyphs.word, glyphs.solid & marked) >= 0.5 * np.maximum(letters, 1)
    out = (hidden & (letters > 0))[glyphs.word] & among
    solid = np.flatnonzero(glyphs.solid)
    if not len(solid):
        return out
    place = np.arange(len(out))
    before = solid[np.clip(np.searchsorted(solid, place, "right") - 1, 0, None)]
    after = solid[np.clip(np.searchsorted(solid, place), None, len(solid) - 1)]
    out |= ~glyphs.solid & among & out[before] & out[after]
    seen = np.bincount(glyphs.line, glyphs.solid & ~out)
    lines = (np.bincount(glyphs.line, glyphs.solid & out) > seen) & bool((out & glyphs.letter).sum() >= PIECES)
    for start, end in find_mask_runs(out):
        if glyphs.letter[start:end].sum() < LETTERS:
            out[start:end] &= whole[glyphs.word[start:end]] | lines[glyphs.line[start:end]]
    return out


def find_mask_runs(mask: Mask) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of each run of True values in *mask*; the end is exclusive."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return zip(edges[::2], edges[1::2], strict=True)


def _find_tiny_characters(glyphs: Glyphs, log: list[Any]) -> Mask:
    """Returns the mask of the characters that are too small to read.

    Stray letters and characters in figures are not in it, unless they are smaller than `TINY`.
    """
    usual = float(np.median(glyphs.size[glyphs.solid])) if glyphs.solid.any() else 0.0
    small = glyphs.size < max(READ, OF_BODY * usual)
    if not (small & glyphs.solid).any():
        return np.zeros(len(small), dtype=bool)
    drawn = np.array([box for kind, box, *_ in log if not kind.endswith("-text")], dtype=float).reshape(-1, 4)
    for start, end in find_mask_runs(small):
        part = np.flatnonzero(small[start:end] & (glyphs.size[start:end] >= TINY)) + start
        if glyphs.letter[start:end].sum() < LETTERS:
            small[part] = False
        elif len(part):
            left, top, right, bottom = glyphs.compute_box(part)
            near = drawn[_mask_overlapping_boxes(drawn, (left - NEAR, top - NEAR, right + NEAR, bottom + NEAR))]
            sides = near[:, 2:].max(axis=0) - near[:, :2].min(axis=0) if len(near) else np.zeros(2)
            upright = near[:, 3] - near[:, 1] > RULE
            small[part] = len(near) < PARTS or upright.sum() < 2 or sides.min() < SIDE
    return small


def _find_covering_objects(log: list[Any]) -> list[tuple[int, Any]]:
    """Returns (position in drawing order, box) of the objects that may cover earlier text.

    At most `MOST` objects are checked, the largest first. *log*: the page's objects in drawing order.
    """
    texts = np.array([box for kind, box, *_ in log if kind.endswith("-text")], dtype=float).reshape(-1, 4)
    before = np.cumsum([kind.endswith("-text") for kind, *_ in log])
    large = [
        (number, box)
        for number, (kind, box, *_) in enumerate(log)
        if kind in COVERS and box[2] - box[0] > LEAST_COVER[0] and box[3] - box[1] > LEAST_COVER[1] and before[number]
    ]
    large.sort(key=lambda item: (item[1][0] - item[1][2]) * (item[1][3] - item[1][1]))
    return [
        (number, box) for number, box in large[:MOST] if _mask_overlapping_boxes(texts[: before[number]], box).any()
    ]


def _find_overprinted_characters(glyphs: Glyphs, page: Any, covers: list[tuple[int, Any]], among: Mask) -> Mask:
    """Returns the mask of the characters *among* that one of the objects *covers* hides, under later text.

    The rendered page shows only the later text; only the drawing order reveals the earlier text.
    """
    out = np.zeros(len(among), dtype=bool)
    order: dict[tuple[str, float, float], int] = {}
    for span in page.get_texttrace():
        for code, _, (x, y), _ in span["chars"]:
            if 0 <= code < 0x110000:
                order.setdefault((chr(code), round(x, 1), round(y, 1)), span["seqno"])
    drawn = np.array([order.get(sign, -1) for sign in glyphs.list_characters_with_origins()])
    sign = np.array([ord(letter) for letter in glyphs.text])
    for number, box in covers:
        inside = _mask_points_inside(glyphs.middle, box) & among & glyphs.solid & (drawn >= 0)
        upper = np.flatnonzero(inside & (drawn > number))
        for lower in np.array_split(np.flatnonzero(inside & (drawn < number)), 1 + inside.sum() // 256):
            over = _mask_points_inside(glyphs.middle[lower][:, None], glyphs.box[upper].T)
            same = sign[lower][:, None] == sign[upper]
            out[lower] |= over.any(axis=1) & ~(over & same).any(axis=1)
    for number in np.unique(drawn[out]):
        stroke = drawn == number
        out[stroke] = out[stroke & glyphs.solid].mean() > 0.5
    return out


def _compute_picture_share(page: Any, log: list[Any]) -> float:
    """Returns the total area of the page's pictures as a share of the page's area, at most 1."""
    sheet, total = page.rect, 0.0
    for kind, box, *_ in log:
        if kind in ("fill-image", "fill-imgmask"):
            width = min(box[2], sheet.width) - max(box[0], 0)
            height = min(box[3], sheet.height) - max(box[1], 0)
            total += max(width, 0) * max(height, 0)
    return min(total / max(sheet.width * sheet.height, 1.0), 1.0)


def _mask_overlapping_boxes(boxes: Floats, box: Any) -> Mask:
    return (boxes[:, 0] < box[2]) & (boxes[:, 2] > box[0]) & (boxes[:, 1] < box[3]) & (boxes[:, 3] > box[1])


def _mask_points_inside(points: Floats, box: Any) -> Mask:
    x, y = points[..., 0], points[..., 1]
    return (x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])


class PageRenderings:
    """Two renderings of a page and its annotations: one with text, one without.

    *region*: the part to render (x0, y0, x1, y1 in points); None means the whole page. *scale*: pixels per point; it is
    reduced if a rendering would have more than `LARGEST` pixels.
    """

    def __init__(self, page: Any, scale: float, region: Any = None):
        sheet = mupdf.fz_bound_page(page.this)
        if region is not None:
            inner = mupdf.fz_intersect_rect(sheet, mupdf.FzRect(*map(float, region)))
            sheet = inner if inner.x1 > inner.x0 and inner.y1 > inner.y0 else sheet
        self.scale = min(scale, (LARGEST / max((sheet.x1 - sheet.x0) * (sheet.y1 - sheet.y0), 1.0)) ** 0.5)
        shown = mupdf.fz_new_display_list_from_page(page.this)
        matrix = mupdf.FzMatrix(self.scale, 0, 0, self.scale, 0, 0)
        bounds = mupdf.fz_round_rect(mupdf.fz_transform_rect(sheet, matrix))
        self.corner = np.array([bounds.x0, bounds.y0])
        self.whole, self.ground = (_render_page(shown, matrix, bounds, with_text) for with_text in (True, False))
        difference = np.maximum(self.whole, self.ground) - np.minimum(self.whole, self.ground)
        self.difference = np.maximum(np.maximum(difference[:, :, 0], difference[:, :, 1]), difference[:, :, 2])

    def sample_in_boxes(self, boxes: Floats, picture: NDArray[np.uint8], steps: int = 5) -> NDArray[np.uint8]:
        """Returns the values of *picture* at a grid of *steps* × *steps* points in each of *boxes* (n × 4).

        The result has one entry per box and point: n × *steps*².
        """
        shares = (np.arange(steps) + 0.5) / steps
        x, y = (
            np.clip(
                np.nan_to_num((low[:, None] + shares * (high - low)[:, None]) * self.scale - corner), 0, most - 1
            ).astype(np.int64)
            for low, high, corner, most in zip(
                boxes[:, :2].T, boxes[:, 2:].T, self.corner, picture.shape[1::-1], strict=True
            )
        )
        return picture[y[:, :, None], x[:, None, :]].reshape(len(boxes), steps * steps, *picture.shape[2:])

    def measure_text_changes(self, boxes: Floats, steps: int = 5) -> NDArray[np.uint8]:
        """Returns how much the text changes the colour in each of *boxes* (n × 4, in points), from 0 to 255."""
        return self.sample_in_boxes(boxes, self.difference, steps).max(axis=1)

    def measure_brightness_ranges(self, boxes: Floats) -> NDArray[np.uint8]:
        """Returns the range (0 to 255) of the green channel of the page within each of *boxes* (n × 4, in points)."""
        green = self.sample_in_boxes(boxes, self.whole[:, :, 1], 8)
        return green.max(axis=1) - green.min(axis=1)


def _render_page(shown: Any, matrix: Any, bounds: Any, with_text: bool) -> NDArray[np.uint8]:
    pixels = mupdf.fz_new_pixmap_with_bbox(mupdf.fz_device_rgb(), bounds, mupdf.FzSeparations(), 0)
    mupdf.fz_clear_pixmap_with_value(pixels, 255)
    device = mupdf.fz_new_draw_device(matrix, pixels)
    if not with_text:
        # MuPDF skips what a device has no function for. Clipping by text stays: the clipped content is not text.
        device.m_internal.fill_text = None
        device.m_internal.stroke_text = None
    everything = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)
    mupdf.fz_run_display_list(shown, device, mupdf.FzMatrix(), everything, mupdf.FzCookie())
    mupdf.fz_close_device(device)
    picture = pymupdf.Pixmap("raw", pixels)
    return np.frombuffer(picture.samples, dtype=np.uint8).reshape(picture.height, picture.width, 3)


def find_repeated_characters(glyphs: Glyphs, among: Mask) -> Mask:
    """Returns the mask of those characters *among* that repeat an earlier character at about the same place and size.

    PDF producers draw text twice, with a small shift, for bold print, shadows and outlines.
    """
    out = np.zeros(len(among), dtype=bool)
    places = np.flatnonzero(among)
    code = np.fromiter((ord(glyphs.text[index]) for index in places), dtype=np.int64, count=len(places))
    # Letters in the same row or column have different positions along this direction, so few pairs are compared.
    along = glyphs.origin[places] @ (0.8, 0.6)
    order = np.lexsort((along, code))
    places, code, along = places[order], code[order], along[order]
    size = glyphs.size[places]
    first = np.arange(len(places))
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for step in range(1, 13):  # each letter is compared with at most 12 others, so the time grows linearly
        first = first[first + step < len(places)]
        second = first + step
        close = (code[first] == code[second]) & (along[second] - along[first] < CLOSE * size[first])
        first, second = first[close], second[close]
        if not len(first):
            break
        apart = np.hypot(*(glyphs.origin[places[second]] - glyphs.origin[places[first]]).T)
        alike = np.abs(size[first] - size[second]) < 0.2 * size[first]
        met = alike & (apart < CLOSE * np.minimum(size[first], size[second]))
        pairs.append(np.sort(np.stack([places[first], places[second]], axis=1)[met], axis=1))
    earlier, later = np.concatenate(pairs).T
    shift = glyphs.origin[later] - glyphs.origin[earlier]
    for half in (0.0, 0.5):  # half a tenth of a point, because a shift may lie between two tenths
        number = np.unique(np.floor(10 * shift + half), axis=0, return_inverse=True)[1].reshape(-1)
        shared = np.bincount(number, glyphs.solid[later])[number] >= SHIFTED
        out[later[shared]] = True
    return out
