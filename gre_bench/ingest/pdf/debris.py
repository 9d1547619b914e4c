"""Removes scraps: pieces of formulas and tables that were extracted as lines of text and that no reader can use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.ingest.pdf.paragraphs import Paragraph
from gre_bench.ingest.pdf.rows import Row

WORD = re.compile(r"[^\W\d_]{3,}")
FUNCTIONS = frozenset(["min", "max", "sup", "inf", "arg", "argmin", "argmax", "exp", "log", "sin", "cos", "tan", "det",
                       "lim", "end", "for", "mod", "dim", "var", "cov"])  # fmt: skip
"""Names of functions that look like words in a formula, and words that end an algorithm's loop."""
BRACKET_PIECES = re.compile("[\uf8e5-\uf8ff]")
SHORT = 40
"""The most characters of a useless line without words; a longer one may be a whole formula."""
FIGURES = 8
"""How many numbers make a paragraph of mostly numbers the rows of a table."""


def without_debris(parts: Sequence[Paragraph]) -> tuple[list[Paragraph], list[Row]]:
    """Removes text paragraphs that are scraps (see the module); returns the others and the rows of the removed ones."""
    out = [part.kind == "text" and _is_debris(part) for part in parts]
    kept = [part for part, scrap in zip(parts, out, strict=True) if not scrap]
    return kept, [row for part, scrap in zip(parts, out, strict=True) if scrap for row in part.rows]


def _is_debris(part: Paragraph) -> bool:
    text = " ".join(row.text for row in part.rows)
    words = [word for word in WORD.findall(text) if word.lower() not in FUNCTIONS]
    if not words and (len(text) <= SHORT or BRACKET_PIECES.search(text)):
        return True
    tokens = text.split()
    figures = sum(re.fullmatch(r"[-−+±@]?[\d.,]+%?\*?", token) is not None for token in tokens)
    return figures >= FIGURES and figures > 0.6 * len(tokens)
