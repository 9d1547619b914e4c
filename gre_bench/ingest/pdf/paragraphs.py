"""Joins rows into paragraphs, and mends hyphens and ligatures.

A caption or footnote that interrupts a paragraph is moved behind the whole paragraph.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gre_bench.ingest.pdf.parts import (
    BULLET,
    KNOWN,
    NUMBER,
    Type,
    bare,
    follows,
    footnotes,
    goes_on,
    is_heading,
    starts_caption,
)
from gre_bench.ingest.pdf.rows import Row, decide

Kind = Literal["heading", "caption", "note", "text"]

MENDED: dict[int, str | None] = {ord(sign): unicodedata.normalize("NFKD", sign) for sign in "ﬀﬁﬂﬃﬄﬅﬆ"}
MENDED |= dict.fromkeys(range(32))
ENDED = re.compile(r"[.!?:;][\"'”’)\]]*$")
BROKEN = re.compile(r"([^\W\d_]+)[-\u00ad]$")
SMALL_WORDS = frozenset(
    ["a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "off", "on", "or", "out", "the", "to", "up", "with"]
)
FIRST_PARTS = frozenset([
    "cross", "few", "five", "four", "half", "high", "large", "long", "low", "non", "one", "self", "short", "six",
    "small", "state", "three", "two", "well", "zero",
])  # fmt: skip
"""First parts of compounds that are written with a hyphen more often than without."""
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(slots=True)
class Paragraph:
    """The rows of one paragraph of text, heading, caption or footnote (``note``)."""

    kind: Kind
    rows: list[Row]


def paragraphs(rows: Sequence[Row], text_type: Type, heights: Sequence[float]) -> list[Paragraph]:
    """Splits *rows*, in reading order, into paragraphs; *heights* are the heights of the pages, in points."""
    notes = footnotes(rows, text_type, heights)
    parts: list[Paragraph] = []
    current: Paragraph | None = None
    running: Paragraph | None = None
    above: Row | None = None
    for index, row in enumerate(rows):
        kind = _kind(row, above, text_type, index in notes)
        if current and _continues(current, kind, row, text_type):
            current.rows.append(row)
        elif running and kind == "text" and _resumes(running, current, row):
            running.rows.append(row)
            current = running
        else:
            current = Paragraph(kind, [row])
            parts.append(current)
            if kind in ("text", "heading"):
                running = current if kind == "text" else None
        above = row
    return parts


def words_of(rows: Sequence[Row]) -> Counter[str]:
    """Counts the words of *rows* in lower case, except words broken at a line's end; parts of a compound count too."""
    counts: Counter[str] = Counter()
    cut = False
    for row in rows:
        text = _plain(row.text).lower()
        for word in WORD.findall(BROKEN.sub("", WORD.sub("", text, count=1) if cut else text)):
            counts[word] += 1
            counts.update(word.split("-") if "-" in word else ())
        cut = BROKEN.search(text) is not None
    return counts


def joined(rows: Sequence[Row], words: Counter[str]) -> str:
    """Returns the text of *rows* as one line. Words broken at a line's end are mended by the paper's *words*."""
    text = ""
    for row in rows:
        piece = _plain(row.text)
        broken = BROKEN.search(text)
        if not text:
            text = piece
        elif text.endswith("\u00ad"):
            text = text[:-1] + piece
        elif broken and piece[:1].isalpha():
            text = text[:-1] + ("-" if _keeps_hyphen(text, piece, words) else "") + piece
        elif text.endswith(("-", "–", "/")) and not text.endswith((" -", " –", " /")):
            text += piece
        else:
            text = f"{text} {piece}"
    return text.replace("\u00ad", "")


def _plain(text: str) -> str:
    return " ".join(text.translate(MENDED).split())


def _keeps_hyphen(text: str, piece: str, words: Counter[str]) -> bool:
    """Whether the hyphen at the end of *text* stays when *piece*, the text of the next row, is joined to *text*.

    The word's more frequent spelling among *words* decides; if it occurs nowhere else, its two parts do.
    """
    before = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*-$", text)
    after = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*", piece)
    if not before or not after:
        return True
    left, right = before[0][:-1].lower(), after[0].lower()
    if piece[0].isupper() and not before[0][:-1].isupper():
        return True
    whole, hyphened = words[left + right], words[f"{left}-{right}"]
    if whole or hyphened:
        return hyphened > whole
    last, first = left.rsplit("-", 1)[-1], right.split("-", 1)[0]
    if len(last) == 1 or ("-" in left and last in SMALL_WORDS) or (first in SMALL_WORDS and first != right):
        return True
    if last in FIRST_PARTS and len(first) > 4:
        return True
    return words[first] > 0 and len(first) > 3 and ((words[last] > 0 and len(last) > 2) or len(last) > 5)


