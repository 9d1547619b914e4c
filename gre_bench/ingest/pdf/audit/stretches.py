"""Widens masks of characters to whole words, and removes strays: a few marked letters among unmarked ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gre_bench.ingest.pdf.audit.glyphs import Glyphs, stands_for_letters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LETTERS = 6
"""The fewest letters of a stretch that counts as hidden by what is drawn around it."""

PIECES = 24
"""Letters of stray words on one page that are a passage in pieces; signs of formulas are single letters."""
PROSE, COMMON = 8, 0.3
"""Words that sentences have, and the share of COMMON_WORDS among them: labels of figures are names and numbers."""
COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a all also an and any are as at be but by can do for from has have he here his i if in is it its must no not "
        "of on only or she should so that the their them then there these they this to was we were what when which who "
        "will with would you your",
    )
)


def lettered(glyphs: Glyphs) -> NDArray[np.bool_]:
    """Returns a mask of the characters that are letters, or signs that a reader takes for letters, such as ⒜."""
    import numpy as np

    known = {sign: stands_for_letters(sign) for sign in set(glyphs.text)}
    return np.fromiter((known[sign] for sign in glyphs.text), dtype=bool, count=len(glyphs.text))


def by_word(glyphs: Glyphs, marked: NDArray[np.bool_], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns the mask *marked*, widened to whole words and limited to the mask *among*.

    A word is marked if *marked* marks at least half of its letters and digits. Signs between words are marked if the
    words on both sides are.
    """
    import numpy as np

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


def without_strays(glyphs: Glyphs, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns the mask *marked* without strays: stretches of fewer than `LETTERS` letters.

    A short stretch stays if *marked* marks at least 5 · `LETTERS` letters in its line.
    """
    import numpy as np

    marked = marked.copy()
    letters = lettered(glyphs)
    line = np.bincount(glyphs.line, marked & letters, minlength=int(glyphs.line[-1]) + 1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (marked | ~glyphs.solid).astype(np.int8), [0]])))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if letters[start:end][marked[start:end]].sum() < LETTERS and line[glyphs.line[start]] < 5 * LETTERS:
            marked[start:end] = False
    return marked


def prose(glyphs: Glyphs, places: NDArray[np.int64]) -> bool:
    """Whether the characters at the indices *places* form sentences.

    Sentences have at least `PROSE` words, of which a share of `COMMON` or more are common words.
    """
    words = [word for word in _words(glyphs, places) if word.isalpha()]
    return len(words) >= PROSE and sum(word in COMMON_WORDS for word in words) >= COMMON * len(words)


def lines_of_words(glyphs: Glyphs, places: NDArray[np.int64]) -> bool:
    """Whether most words at the indices *places* stand in lines of several long words, as in running text.

    *places* holds indices of characters. Labels of figures, in contrast, stand alone or are names and numbers. At least
    1.5 · `PROSE` long words are needed.
    """
    import numpy as np

    ends = np.flatnonzero(np.diff(glyphs.word[places])) + 1
    lines = glyphs.line[places[np.concatenate([[0], ends])]]
    long = [line for line, word in zip(lines, _words(glyphs, places), strict=True) if word.isalpha() and len(word) > 3]
    count = np.unique(long, return_counts=True)[1]
    together = int(count[count > 1].sum())
    return together >= 1.5 * PROSE and together >= 0.7 * len(long) and len(long) >= 0.5 * len(ends)


def text_of_strays(
    glyphs: Glyphs, strays: NDArray[np.bool_], surely: NDArray[np.bool_]
) -> NDArray[np.bool_]:  # fmt: skip
    """Returns the part of the mask *strays* that is text rather than single letters.

    If the strays form sentences, all of them are text. Otherwise, a word is text if it has at least two letters, all of
    which are in *surely*, the mask of surely hidden characters.
    """
    import numpy as np

    if not strays.any() or prose(glyphs, np.flatnonzero(strays)):
        return strays
    letters = lettered(glyphs)
    words = glyphs.word - glyphs.word[0]
    sure = np.bincount(words, strays & letters & surely)
    whole = (sure >= 2) & (sure == np.bincount(words, letters))
    return strays & whole[words]


def fragments(glyphs: Glyphs, strays: NDArray[np.bool_], least: int, in_all: int) -> NDArray[np.bool_]:
    """Returns the strays that belong to words made of strays alone.

    Such a word must have at least *least* letters. If these words have fewer than *in_all* letters together on the
    page, the mask is empty.
    """
    import numpy as np

    letters = lettered(glyphs)
    words = glyphs.word - glyphs.word[0]
    count = np.bincount(words, strays & letters)
    whole = (count >= least) & (count == np.bincount(words, letters))
    return strays & whole[words] if count[whole].sum() >= in_all else np.zeros(len(strays), dtype=bool)


def _words(glyphs: Glyphs, places: NDArray[np.int64]) -> list[str]:
    import numpy as np

    parts = np.split(places, np.flatnonzero(np.diff(glyphs.word[places])) + 1)
    return ["".join(glyphs.text[index] for index in part).strip(".,;:!?()\"' ").lower() for part in parts]
