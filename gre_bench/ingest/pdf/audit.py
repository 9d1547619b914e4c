"""Finds hidden text, text outside the page contents (annotations, form fields), and instructions in a PDF.

Each text that is found is a finding (`SuspectText`). An instruction is a passage that instructs a paper's reviewers, or
the language models that review the paper. A rule is a named pattern that finds instructions. The rules of `ANYWHERE`
apply to any text. They are strict, because papers about language models contain many commands to a model. The rules of
`UNSEEN` are looser: a command alone suffices. They apply only to text that no reader sees.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf

from gre_bench.core.resources import load_patterns
from gre_bench.ingest.pdf.hidden import Glyphs, PageVisibility, build_text_page, detect_hidden_text, read_glyphs
from gre_bench.ingest.pdf.text import SuspectText, reveal_invisible_characters, round_box

LONGEST = 2000
"""At most this many characters of a finding's text are kept."""
SIGNS = 8
"""At least this many zero-width characters on a page can carry a message; fewer are removed without a finding."""


def audit_page(
    page: Any, number: int, faults: tuple[type[Exception], ...]
) -> tuple[PageVisibility, list[SuspectText], list[str]]:
    """Returns (what a reader sees of *page*, its findings, notes on checks that raised one of *faults*)."""
    sight = detect_hidden_text(page, number)
    findings, notes = [], []
    invisible = sum(finding.text.count("\\u{") for finding in sight.findings if finding.kind == "zero_width")
    for finding in sight.findings:
        telling = any(map(str.isalpha, finding.text.replace("\\u{", "")))
        if finding.kind != "zero_width" or invisible >= SIGNS or (telling and "\\u{" not in finding.text):
            findings.append(finding)
    for look in (lambda: find_annotations(page, number), lambda: find_replacement_texts(page, number, sight.glyphs)):
        try:
            findings += look()
        except faults as error:
            reason = " ".join(str(error).split())[:120]
            notes.append(f"page {number}: annotations or replacements cannot be read: {reason}")
    findings = [label_finding(finding) for finding in findings]
    return sight, findings + _find_visible_instructions(sight, number), notes


def label_finding(finding: SuspectText) -> SuspectText:
    """Returns *finding* with its text truncated to `LONGEST` characters and the name of the first rule it matches."""
    passages = find_instructions(" ".join(finding.text.split()), unseen=True)
    text = finding.text if len(finding.text) <= LONGEST else f"{finding.text[:LONGEST]}…"
    return replace(finding, text=text, instructs=passages[0].rule if passages else None)


def _find_visible_instructions(sight: PageVisibility, number: int) -> list[SuspectText]:
    """Returns a finding for each passage of the visible text of page *number* that instructs reviewers or models."""
    text, places = _join_visible_text(sight.glyphs, sight.hidden | sight.copies)
    findings = []
    for passage in find_instructions(text):
        inside = [index for index in places[passage.start : passage.end] if index is not None]
        box = sight.glyphs.compute_box(inside)
        findings.append(SuspectText("instruction", number, box, text[passage.start : passage.end], passage.rule))
    return findings


def _join_visible_text(glyphs: Glyphs, unread: Any) -> tuple[str, list[int | None]]:
    """Returns (the page's text as one line, the index in *glyphs* of each of its characters).

    *unread*: the mask of the characters to leave out. A word that is hyphenated at a line break is joined. The space
    that replaces a line break has the index None.
    """
    text: list[str] = []
    places: list[int | None] = []
    line, lines = None, glyphs.line.tolist()
    for index in np.flatnonzero(~unread).tolist():
        letter = glyphs.text[index]
        if line is not None and lines[index] != line:
            if len(text) > 1 and text[-1] in "-\u00ad" and text[-2].isalpha():
                text.pop()
                places.pop()
            else:
                text.append(" ")
                places.append(None)
        line = lines[index]
        if not letter.isspace():
            text.append(letter)
            places.append(index)
        elif not text or text[-1] != " ":
            text.append(" ")
            places.append(index)
    return "".join(text), places


LEAST = 12
"""A replacement text (ActualText) is what a program reads in place of the shown text. It is reported if it adds at
least this many letters; for a ligature or a hyphen, it adds fewer."""
REPLACED = re.compile(rb"ActualText|/[^\s/<>]+\s*/[^\s/<>]+\s+BDC")
"""Matches a part of a page that has a replacement text, or properties in another object that may contain one."""


def find_annotations(page: Any, number: int) -> list[SuspectText]:
    """Returns a finding for each annotation and form field of *page* that contains text, whether or not it is shown."""
    findings = []
    for note in page.annots() or ():
        text = " ".join(part for part in (note.info.get("subject"), note.info.get("content")) if part)
        if text.strip():
            findings.append(_make_finding("annotation", number, note.rect, text))
    for field in page.widgets() or ():
        if str(field.field_value or "").strip() and field.field_type_string in ("Text", "ComboBox", "ListBox"):
            findings.append(_make_finding("annotation", number, field.rect, str(field.field_value)))
    return findings


