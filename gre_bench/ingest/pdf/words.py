"""Counts the fate of every word on the pages of a PDF: kept, hidden, or dropped by a named rule.

A word is a piece of an extracted line between white space, with at least one letter or digit. A word is hidden if none
of its letters and digits is visible. The counts of a page add up to all of its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Fate = Literal[
    "kept", "hidden", "turned", "line numbers", "page numbers", "headers and footers", "sidebar", "footnote marks",
    "table of contents", "front matter", "figures and tables", "scraps", "references", "appendices", "unaccounted",
]  # fmt: skip
MEANING: dict[Fate, str] = {
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
EXPLAINED: frozenset[str] = frozenset(["references", "appendices", "table of contents", "front matter"])
"""Fates that may take all words of a page without raising a doubt."""
FULL_PAGE = 20
"""How many words of a page must not all be dropped without a reason."""
SHORT_BODY = 1000
"""The fewest words of a body if most of a file's words are dropped; half of them for a short file."""
LEAST_SHARE = 1 / 8
"""The lowest share of all words that a paper's body has, however long its appendices."""


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one page by fate, {fate: how many}; *page* is the number in the file, from 1, or 0 without pages."""

    page: int
    words: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of all extracted words of the page."""
        return sum(self.words.values())


def totals(pages: Iterable[PageWords]) -> dict[Fate, int]:
    """Returns {fate: how many words} for all *pages* together, in the order of `MEANING`."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(page.words)
    return {fate: counts[fate] for fate in MEANING if counts[fate]}


def doubts(pages: Sequence[PageWords]) -> list[str]:
    """Returns the reasons why the kept text of *pages* may lack parts of the paper, one line each."""
    words = totals(pages)
    kept, every = words.get("kept", 0), _text(words)
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
        if not page.words.get("kept") and _text(page.words) >= max(FULL_PAGE, 2 * explained + 1):
            reasons.append(f"page {page.page} lost all of its {page.total:,} words ({worst}: {page.words[worst]:,})")
    return reasons


def _text(words: Mapping[Any, int]) -> int:
    """Returns how many words *words* ({fate: how many}) counts, apart from line numbers and page numbers."""
    return sum(count for fate, count in words.items() if fate not in ("line numbers", "page numbers"))


def ranges(numbers: Iterable[int]) -> str:
    """Returns the rising *numbers* as a text such as ``1-3, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
