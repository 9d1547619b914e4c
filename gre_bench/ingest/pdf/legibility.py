"""Letters that are drawn and cannot be read: squeezed, skewed, on one another, or in noise."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from gre_bench.ingest.pdf.audit.glyphs import Glyphs
from gre_bench.ingest.pdf.audit.ink import Ink

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW = 16
"""Letters of a line of which something can be said."""
MOST = 0.75
"""Share of the letters of a line that must be so for all of it to be unreadable."""
NARROW = 0.09
"""Mean width of the letters of a line, in units of their height, below which nobody reads them."""
SLANTED = 3.0
"""Width of the box of one letter, in units of its size, from which it is a slanting stroke."""
NEAR = 0.15
"""Distance of the middles of two letters, in units of their size, at which they stand on one another."""
SMALL_PRINT = 3.0
"""Points of type below which letters of figures may meet: they are no text anyhow."""
NOISE, NOISY = 60, 0.4
"""Steps of 255 between neighbouring pixels of the ground, and the share of such pixels on which no letter is read."""


def illegible(glyphs: Glyphs, ink: Ink, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which characters, of lines of those *among* the page's, are drawn so that no reader makes them out."""
    import numpy as np

    letters = glyphs.solid & among
    if letters.sum() < FEW:
        return np.zeros(len(letters), dtype=bool)
    lines = int(glyphs.line[-1]) + 1
    count = np.bincount(glyphs.line[letters], minlength=lines)
    size = glyphs.box[:, 2:] - glyphs.box[:, :2]
    width, height = (np.bincount(glyphs.line, letters * size[:, side], minlength=lines) for side in (0, 1))
    upright = np.bincount(glyphs.line, letters & glyphs.even, minlength=lines) > 0
    slanted = glyphs.even & (size[:, 0] > SLANTED * np.maximum(glyphs.extent, 0.1))
    bad = letters & (slanted | overlaid(glyphs, letters) | (ink.rough(glyphs.box, NOISE) > NOISY))
    share = np.bincount(glyphs.line, bad, minlength=lines) / np.maximum(count, 1)
    whole = (share > MOST) | (upright & (width < NARROW * height))
    return (whole & (count >= FEW))[glyphs.line] & among


def overlaid(glyphs: Glyphs, letters: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those of *letters* on the middle of which that of another letter stands; the same letter twice is bold print."""
    import numpy as np

    out = np.zeros(len(letters), dtype=bool)
    places = np.flatnonzero(letters)
    places = places[glyphs.extent[places] >= SMALL_PRINT]
    middle = (glyphs.box[places, :2] + glyphs.box[places, 2:]) / 2
    reach = NEAR * np.maximum(glyphs.extent[places], 0.1)
    code = np.fromiter((ord(glyphs.text[place]) for place in places), dtype=np.int64, count=len(places))
    for shift in product((0.0, 1.0), repeat=2):
        cells = np.floor((middle + np.array(shift)) / 2).astype(np.int64)
        order = np.lexsort((cells[:, 0], cells[:, 1]))
        for step in (1, 2, 3):
            one, other = order[:-step], order[step:]
            near = (cells[one] == cells[other]).all(axis=1) & (code[one] != code[other])
            near &= np.abs(middle[one] - middle[other]).max(axis=1) < np.minimum(reach[one], reach[other])
            out[places[one[near]]] = out[places[other[near]]] = True
    return out
