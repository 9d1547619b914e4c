"""The result of reading a PDF: its text, its findings, and what became of every word. Also checks if data is a PDF.

The *fate* of a word says whether it was kept in the text, or else why it was removed (see `FATES`). A finding is text
that no reader sees, or a visible passage that instructs reviewers or models. A word is a piece of an extracted line
between white space, with at least one letter or digit. Scripts without spaces are cut into pieces of the usual length
of a word (see `PIECE`). A word is hidden if none of its letters and digits is visible. Each word of a page is counted
under exactly one fate, so these counts add up to the number of the page's words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

HAN = "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""The letters of Chinese and Japanese, for a regular expression's character class; a word has about two letters."""
THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""The letters of Thai, Lao, Burmese and Khmer; a word has about five letters."""
UNSPACED = HAN + THAI
PIECE = re.compile(rf"[{HAN}]{{1,2}}|[{THAI}]{{1,5}}|[^\s{UNSPACED}]+")
"""Matches a word: a piece between white space; in scripts without spaces, as many letters as a word usually has."""


def count_words(text: str) -> int:
    """Returns the number of words in *text*, as `PIECE` matches them."""
    return len(PIECE.findall(text))


Box = tuple[float, float, float, float]
Kind = Literal[
    "pale", "tiny", "transparent", "unpainted", "covered", "clipped", "off_page", "hidden_layer", "annotation",
    "zero_width", "packed", "illegible", "actual_text", "instruction",
]  # fmt: skip
WHAT_IS_FOUND: dict[Kind, str] = {
    "pale": "text in the colour of its ground",
    "tiny": "text too small to be seen",
    "transparent": "text without opacity",
    "unpainted": "text that is set but not painted (render mode 3 or 7)",
    "covered": "text under something drawn later",
    "clipped": "text of which nothing is painted (clipped, masked or blended away)",
    "off_page": "text outside the page",
    "hidden_layer": "text in a layer that is switched off",
    "annotation": "text of an annotation or form field",
    "zero_width": "characters without width (zero-width, direction or tag characters)",
    "packed": "many characters in the place of one",
    "illegible": "letters that cannot be read (only in texts of earlier versions)",
    "actual_text": "text said to stand for what is shown",
    "instruction": "a passage in plain sight that instructs reviewers or models",
}
TAGS = range(0xE0020, 0xE007F)
INVISIBLE = frozenset(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF, 0x180E]
) | frozenset([*range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0)])
"""Code points that draw nothing and do not affect the printed page; the soft hyphen is not among them."""


@dataclass(frozen=True, slots=True)
class SuspectText:
    """One hidden text, or one visible passage that instructs reviewers or models.

    *page*: the page's number in the file, from 1. *box*: x0, y0, x1, y1 in points from the top left of the page as
    shown; for ``actual_text``, the whole page. *text*: the hidden text or the passage. *instructs*: the name of the
    rule that recognises *text* as an instruction (see `audit`); None if no rule matches.
    """

    kind: Kind
    page: int
    box: Box
    text: str
    instructs: str | None = None

    @property
    def hidden(self) -> bool:
        """Whether this text is left out of the paper's extracted text."""
        return self.kind != "instruction"

    def line(self, letters: int = 160) -> str:
        """Returns the finding as one line; a text longer than *letters* characters is truncated."""
        shown = " ".join(self.text.split())
        shown = shown if len(shown) <= letters else f"{shown[:letters]}… ({len(shown)} characters)"
        order = f" [instruction: {self.instructs}]" if self.instructs and self.hidden else ""
        rule = f" ({self.instructs})" if not self.hidden else ""
        return f"page {self.page}: {WHAT_IS_FOUND[self.kind]}{rule}{order}: {shown!r}"


def round_box(sides: Iterable[float]) -> Box:
    """Returns the box *sides* (x0, y0, x1, y1 in points), rounded to tenths of a point."""
    x0, y0, x1, y1 = (round(float(side), 1) for side in sides)
    return x0, y0, x1, y1