def _kind(row: Row, above: Row | None, text_type: Type, note: bool) -> Kind:
    if starts_caption(row, above, text_type):
        return "caption"
    if note:
        return "note"
    return "heading" if is_heading(row, above, text_type) else "text"


def _continues(current: Paragraph, kind: Kind, row: Row, text_type: Type) -> bool:
    """Whether *row*, which is of *kind*, continues the paragraph *current* directly above it."""
    last = current.rows[-1]
    if current.kind == "caption" and last is current.rows[0]:
        return kind != "caption" and goes_on(row, last, text_type)
    if not follows(row, last, text_type):
        return False
    if current.kind == "caption":
        return kind in ("text", "note")
    if current.kind == "heading":
        alike = row.bold == last.bold and abs(row.peak - last.peak) < 0.5 and row.text.isupper() == last.text.isupper()
        if KNOWN.fullmatch(bare(last.text)):
            return False
        marked = row.bold or row.peak > 1.06 * text_type.size or row.text.isupper()
        return alike and marked and not NUMBER.match(row.text)
    if current.kind != kind:
        return False
    if kind == "note":
        return not re.match(r"[\d*†‡§¶]{1,3}\s?[A-Z]", row.text)
    if BULLET.match(row.text) and (ENDED.search(last.text) or BULLET.match(current.rows[0].text)):
        return False
    listed = BULLET.match(current.rows[0].text) is not None and len(current.rows) == 1
    shift = (row.x0 - last.x0) / text_type.size
    if shift > 0.7 and not listed:
        return not ENDED.search(last.text) and row.text[:1].islower()
    if shift < -0.7 and len(current.rows) > 1:
        return not ENDED.search(last.text)
    short = last.x1 < last.right - 0.12 * (last.right - last.left)
    return not (short and ENDED.search(last.text) and row.text[:1].isupper() and last.filled < 0.85)


def _resumes(running: Paragraph, current: Paragraph | None, row: Row) -> bool:
    """Whether *row* continues *running* after a break of column or page, a caption or a footnote (*current*)."""
    last = running.rows[-1]
    if current is running and last.page_and_column == row.page_and_column:
        return False
    if BULLET.match(row.text) or abs(row.size - last.size) > 0.08 * last.size:
        return False
    if BROKEN.search(last.text):
        return True
    if row.text[:1].islower() or (not ENDED.search(last.text) and last.filled > 0.8):
        return True
    # A full line that ends a sentence may end the paragraph; the next line, if flush left, rarely opens another.
    full = last.x1 > last.right - 0.02 * (last.right - last.left)
    return (
        full
        and row.x0 < row.left + 0.5 * row.size
        and row.page_and_column != last.page_and_column
        and last.text[-1] != ":"
    )


LONG_WORD = re.compile(r"[^\W\d_]{3,}")
FUNCTIONS = frozenset(["min", "max", "sup", "inf", "arg", "argmin", "argmax", "exp", "log", "sin", "cos", "tan", "det",
                       "lim", "end", "for", "mod", "dim", "var", "cov"])  # fmt: skip
"""Names of functions that look like words in a formula, and words that end an algorithm's loop."""
BRACKET_PIECES = re.compile("[\uf8e5-\uf8ff]")
SHORT = 40
"""The most characters of a useless line without words; a longer one may be a whole formula."""
FIGURES = 8
"""How many numbers make a paragraph of mostly numbers the rows of a table."""


def drop_debris(parts: Sequence[Paragraph]) -> None:
    """Drops text paragraphs that are scraps: pieces of formulas and tables that no reader can use as lines of text."""
    for part in parts:
        if part.kind == "text" and _is_debris(part):
            decide(part.rows, "scraps")


def _is_debris(part: Paragraph) -> bool:
    text = " ".join(row.text for row in part.rows)
    words = [word for word in LONG_WORD.findall(text) if word.lower() not in FUNCTIONS]
    if not words and (len(text) <= SHORT or BRACKET_PIECES.search(text)):
        return True
    tokens = text.split()
    figures = sum(re.fullmatch(r"[-−+±@]?[\d.,]+%?\*?", token) is not None for token in tokens)
    return figures >= FIGURES and figures > 0.6 * len(tokens)
