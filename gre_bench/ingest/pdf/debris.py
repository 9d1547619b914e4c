"""What is left of formulas and tables once they are flattened to lines: scraps that no reader can use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.ingest.pdf.paragraphs import Paragraph
from gre_bench.ingest.pdf.rows import Row

WORD = re.compile(r"[^\W\d_]{3,}")
FUNCTIONS = frozenset(["min", "max", "sup", "inf", "arg", "argmin", "argmax", "exp", "log", "sin", "cos", "tan", "det",
                       "lim", "end", "for", "mod", "dim", "var", "cov"])  # fmt: skip
"""What looks like a word in a formula or in the last line of an algorithm's loop."""
BRACKET_PIECES = re.compile("[\uf8e5-\uf8ff]")
SHORT = 40
"""Characters of a line without words that is no use by itself; a longer one may be a whole formula."""
FIGURES = 8
"""Numbers in a paragraph of which most words are numbers: a table's rows."""


def without_debris(parts: Sequence[Paragraph]) -> tuple[list[Paragraph], list[Row]]:
    """*parts* without the running paragraphs that are scraps, and the rows that went with them."""
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