def reveal_invisible_characters(text: str) -> str:
    r"""Returns *text* with invisible characters made visible.

    Tag characters become ASCII, white space becomes spaces, and others become escapes such as ``\u{200b}``.
    """
    letters = []
    for letter in text:
        code = ord(letter)
        if code in TAGS:
            letters.append(chr(code - 0xE0000))
        elif code in INVISIBLE or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Cn"):
            letters.append(" " if letter.isspace() else f"\\u{{{code:x}}}")
        else:
            letters.append(letter)
    return "".join(letters)


Fate = Literal[
    "kept", "hidden", "turned", "line numbers", "page numbers", "headers and footers", "sidebar", "footnote marks",
    "table of contents", "front matter", "figures and tables", "scraps", "references", "appendices", "unaccounted",
]  # fmt: skip
FATES: dict[Fate, str] = {
    "kept": "title, abstract and body",
    "hidden": "what no reader of the page sees",
    "turned": "lines that do not run as most of the page does",
    "line numbers": "numbers that count lines in a margin",
    "page numbers": "numbers that stand alone at the edge of pages",
    "headers and footers": "what recurs at the edges of pages, and notices of the publisher",
    "sidebar": "what a journal prints beside the column that all pages have",
    "footnote marks": "the small raised number of a footnote",
    "table of contents": "tables of contents, lists of figures and tables",
    "front matter": "authors, affiliations, keywords and notices around the abstract",
    "figures and tables": "cells and labels between a caption and the text",
    "scraps": "pieces of formulas and tables that hold no sentence",
    "references": "lists of references",
    "appendices": "what comes after the references, or after the heading of an appendix",
    "unaccounted": "words that no rule dropped and that are not in the text: a fault of the program",
}
"""Fate → what words with this fate are. Except ``kept`` and ``unaccounted``, a fate is a reason for removal."""
EXPLAINED: frozenset[str] = frozenset(["references", "appendices", "table of contents", "front matter"])
"""Reasons for which all words of a page may be removed without raising a doubt."""
FULL_PAGE = 20
"""A page of at least this many words raises a doubt if all are dropped, most for reasons not in `EXPLAINED`."""
SHORT_BODY = 1000
"""If most words of a file are dropped, fewer kept words than this raise a doubt; in a file of at most twice this many
words, fewer than half of this."""
LEAST_SHARE = 1 / 8
"""A smaller share of kept words raises a doubt, however long the appendices are."""


@dataclass(frozen=True, slots=True)
class PageWordCounts:
    """How many *words* of one page were kept, and how many were removed for each reason: {key of `FATES`: how many}.

    *page*: the page's number, from 1; 0 for a text without pages.
    """

    page: int
    words: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.words.values())


def sum_by_fate(pages: Iterable[PageWordCounts]) -> dict[Fate, int]:
    """Returns how many words of *pages* were kept, and how many were removed for each reason, in `FATES`' order."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(page.words)
    return {fate: counts[fate] for fate in FATES if counts[fate]}


def list_completeness_doubts(pages: Sequence[PageWordCounts]) -> list[str]:
    """Returns reasons, one line each, to doubt that the kept text of *pages* is complete.

    For example, most words were dropped, or all words of a page, most of them for reasons not in `EXPLAINED`.
    """
    words = sum_by_fate(pages)
    kept, every = words.get("kept", 0), _sum_words_except_numbering(words)
    before = every - words.get("references", 0) - words.get("appendices", 0)
    left = 0.5 * SHORT_BODY if every <= 2 * SHORT_BODY else SHORT_BODY
    reasons = []
    if words.get("unaccounted"):
        reasons.append(f"{words['unaccounted']} words are in no count: a fault of the program")
    if before >= FULL_PAGE and kept < 0.5 * before:
        reasons.append(f"most words are dropped: {kept:,} of the {before:,} before references and appendices are kept")
    elif every >= FULL_PAGE and kept < 0.5 * every and (kept < LEAST_SHARE * every or kept < left):
        reasons.append(f"most words are dropped: {kept:,} of {every:,} are kept; the rest is references and appendices")
    for page in pages:
        worst = max(page.words, key=page.words.__getitem__, default="kept")
        explained = sum(page.words.get(fate, 0) for fate in EXPLAINED)
        if not page.words.get("kept") and _sum_words_except_numbering(page.words) >= max(FULL_PAGE, 2 * explained + 1):
            reasons.append(f"page {page.page} lost all of its {page.total:,} words ({worst}: {page.words[worst]:,})")
    return reasons


def _sum_words_except_numbering(words: Mapping[Any, int]) -> int:
    """Returns the sum of *words* (key of `FATES` → how many), without line numbers and page numbers."""
    return sum(count for fate, count in words.items() if fate not in ("line numbers", "page numbers"))


def format_ranges(numbers: Iterable[int]) -> str:
    """Returns the ascending *numbers* as a text such as ``1-3, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


