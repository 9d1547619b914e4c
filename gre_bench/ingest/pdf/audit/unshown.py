"""Finds text of a PDF beyond the contents of its pages: annotations, layers switched off, and replacement texts."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Any

from gre_bench.ingest.pdf.audit.conforming import layers_on
from gre_bench.ingest.pdf.audit.findings import Finding, readable, rounded
from gre_bench.ingest.pdf.audit.glyphs import Glyphs, glyphs_of, shown_as

LEAST = 12
"""The fewest letters that a reported replacement adds; ligatures and hyphens are replaced by fewer."""


def annotated(page: Any, number: int) -> list[Finding]:
    """Returns a finding for each annotation and form field of *page* that has text.

    It does not matter whether the text is printed on the page or appears only on a click. *number* is the page's
    number, from 1.
    """
    findings = []
    for note in page.annots() or ():
        text = " ".join(part for part in (note.info.get("subject"), note.info.get("content")) if part)
        if text.strip():
            findings.append(_finding("annotation", number, note.rect, text))
    for field in page.widgets() or ():
        if str(field.field_value or "").strip() and field.field_type_string in ("Text", "ComboBox", "ListBox"):
            findings.append(_finding("annotation", number, field.rect, str(field.field_value)))
    return findings


def replacements(page: Any, number: int, glyphs: Glyphs) -> list[Finding]:
    """Returns at most one finding: the words that only the replacement texts (ActualText) of *page* contain.

    The page does not show these words, but programs that extract text read them. *number* is the page's number, from 1,
    and *glyphs* are the characters that it draws.
    """
    plain, followed = (_words(text) for text in (_lines(glyphs), shown_as(page)))
    if not Counter(followed) - Counter(plain):
        return []
    changes = SequenceMatcher(None, plain, followed, autojunk=False).get_opcodes()
    added = [followed[start:end] for change, _, _, start, end in changes if change in ("insert", "replace")]
    text = " ".join(" ".join(words) for words in added if sum(map(len, set(words))) >= LEAST)
    if not text:
        return []
    return [_finding("actual_text", number, page.rect, text)]


def layers(data: bytes, document: Any, most: int, conditional: bool = False) -> list[Finding]:
    """Returns a finding for each page with text in layers that are off when the file is opened.

    - *data*: the PDF.
    - *document*: the same PDF, opened and changed by `conform`.
    - *most*: how many pages are checked, from the first.
    - *conditional*: whether the PDF hides content by a condition on several layers, as `conform` found.
    """
    import pymupdf

    if not conditional and all(layers_on(document).values()):
        return []
    findings = []
    with pymupdf.open(stream=data, filetype="pdf") as closed:
        closed.xref_set_key(closed.pdf_catalog(), "OCProperties/D", "<</BaseState/ON>>")
        opened = closed.tobytes()
    with pymupdf.open(stream=opened, filetype="pdf") as other:
        for number in range(min(document.page_count, most)):
            shown, all_of = glyphs_of(document[number]), glyphs_of(other[number])
            extra = Counter(_keys(all_of)) - Counter(_keys(shown))
            places = []
            for index, key in enumerate(_keys(all_of)):
                if extra[key] > 0:
                    extra[key] -= 1
                    places.append(index)
            text = "".join(
                (" " if before is not None and all_of.line[index] != all_of.line[before] else "") + all_of.text[index]
                for before, index in zip([None, *places], places, strict=False)
            )
            if text.strip():
                sides = (*all_of.box[places, :2].min(axis=0), *all_of.box[places, 2:].max(axis=0))
                findings.append(_finding("hidden_layer", number + 1, sides, text))
    return findings


def _words(text: str) -> list[str]:
    """Returns the runs of letters in *text*, which digits, signs and control characters separate."""
    return re.findall(r"[^\W\d_]+", text)


def _keys(glyphs: Glyphs) -> list[tuple[str, float, float]]:
    origins = glyphs.origin.tolist()
    return [(letter, round(x, 1), round(y, 1)) for letter, (x, y) in zip(glyphs.text, origins, strict=True)]


def _lines(glyphs: Glyphs) -> str:
    """Returns the characters of *glyphs* as one text, with a space between lines."""
    parts = []
    for index, letter in enumerate(glyphs.text):
        if index and glyphs.line[index] != glyphs.line[index - 1]:
            parts.append(" ")
        parts.append(letter)
    return "".join(parts)


def _finding(kind: Any, number: int, box: Any, text: str) -> Finding:
    return Finding(kind, number, rounded(box), readable(text.strip()))