def find_replacement_texts(page: Any, number: int, glyphs: Glyphs) -> list[SuspectText]:
    """Returns at most one finding: the words that occur only in the replacement texts of *page* (see `LEAST`).

    *glyphs*: the characters of the page.
    """
    streams = [page.read_contents(), *(page.parent.xref_stream(form[0]) or b"" for form in page.get_xobjects())]
    if not any(REPLACED.search(stream) for stream in streams):
        return []
    texts = (
        glyphs.join_characters(range(len(glyphs.text))),
        str(build_text_page(page, apply_actual_text=True).extractText()),
    )
    plain, followed = (re.findall(r"[^\W\d_]+", text) for text in texts)
    if not Counter(followed) - Counter(plain):
        return []
    changes = SequenceMatcher(None, plain, followed, autojunk=False).get_opcodes()
    added = [followed[start:end] for change, _, _, start, end in changes if change in ("insert", "replace")]
    text = " ".join(" ".join(words) for words in added if sum(map(len, set(words))) >= LEAST)
    return [_make_finding("actual_text", number, page.rect, text)] if text else []


def find_text_in_hidden_layers(data: bytes, document: Any, most: int) -> list[SuspectText]:
    """Returns one finding per page with text in layers that are switched off when the file is opened.

    *document*: the opened PDF *data*. *most*: how many pages, from the first, are searched.
    """
    if all(read_layer_states(document).values()):
        return []
    findings = []
    with pymupdf.open(stream=data, filetype="pdf") as closed:
        closed.xref_set_key(closed.pdf_catalog(), "OCProperties/D", "<</BaseState/ON>>")
        opened = closed.tobytes()
    with pymupdf.open(stream=opened, filetype="pdf") as other:
        for number in range(min(document.page_count, most)):
            shown, all_of = read_glyphs(document[number]), read_glyphs(other[number])
            extra = Counter(all_of.list_characters_with_origins()) - Counter(shown.list_characters_with_origins())
            places = []
            for index, key in enumerate(all_of.list_characters_with_origins()):
                if extra[key] > 0:
                    extra[key] -= 1
                    places.append(index)
            text = all_of.join_characters(places)
            if text.strip():
                findings.append(_make_finding("hidden_layer", number + 1, all_of.compute_box(places), text))
    return findings


def _make_finding(kind: Any, number: int, box: Any, text: str) -> SuspectText:
    return SuspectText(kind, number, round_box(box), reveal_invisible_characters(text.strip()))


def read_layer_states(document: Any) -> dict[int, bool]:
    """Returns {object number of a layer: whether the layer is on when *document* is opened}."""
    groups = document.get_ocgs()
    if not groups:
        return {}
    given = document.get_layer(-1)
    base = given.get("basestate") != "OFF"
    return {xref: (base or xref in given.get("on", ())) and xref not in given.get("off", ()) for xref in groups}


HIDDEN, ORDER = (0.85, 0.05, 0.1), (0.95, 0.55, 0.0)
"""The colours of frames: red for hidden text, orange for instructions."""


def draw_findings(data: bytes, findings: Iterable[SuspectText], folder: Path, dpi: int) -> list[str]:
    """Writes a picture of each page with findings into *folder*, and returns the names of the files.

    Each finding gets a frame and a number, from 1. The frame of a finding outside the page is at the page's edge. *dpi*
    is lowered for huge pages.
    """
    by_page: defaultdict[int, list[tuple[int, SuspectText]]] = defaultdict(list)
    for number, finding in enumerate(findings, 1):
        by_page[finding.page].append((number, finding))
    names = []
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for page_number, listed in sorted(by_page.items()):
            page = document[page_number - 1]
            scale = min(dpi / 72, (12e6 / max(page.rect.width * page.rect.height, 1.0)) ** 0.5)
            picture = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
            name = f"page-{page_number:03d}.png"
            _draw_frames(picture, scale, listed).save(folder / name)
            names.append(name)
    return names


def _draw_frames(picture: pymupdf.Pixmap, scale: float, listed: list[tuple[int, SuspectText]]) -> pymupdf.Pixmap:
    """Returns *picture* with a frame around each finding. *listed*: (number, finding) pairs. *scale*: pixels per point.

    The frames are drawn on a new page, because the original page's own transformations could displace them.
    """
    with pymupdf.open() as sheet:
        width, height = picture.width / scale, picture.height / scale
        page = sheet.new_page(width=width, height=height)
        page.insert_image(page.rect, pixmap=picture)
        for number, finding in listed:
            color = HIDDEN if finding.hidden else ORDER
            left, top, right, bottom = finding.box
            x0, x1 = (min(max(side, 2.0), width - 2) for side in (left - 2, right + 2))
            y0, y1 = (min(max(side, 2.0), height - 2) for side in (top - 2, bottom + 2))
            page.draw_rect((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)), color=color, width=1.0)
            page.insert_text((max(x0 - 10, 1), max(y0 + 6, 8)), str(number), fontsize=8, color=color)
        return page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)


_RULES = load_patterns("instructions")
ANYWHERE, UNSEEN = (
    {name: re.compile(pattern, re.I | re.X) for name, pattern in _RULES[table].items()}
    for table in ("anywhere", "unseen")
)


@dataclass(frozen=True, slots=True)
class InstructionPassage:
    rule: str
    start: int
    end: int


def find_instructions(text: str, *, unseen: bool = False) -> list[InstructionPassage]:
    """Returns the passages of *text* that instruct reviewers or models, without overlaps.

    *unseen*: whether *text* is hidden, so that the looser rules apply too.
    """
    rules = ANYWHERE | UNSEEN if unseen else ANYWHERE
    matches = [InstructionPassage(name, *match.span()) for name, rule in rules.items() for match in rule.finditer(text)]
    passages: list[InstructionPassage] = []
    for passage in sorted(matches, key=lambda passage: (passage.start, -passage.end)):
        if not passages or passage.start >= passages[-1].end:
            passages.append(passage)
    return passages
