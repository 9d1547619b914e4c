"""Finds letters that are drawn but cannot be read.

Letters are compared with reference pictures of common typefaces. An alphabet without reference pictures is judged by
the positions and sizes of its letters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gre_bench.ingest.pdf.audit.glyphs import LETTERS, Floats, Glyphs, Mask, Whole, by_word, without_strays
from gre_bench.ingest.pdf.audit.ink import (
    ALPHABETS,
    COLUMNS,
    ROWS,
    SHIFTS,
    UPPER,
    Ink,
    compared,
    letter_of,
    normal,
    surplus,
)

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
    """The n letters of a page that have reference pictures.

    - *places*: the letters' indices among the page's characters.
    - *alphabet*, *letter*: the index of each letter's alphabet in `ALPHABETS`, and the letter's index there.
    - *unit*: the number of the unit that the letter is judged in: a word, or several short words together.
    - *line*: the number of the letter's line.
    - *origin*: the left end of the letter's base line (n × 2, in points).
    - *sides*: the letter's advance along the line and its size downwards (vectors, n × 2 each, in points).
    - *pictured*: the mask of these letters among all characters of the page.
    """

    places: Whole
    alphabet: Whole
    letter: Whole
    unit: Whole
    line: Whole
    origin: Floats
    sides: tuple[Floats, Floats]
    pictured: Mask

    @classmethod
    def from_glyphs(cls, glyphs: Glyphs, among: Mask) -> _Letters:
        known = {character: letter_of(character) for character in set(glyphs.text)}
        both = np.array([known[character] for character in glyphs.text], dtype=np.int64).reshape(-1, 2)
        pictured = among & (both[:, 0] >= 0) & (glyphs.extent >= SMALL_PRINT)
        places = np.flatnonzero(pictured)
        return cls(
            places, both[places, 0], both[places, 1], _units(glyphs, places), glyphs.line[places],
            glyphs.origin[places], _sides(glyphs, places), pictured,
        )  # fmt: skip

    def boxes(self) -> Floats:
        """Returns each letter's box, from its base line upwards (n × 4, in points)."""
        advance, down = self.sides
        corners = np.stack([self.origin, self.origin + advance, self.origin - down, self.origin + advance - down])
        return np.concatenate([corners.min(axis=0), corners.max(axis=0)], axis=1)

    def compared(self, shape: NDArray[np.float32], shifts: tuple[float, ...]) -> tuple[Floats, NDArray[np.float32]]:
        """Returns rank and likeness (see `ink.compared`) of each letter, by its normal samples *shape*."""
        rank, likeness = np.zeros(len(shape)), np.zeros(len(shape), dtype=np.float32)
        for number in range(len(ALPHABETS)):
            members = np.flatnonzero(self.alphabet == number)
            if len(members):
                rank[members], likeness[members] = compared(shape[members], number, self.letter[members], shifts)
        return rank, likeness

    def some(self, chosen: Mask) -> _Letters:
        advance, down = self.sides
        return _Letters(
            self.places[chosen], self.alphabet[chosen], self.letter[chosen], self.unit[chosen], self.line[chosen],
            self.origin[chosen], (advance[chosen], down[chosen]), self.pictured,
        )  # fmt: skip


def _disguised(glyphs: Glyphs, among: Mask) -> Mask:
    """Returns the mask of the signs that stand for letters within words, such as U+249C (a letter in brackets).

    Their shapes cannot be compared, because the typefaces of the references lack them.
    """
    signs = {sign for sign in set(glyphs.text) if not sign.isalnum() and letter_of(sign)[0] < 0}
    other = among & glyphs.solid & np.fromiter((sign in signs for sign in glyphs.text), dtype=bool, count=len(among))
    if other.sum() < LETTERS:
        return np.zeros(len(among), dtype=bool)
    return other & (np.bincount(glyphs.word, other)[glyphs.word] >= SHORT)


def unlike(glyphs: Glyphs, ink: Ink, among: Mask) -> Mask:
    """Returns the mask of the recognised characters (*among*) that are not what a scan shows in their place.

    Words of a line are grouped until a group has `WINDOW` letters. Each group is judged by the mean rank of its letters
    (see `ink`). Recognised letters never lie exactly on the writing, so even correct ones have a mean rank of 0.01 to
    0.21 on a page.
    """
    letters = _Letters.from_glyphs(glyphs, among)
    out = np.zeros(len(among), dtype=bool)
    if not len(letters.places):
        return out
    rank, _ = letters.compared(normal(ink.letters(letters.origin, *letters.sides, channel=MEAN)), SHIFTS)
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
    new[1:] = (glyphs.line[places[1:]] != glyphs.line[places[:-1]]) | (
        (word[1:] != word[:-1]) & ~(short[1:] & short[:-1])
    )
    return np.cumsum(new)


def _unread(letters: _Letters, ink: Ink, closely: bool) -> Mask:
    """Returns for each of *letters* whether its unit (see `_Letters`) is unreadable.

    If *closely*, units that seem unreadable are compared in further ways: as light letters on dark ground, in each
    colour, without the rows that an underline may cover, and shifted as in other typefaces. A unit that can be read in
    one of these ways is readable.
    """
    out = np.ones(len(letters.places), dtype=bool)
    looks = product((MEAN, *EACH), (1, -1), (ROWS, UPPER)) if closely else [(MEAN, 1, ROWS)]
    for channel, sign, rows in looks:
        some = letters.some(out)
        if not len(some.places):
            break
        unit = np.unique(some.unit, return_inverse=True)[1]
        seen = ink.letters(some.origin, *some.sides, channel=channel)[:, : rows * COLUMNS]
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
        little = np.bincount(unit, np.hypot(*some.sides[1].T)) < LITTLE * np.bincount(unit)
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


def _strange_stretches(
    letters: _Letters, unit: Whole, strange: Mask, rank: Floats,
    odds: Floats,
) -> Mask:  # fmt: skip
    """Returns for each unit whether it belongs to an unreadable stretch: a run of *strange* units in one line.

    Its letters have a high mean rank and a high sum of log odds (see `ink`).
    """
    line = np.zeros(len(strange), dtype=np.int64)
    line[unit] = letters.line
    new = np.ones(len(strange), dtype=np.int64)
    new[1:] = (line[1:] != line[:-1]) | (strange[1:] != strange[:-1])
    stretch = (np.cumsum(new) - 1)[unit]
    strange_stretch = (np.bincount(stretch, rank) > STRANGE * np.bincount(stretch)) & (
        np.bincount(stretch, odds) > 2 * ODDS
    )
    return strange_stretch[np.cumsum(new) - 1]


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
    """Returns the mask of the characters *among* in lines that cannot be read because of how their letters are placed.

    The letters are squeezed; or most have no reference pictures, and they cover one another or lie in noise.
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
