"""Finds letters that are drawn but cannot be read.

Letters are compared with reference pictures of common typefaces. A letter's rank is the share of the other letters of
its alphabet whose references are more like its picture, from 0 to 1. An alphabet without reference pictures is judged
by the positions and sizes of its letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import pymupdf
from numpy.typing import NDArray

from gre_bench.ingest.pdf.audit.glyphs import LETTERS, Floats, Glyphs, Ink, Mask, Whole, by_word, without_strays

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
WIDE = 0.95
"""The advance, in units of the size, above which a letter may stand in the place of an ideograph, at its left."""
BLANK = 3.0
"""The norm of the samples, in steps of 255, below which nothing is drawn."""


@cache
def letter_of(character: str) -> tuple[int, int]:
    """Returns the indices of the alphabet and letter of *character*, without case, accents and style; else -1, -1."""
    base = [part for part in unicodedata.normalize("NFKD", character) if not unicodedata.combining(part)]
    small = base[0].lower() if len(base) == 1 else ""
    for number, alphabet in enumerate(ALPHABETS):
        if len(small) == 1 and small in alphabet:
            return number, alphabet.index(small)
    return -1, -1


@cache
def references(alphabet: int, shifts: tuple[float, ...] = (0.0,), rows: int = ROWS) -> NDArray[np.float32]:
    """Returns reference pictures of the letters of ``ALPHABETS[alphabet]``: letters × variants × samples.

    The variants combine case, typeface, height and the *shifts* to the right, in units of the font size, because
    typefaces place italics differently. Only the upper *rows* of samples are kept.
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

    The result is n × (ROWS · COLUMNS), row by row, interpolated linearly between pixels. The vectors are n × 2, in
    pixels: *origin*, the left end of the base line; *advance*, along the line to the next letter. *down* is as long as
    the font size.
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
    """Returns the rank and the likeness of each of n letters, by their normal samples *values* (n × samples).

    The likeness, from -1 to 1, is the highest correlation of the letter's samples with a reference of the same letter.
    The rank (see the module) of a blank picture is 1/2. *letter*: the letters' indices in the alphabet.
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


ODDS = 4.0
"""The sum of the log odds of a word's letters above which it is unreadable; consecutive such words need twice that."""
STRANGE = 0.1
"""The lowest mean rank of the letters of neighbouring unreadable words; readable but unusual typefaces stay below."""
REST = 0.6
"""The share of a line's letters that must be unreadable for its other letters to count too."""
SHORT = 3
"""The fewest letters of a word that is judged alone; consecutive shorter words are judged together."""
FAINT, FAINTER, LITTLE = 36, 48, 4.1
"""Steps of 255 that a reader needs between the lightest and darkest samples of letters, on average over a word. The
second holds for type smaller than the third, in points.
"""
SMALL_TYPE = 7.5
"""Type up to this size in points is looked at again, enlarged: at 100 dots per inch it has few pixels."""
FEW = 16
"""The fewest letters of a line that can be judged by their setting."""
MOST = 0.75
"""The share of a line's letters that must be affected for the whole line to be unreadable."""
NARROW = 0.09
"""The mean width of a line's letters, in units of their height, below which nobody can read them."""
SHARED, CLOSE = 0.35, 0.45
"""Share of a width, and distance of baselines in units of the size, at which two letters collide."""
ROW, REACH = 6.0, 12
"""Height in points of the rows in which colliding letters are sought, and how many of a row are compared with each."""
SMALL_PRINT = 3.6
"""Size in points of labels in shrunk figures, which are no text; running text of this size is hidden by its size."""
NOISE, NOISY = 60, 0.4
"""Steps of 255 between neighbouring pixels of the ground, and the share of such pixels on which no letter can be read.
"""
HUES = 25
"""The same steps for letters that only one of red, green and blue shows: readers see all three at once."""
UNLIKE, MORE, WINDOW = 0.25, 0.15, 6
"""No recognised text is that of the scan if the median of the mean ranks of neighbouring letters is above the first.
Neighbours are not if theirs is above the median by the second. At least so many letters are judged together.
"""
SAME = 0.97
"""The mean correlation of pictures of different letters from which they show no letters."""
MEAN, EACH = 3, (0, 1, 2)
"""Channels of a picture: their mean, and red, green and blue."""


