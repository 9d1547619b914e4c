"""Compares the pictures of letters with those of common typefaces.

A letter is sampled from the rendered page and gets a rank. The rank is the share of the alphabet's other letters whose
reference pictures resemble it more than its own ones do. Readable letters have ranks near 0 (0.006 on average in
research papers). Letters that cannot be read have ranks of 1/2 on average. Such letters lie under overprints, slits or
noise, or their font draws something else.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    """Returns two indices: that of the alphabet of *character* in `ALPHABETS`, and that of the letter in the alphabet.

    Case, accents and mathematical style are ignored. A character of no alphabet gives -1, -1.
    """
    base = [part for part in unicodedata.normalize("NFKD", character) if not unicodedata.combining(part)]
    small = base[0].lower() if len(base) == 1 else ""
    for number, alphabet in enumerate(ALPHABETS):
        if len(small) == 1 and small in alphabet:
            return number, alphabet.index(small)
    return -1, -1


@cache
def references(alphabet: int, shifts: tuple[float, ...] = (0.0,), rows: int = ROWS) -> NDArray[np.float32]:
    """Returns reference pictures of an alphabet's letters: letters × variants × samples.

    The variants combine case, typeface, height and shift. *alphabet* is an index in `ALPHABETS`. *shifts* are distances
    to the right, in units of the font size, because typefaces place italics differently. Only the upper *rows* of
    samples are kept.
    """
    import numpy as np
    import pymupdf

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


def samples(
    picture: NDArray[np.uint8], origin: NDArray[np.float64], advance: NDArray[np.float64], down: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Returns the darkness, from 0 to 255, of n letters in a grey *picture* (height × width) at ROWS × COLUMNS points.

    The result is n × (ROWS · COLUMNS), row by row. Values between pixels are interpolated linearly. All other arguments
    are n × 2, in pixels:

    - *origin*: the left end of each letter's base line.
    - *advance*: the vector along the line to the next letter.
    - *down*: the vector downwards, as long as the font size.
    """
    import numpy as np

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
    """Returns the samples *values* (n × samples), scaled to mean 0 and norm 1 for each letter.

    The samples of a letter become 0 if almost nothing is drawn.
    """
    import numpy as np

    out = values - values.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", out, out))
    out /= np.maximum(norm, 1e-6)[:, None]
    out[norm < BLANK] = 0
    return out


def compared(
    values: NDArray[np.float32], alphabet: int, letter: NDArray[np.int64], shifts: tuple[float, ...] = (0.0,)
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Returns the rank (see the module) and the likeness of each of n letters.

    The likeness, from -1 to 1, is the highest correlation of the letter's samples with a reference of the same letter.
    The rank of a blank picture is 1/2.

    - *values*: the normal samples of the letters (n × samples).
    - *alphabet*: the index of their alphabet in `ALPHABETS`.
    - *letter*: their indices in the alphabet.
    - *shifts*: the shifts of the references, as in `references`.
    """
    import numpy as np

    against = references(alphabet, shifts, values.shape[1] // COLUMNS)
    letters, variants, size = against.shape
    alike = (values @ against.reshape(-1, size).T).reshape(len(values), letters, variants).max(axis=2)
    own = alike[np.arange(len(values)), letter]
    rank = (alike > own[:, None]).sum(axis=1) / (letters - 1)
    rank[~values.any(axis=1)] = 0.5
    return rank, own


def surplus(rank: NDArray[np.float64], likeness: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns for each letter the evidence that it is unreadable: about the log of the odds, from -3.5 to 4.5.

    *rank* and *likeness* are those of `compared`. The function was fitted to two sets of letters. In research papers,
    92% have rank 0, and the mean likeness is 0.88. Among overprinted letters, 10% have rank 0, and the mean likeness is
    0.6.
    """
    import numpy as np

    by_rank = np.select([rank == 0, rank <= SECOND], [-2.0, 1.0], 2.5)
    return by_rank + np.interp(likeness, (0.4, 0.6, 0.7, 0.8, 0.9), (2.0, 1.5, 0.8, -0.4, -1.5))
