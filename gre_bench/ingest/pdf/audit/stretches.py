"""What is found of single characters, widened to words and cleared of stray ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gre_bench.ingest.pdf.audit.glyphs import Glyphs

LETTERS = 6
"""Letters that a stretch must have to count as hidden by what is drawn around it."""
SCATTERED = 12
"""Letters that the short stretches of one colour on a page must have together to count as hidden."""


def by_word(glyphs: Glyphs, found: NDArray[np.bool_], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Characters of *among* in words of which at least half the letters are *found*; signs go with the words beside."""
    import numpy as np

    words = glyphs.word - glyphs.word[0]
    letters = np.bincount(words, glyphs.solid & among)
    share = np.bincount(words, found & glyphs.solid & among) / np.maximum(letters, 1)
    state = np.where(letters > 0, share >= 0.5, np.nan)
    lines = np.zeros(len(state), dtype=np.int64)
    lines[words] = glyphs.line
    whole = np.bincount(words, found & among) >= np.maximum(np.bincount(words, among), 1)
    for word in np.flatnonzero(np.isnan(state)):
        beside = [state[word - 1] if word and lines[word - 1] == lines[word] else np.nan]
        after = word + 1
        while after < len(state) and lines[after] == lines[word] and np.isnan(state[after]):
            after += 1
        beside.append(state[after] if after < len(state) and lines[after] == lines[word] else np.nan)
        known = [value for value in beside if not np.isnan(value)]
        state[word] = all(known) if known else whole[word]
    return (state[words] > 0) & among


def without_strays(
    glyphs: Glyphs, found: NDArray[np.bool_], colour: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """*found* without stretches of a few letters, except where there are many.

    Short stretches stay if their line has 30 found letters. Given *colour* (n × 3), they also stay if the short
    stretches of one colour on the page have `SCATTERED` letters together: words hidden one at a time. Single letters
    never count, as large signs of sums are often called letters.
    """
    import numpy as np

    found = found.copy()
    letters = np.fromiter(map(str.isalpha, glyphs.text), dtype=bool, count=len(found))
    line = np.bincount(glyphs.line, found & letters, minlength=int(glyphs.line[-1]) + 1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (found | ~glyphs.solid).astype(np.int8), [0]])))
    strays: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        inside = found[start:end]
        count = int(letters[start:end][inside].sum())
        if count < LETTERS and line[glyphs.line[start]] < 5 * LETTERS:
            key = () if colour is None or count < 2 else tuple(colour[start:end][inside][0].tolist())
            strays.setdefault(key, []).append((start, end, count))
    for key, stretches in strays.items():
        if not key or sum(count for _, _, count in stretches) < SCATTERED:
            for start, end, _ in stretches:
                found[start:end] = False
    return found