def illegible(glyphs: Glyphs, ink: Ink, among: Mask, closer: Callable[[Mask], Ink]) -> tuple[Mask, Mask]:
    """Returns two masks of the characters *among*: those that no reader can make out, and strays.

    Strays seem unreadable too, but are too few letters to be sure. *closer* takes a mask of characters and returns the
    page around them, drawn enlarged.
    """
    letters = _Letters.from_glyphs(glyphs, among)
    mask = _by_setting(glyphs, ink, among, letters.pictured) | _disguised(glyphs, among)
    strays = np.zeros(len(mask), dtype=bool)
    if not len(letters.places):
        return mask, strays
    inside = letters.pictured | (among & ~glyphs.solid)
    crowded = overlaid(glyphs, letters.pictured) | (letters.pictured & (ink.rough(glyphs.box, NOISE) > NOISY))
    if crowded.any():
        mask |= without_strays(glyphs, by_word(glyphs, crowded, inside))
    bad = _unread(letters, ink, closely=False)
    if bad.any():
        bad[bad] = _unread(letters.some(bad), ink, closely=True)
    small = bad & (glyphs.extent[letters.places] < SMALL_TYPE)
    if small.any():
        near = np.zeros(len(among), dtype=bool)
        near[letters.places[small]] = True
        bad[small] = _unread(letters.some(small), closer(near), closely=True)
    if bad.any():
        unread = np.zeros(len(among), dtype=bool)
        unread[letters.places[bad]] = True
        share = np.bincount(glyphs.line, unread) / np.maximum(np.bincount(glyphs.line, letters.pictured), 1)
        unread |= letters.pictured & (share > REST)[glyphs.line]
        words = by_word(glyphs, unread, inside)
        mask |= without_strays(glyphs, words)
        strays = words & ~mask
    return mask, strays