Status = Literal[
    "ok", "repaired", "doubtful", "truncated", "encrypted", "empty", "not_a_pdf", "scanned", "timeout", "crashed",
    "too_long",
]  # fmt: skip
"""How well a file could be read. All pages were read if the status is *ok*, *repaired* (the file is damaged) or
*doubtful* (see `list_completeness_doubts`). *truncated*: the file ends too early, or pages are lost. *empty*: no page
has text. *scanned*: the pages are pictures; any text is from text recognition. *crashed*: reading crashed or needed too
much memory. *too_long*: the file has more pages or bytes than are read.
"""
SOUND: frozenset[Status] = frozenset(["ok", "repaired"])
"""Statuses of files that were read completely."""
READABLE: frozenset[Status] = frozenset(["ok", "repaired", "doubtful", "scanned", "too_long"])
"""Statuses of files whose text can be given to candidates as the paper's text."""
SHOWN = 50


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text and findings of a PDF.

    *title*, *abstract*: None if not found. *text*: the body in reading order, one line per paragraph, heading or
    caption, with blank lines between. *pages*: how many pages were read. *words*: for each page, how many words were
    kept, and how many were removed for each reason. *characters*: how many characters these pages have. *hidden*: how
    many of these characters are hidden. *notes*: faults and doubts, one line each.
    """

    status: Status
    title: str | None = None
    abstract: str | None = None
    text: str = ""
    pages: int = 0
    words: tuple[PageWordCounts, ...] = ()
    characters: int = 0
    hidden: int = 0
    notes: tuple[str, ...] = ()
    findings: tuple[SuspectText, ...] = ()

    @property
    def usable(self) -> str | None:
        """The text to give to candidates; None if it is empty, or if its *status* is not one of `READABLE`."""
        return self.text or None if self.status in READABLE else None

    def format_remarks(self) -> list[str]:
        """Returns one line per note and per finding; after the first `SHOWN` findings, one line counts the others."""
        more = len(self.findings) - SHOWN
        lines = [*self.notes, *(finding.line() for finding in self.findings[:SHOWN])]
        return lines + ([f"{more} more findings; see gre-bench papers audit"] if more > 0 else [])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> PdfText:
        findings = [SuspectText(**finding | {"box": tuple(finding["box"])}) for finding in fields["findings"]]
        words = tuple(PageWordCounts(**page) for page in fields["words"])
        read: dict[str, Any] = {"words": words, "notes": tuple(fields["notes"]), "findings": tuple(findings)}
        return cls(**{**fields, **read})


MAGIC = b"%PDF-"
HEAD = 1024
"""At most this many bytes may precede the magic bytes, as PDF readers allow."""
TAIL = 2048
"""The end mark of a complete file must be within this many bytes of its end."""
LARGEST = 200_000_000
_OBJECT = re.compile(rb"\d\s+\d+\s+obj\b")
_LENGTH = re.compile(rb"/Linearized\b[^>]{0,200}?/L\s+(\d+)|/L\s+(\d+)[^>]{0,200}?/Linearized\b")


def explain_not_pdf(data: bytes) -> str | None:
    """Returns the reason why *data* is not a PDF; None if it may be a PDF."""
    if MAGIC not in data[:HEAD]:
        return "the file does not begin as a PDF does"
    return None if _OBJECT.search(data) else "the file begins as a PDF does but holds no object of one"


def explain_truncation(data: bytes) -> str | None:
    """Returns the reason why *data* seems to be only the beginning of a longer file; None if it seems complete."""
    declared = _LENGTH.search(data[:HEAD])
    if declared and int(declared[1] or declared[2]) > len(data):
        return f"the file has {len(data):,} of {int(declared[1] or declared[2]):,} bytes"
    return None if b"%%EOF" in data[-TAIL:] else "the end of the file is missing"