@dataclass(frozen=True, slots=True, eq=False)
class _Letters:
    """The n letters of a page that have reference pictures; *pictured* is their mask among all characters of the page.

    - *places*: the letters' indices among the page's characters.
    - *alphabet*, *letter*: the index of each letter's alphabet in `ALPHABETS`, and the letter's index there.
    - *unit*, *line*: the numbers of the letter's line, and of the word, or short words together, that is judged.
    - *origin*: the left end of the letter's base line (n × 2, in points).
    - *advance*, *down*: the letter's advance along the line and its size downwards (vectors, n × 2 each, in points).
    """

    places: Whole
    alphabet: Whole
    letter: Whole
    unit: Whole
    line: Whole
    origin: Floats
    advance: Floats
    down: Floats
    pictured: Mask

    @classmethod
    def from_glyphs(cls, glyphs: Glyphs, among: Mask) -> _Letters:
        known = {character: letter_of(character) for character in set(glyphs.text)}
        both = np.array([known[character] for character in glyphs.text], dtype=np.int64).reshape(-1, 2)
        pictured = among & (both[:, 0] >= 0) & (glyphs.extent >= SMALL_PRINT)
        places = np.flatnonzero(pictured)
        return cls(
            places, both[places, 0], both[places, 1], _units(glyphs, places), glyphs.line[places],
            glyphs.origin[places], *_sides(glyphs, places), pictured,
        )  # fmt: skip

    def boxes(self) -> Floats:
        """Returns each letter's box, from its base line upwards (n × 4, in points)."""
        foot, head = self.origin + self.advance, self.origin - self.down
        corners = np.stack([self.origin, foot, head, foot - self.down])
        return np.concatenate([corners.min(axis=0), corners.max(axis=0)], axis=1)

    def compared(self, shape: NDArray[np.float32], shifts: tuple[float, ...]) -> tuple[Floats, NDArray[np.float32]]:
        """Returns rank and likeness (see `compared`) of each letter, by its normal samples *shape*."""
        rank, likeness = np.zeros(len(shape)), np.zeros(len(shape), dtype=np.float32)
        for number in range(len(ALPHABETS)):
            members = np.flatnonzero(self.alphabet == number)
            if len(members):
                rank[members], likeness[members] = compared(shape[members], number, self.letter[members], shifts)
        return rank, likeness

    def some(self, chosen: Mask) -> _Letters:
        names = ("places", "alphabet", "letter", "unit", "line", "origin", "advance", "down")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def _darkness(letters: _Letters, ink: Ink, channel: int) -> NDArray[np.float32]:
    """Returns how dark *ink*, with its text, is at the sample points of each of *letters* (n × samples; see `samples`).

    *channel*: 0 is red, 1 green, 2 blue, 3 the mean of the three.
    """
    if channel == MEAN:
        red, green, blue = (ink.whole[:, :, part].astype(np.uint16) for part in range(3))
        picture = ((red + green + blue) // 3).astype(np.uint8)
    else:
        picture = np.ascontiguousarray(ink.whole[:, :, channel])
    origin = letters.origin * ink.scale - np.array(ink.corner)
    return samples(picture, origin, letters.advance * ink.scale, letters.down * ink.scale)


def _disguised(glyphs: Glyphs, among: Mask) -> Mask:
    """Returns the mask of signs within words that stand for letters, as U+249C, and that no reference shows."""
    signs = {sign for sign in set(glyphs.text) if not sign.isalnum() and letter_of(sign)[0] < 0}
    other = among & glyphs.solid & np.fromiter((sign in signs for sign in glyphs.text), dtype=bool, count=len(among))
    if other.sum() < LETTERS:
        return np.zeros(len(among), dtype=bool)
    return other & (np.bincount(glyphs.word, other)[glyphs.word] >= SHORT)


def unlike(glyphs: Glyphs, ink: Ink, among: Mask) -> Mask:
    """Returns the mask of the recognised characters (*among*) that are not what a scan shows in their place.

    Words of a line are grouped until a group has `WINDOW` letters. Each group is judged by the mean rank of its
    letters. Recognised letters never lie exactly on the writing, so even correct ones have a mean rank of 0.01 to 0.21
    on a page.
    """
    letters = _Letters.from_glyphs(glyphs, among)
    out = np.zeros(len(among), dtype=bool)
    if not len(letters.places):
        return out
    rank, _ = letters.compared(normal(_darkness(letters, ink, MEAN)), SHIFTS)
    word = glyphs.word[letters.places]
    group = np.zeros(len(word), dtype=np.int64)
    size = 0
    for index in range(1, len(word)):
        size += 1
        new_line = letters.line[index] != letters.line[index - 1]
        new = new_line or (word[index] != word[index - 1] and size >= WINDOW)
        size = 0 if new else size
        group[index] = group[index - 1] + new
    means = np.bincount(group, rank) / np.bincount(group)
    usual = float(np.median(means))
    strange = (means > usual + MORE) | (usual > UNLIKE)
    return among & np.isin(glyphs.word, word[strange[group]])


def _units(glyphs: Glyphs, places: Whole) -> Whole:
    """Returns for each letter at *places* the number of its unit: a word, or consecutive short words of a line."""
    word = glyphs.word[places]
    short = np.bincount(word)[word] < SHORT
    new = np.zeros(len(places), dtype=np.int64)
    new[1:] = (np.diff(glyphs.line[places]) != 0) | ((np.diff(word) != 0) & ~(short[1:] & short[:-1]))
    return np.cumsum(new)


def _unread(letters: _Letters, ink: Ink, closely: bool) -> Mask:
    """Returns for each of *letters* whether its unit (see `_Letters`) is unreadable.

    If *closely*, units that seem unreadable are compared in further ways: as light letters on dark ground, in each
    colour, without the rows that an underline may cover, and shifted as in other typefaces. Letters as wide as an
    ideograph are also sought in the left half of its place. A unit that can be read in one of these ways is readable.
    """
    out = np.ones(len(letters.places), dtype=bool)
    looks = product((MEAN, *EACH), (1, -1), (ROWS, UPPER), (1.0, 0.5)) if closely else [(MEAN, 1, ROWS, 1.0)]
    for channel, sign, rows, part in looks:
        some = letters.some(out)
        if not len(some.places):
            break
        if part < 1:
            wide = np.hypot(*some.advance.T) > WIDE * np.hypot(*some.down.T)
            if not wide.any():
                continue
            some = replace(some, advance=some.advance * np.where(wide, part, 1.0)[:, None])
        unit = np.unique(some.unit, return_inverse=True)[1]
        seen = _darkness(some, ink, channel)[:, : rows * COLUMNS]
        span = np.bincount(unit, seen.max(axis=1) - seen.min(axis=1)) / np.bincount(unit)
        shape = sign * normal(seen)
        rank, likeness = some.compared(shape, SHIFTS if closely else (0.0,))
        odds = surplus(rank, likeness)
        strange = np.bincount(unit, odds) > ODDS
        if closely:
            strange &= _strange_stretches(some, unit, strange, rank, odds)
        strange |= _alike(some.letter, unit, shape)
        if channel != MEAN:
            strange |= np.bincount(unit, ink.rough(some.boxes(), HUES) > NOISY) > 0.5 * np.bincount(unit)
        little = np.bincount(unit, np.hypot(*some.down.T)) < LITTLE * np.bincount(unit)
        out[out] = (strange | (span < np.where(little, FAINTER, FAINT)))[unit]
    return out


def _alike(letter: Whole, unit: Whole, shape: NDArray[np.float32]) -> Mask:
    """Returns for each unit whether different letters side by side look the same, as in a font that draws only boxes.

    At least two such pairs are needed, because a capital i and a small l may look the same.
    """
    beside = (unit[1:] == unit[:-1]) & (letter[1:] != letter[:-1])
    likeness = np.einsum("ij,ij->i", shape[1:], shape[:-1])
    pairs = np.bincount(unit[1:][beside], minlength=int(unit.max()) + 1)
    total = np.bincount(unit[1:][beside], likeness[beside], minlength=len(pairs))
    return (pairs >= 2) & (total > SAME * pairs)


def _strange_stretches(letters: _Letters, unit: Whole, strange: Mask, rank: Floats, odds: Floats) -> Mask:
    """Returns for each unit whether it is in a run of *strange* units of a line with high mean rank and odds."""
    line = np.zeros(len(strange), dtype=np.int64)
    line[unit] = letters.line
    new = (line[1:] != line[:-1]) | (strange[1:] != strange[:-1])
    number = np.cumsum(np.concatenate([[0], new]))
    stretch = number[unit]
    high = np.bincount(stretch, rank) > STRANGE * np.bincount(stretch)
    return (high & (np.bincount(stretch, odds) > 2 * ODDS))[number]


def _sides(glyphs: Glyphs, places: Whole) -> tuple[Floats, Floats]:
    """Returns two vectors for each letter: its advance along the line and its size downwards (n × 2, in points)."""
    size = glyphs.box[places, 2:] - glyphs.box[places, :2]
    along = glyphs.direction[places]
    first, second = np.abs(along).T
    tilt = first**2 - second**2
    oblique = np.abs(tilt) < 0.2
    advance = (size[:, 0] * first - size[:, 1] * second) / np.where(oblique, 1, tilt)
    advance = np.where(oblique, 0.5 * glyphs.extent[places], advance)[:, None] * along
    down = np.stack([-along[:, 1], along[:, 0]], axis=1) * glyphs.extent[places][:, None]
    return advance, down


def _by_setting(glyphs: Glyphs, ink: Ink, among: Mask, pictured: Mask) -> Mask:
    """Returns the mask of the characters *among* in lines that nobody can read because their letters are squeezed.

    Lines count too if most letters have no reference pictures, and cover one another or lie in noise.
    """
    letters = glyphs.solid & among
    if letters.sum() < FEW:
        return np.zeros(len(letters), dtype=bool)
    lines = int(glyphs.line[-1]) + 1
    count = np.bincount(glyphs.line[letters], minlength=lines)
    size = glyphs.box[:, 2:] - glyphs.box[:, :2]
    width, height = (np.bincount(glyphs.line, letters * size[:, side], minlength=lines) for side in (0, 1))
    upright = np.bincount(glyphs.line, letters & glyphs.even, minlength=lines) > 0
    whole = upright & (width < NARROW * height)
    other = letters & ~pictured
    if other.sum() >= FEW:
        bad = other & (overlaid(glyphs, other) | (ink.rough(glyphs.box, NOISE) > NOISY))
        whole |= np.bincount(glyphs.line, bad, minlength=lines) > MOST * np.maximum(count, 1)
    return (whole & (count >= FEW))[glyphs.line] & among


def overlaid(glyphs: Glyphs, letters: Mask) -> Mask:
    """Returns the mask of those *letters* that collide with another letter.

    Two letters collide if they overlap by more than `SHARED` of the narrower one's width. Their base lines must also be
    less than `CLOSE` of the smaller font size apart. Superscripts stand beside a letter and do not collide.

    A word that is printed twice in one place is bold print; its equal letters do not collide. If equal letters belong
    to different words, only the letter of the shorter word collides. Each letter is compared with at most `REACH`
    others of its row, so that the time grows in proportion to the letters.
    """
    out = np.zeros(len(letters), dtype=bool)
    places = np.flatnonzero(letters & glyphs.even & (glyphs.extent >= SMALL_PRINT))
    if len(places) < 2:
        return out
    places = places[np.argsort(glyphs.origin[places, 0], kind="stable")]
    left, right = glyphs.box[places, 0], glyphs.box[places, 2]
    base, size = glyphs.origin[places, 1], glyphs.extent[places]
    code = np.fromiter((ord(glyphs.text[index]) for index in places), dtype=np.int64, count=len(places))
    word, length = _spelling(glyphs, letters, places)
    row = np.floor(base / ROW).astype(np.int64)
    for shift in (0, 1):
        order = np.lexsort((left, (row + shift) // 2))
        band = ((row + shift) // 2)[order]
        for step in range(1, REACH + 1):
            first, second = order[:-step], order[step:]
            both = np.minimum(right[first], right[second]) - np.maximum(left[first], left[second])
            width = np.minimum(right[first] - left[first], right[second] - left[second])
            met = (band[:-step] == band[step:]) & (both > SHARED * np.maximum(width, 0.01))
            if not met.any():
                break
            met &= np.abs(base[first] - base[second]) < CLOSE * np.minimum(size[first], size[second])
            apart = code[first] != code[second]
            bold = ~apart & (word[first] == word[second])
            out[places[first[met & ~bold & (apart | (length[first] <= length[second]))]]] = True
            out[places[second[met & ~bold & (apart | (length[second] <= length[first]))]]] = True
    return out


def _spelling(glyphs: Glyphs, letters: Mask, places: Whole) -> tuple[Whole, Whole]:
    """Returns a number for the spelling of the word of each letter at *places*, and how many *letters* the word has."""
    at = np.flatnonzero(letters)
    words = np.split(at, np.flatnonzero(np.diff(glyphs.word[at])) + 1)
    numbers: dict[str, int] = {}
    spelling = np.zeros(int(glyphs.word[-1]) + 1, dtype=np.int64)
    for word in words:
        text = "".join([glyphs.text[index] for index in word])
        spelling[glyphs.word[word[0]]] = numbers.setdefault(text, len(numbers))
    count = np.bincount(glyphs.word[at], minlength=len(spelling))
    return spelling[glyphs.word[places]], count[glyphs.word[places]]
