"""Audits a page of a PDF: what a human sees of it, its hidden text, and passages that instruct reviewers or models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gre_bench.ingest.pdf.audit.findings import Finding, rounded
from gre_bench.ingest.pdf.audit.glyphs import Glyphs
from gre_bench.ingest.pdf.audit.hidden import Sight, look_at
from gre_bench.ingest.pdf.audit.instructions import instructions_in
from gre_bench.ingest.pdf.audit.unshown import annotated, replacements

LONGEST = 2000
"""The most characters of a finding's text that are kept."""
SIGNS = 8
"""From this many zero-width characters on a page, they can carry a message; fewer are removed without a finding."""


def audit_page(page: Any, number: int, faults: tuple[type[Exception], ...]) -> tuple[Sight, list[Finding], list[str]]:
    """Returns three results: what a reader sees of *page*, its findings, and notes on parts that could not be checked.

    *number* is the number of the page in the file, from 1. If annotations or replacement texts raise one of *faults*,
    the error becomes a note. Other errors are raised.
    """
    sight = look_at(page, number)
    findings, notes = [], []
    invisible = sum(finding.text.count("\\u{") for finding in sight.findings if finding.kind == "zero_width")
    for finding in sight.findings:
        telling = any(map(str.isalpha, finding.text.replace("\\u{", "")))
        if finding.kind != "zero_width" or invisible >= SIGNS or (telling and "\\u{" not in finding.text):
            findings.append(finding)
    for look in (lambda: annotated(page, number), lambda: replacements(page, number, sight.glyphs)):
        try:
            findings += look()
        except faults as error:
            reason = " ".join(str(error).split())[:120]
            notes.append(f"page {number}: annotations or replacements cannot be read: {reason}")
    findings = [judged(finding) for finding in findings]
    return sight, findings + _in_plain_sight(sight, number), notes


def judged(finding: Finding) -> Finding:
    """Returns *finding* with *instructs* set and its text cut to `LONGEST` characters.

    *instructs* becomes the name of the first rule that the text matches; None if it matches none.
    """
    passages = instructions_in(" ".join(finding.text.split()), unseen=True)
    text = finding.text if len(finding.text) <= LONGEST else f"{finding.text[:LONGEST]}…"
    return replace(finding, text=text, instructs=passages[0].rule if passages else None)


def _in_plain_sight(sight: Sight, number: int) -> list[Finding]:
    """Returns a finding for each passage of the visible text of page *number* that instructs reviewers or models."""
    text, places = _running(sight.glyphs, sight.hidden)
    findings = []
    for passage in instructions_in(text):
        inside = [index for index in places[passage.start : passage.end] if index is not None]
        boxes = sight.glyphs.box[inside]
        sides = (*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0))
        box = rounded(sides)
        findings.append(Finding("instruction", number, box, text[passage.start : passage.end], passage.rule))
    return findings


def _running(glyphs: Glyphs, hidden: Any) -> tuple[str, list[int | None]]:
    """Returns the visible text of a page as one line, and for each character of that line its index in *glyphs*.

    The mask *hidden* marks the characters to leave out. A word divided by a hyphen at a line's end is joined. A space
    that stands for a line's end has the index None.
    """
    text: list[str] = []
    places: list[int | None] = []
    line = None
    for index in (index for index in range(len(glyphs.text)) if not hidden[index]):
        if line is not None and glyphs.line[index] != line:
            if len(text) > 1 and text[-1] in "-\u00ad" and text[-2].isalpha():
                text.pop()
                places.pop()
            else:
                text.append(" ")
                places.append(None)
        line = glyphs.line[index]
        if not (glyphs.text[index].isspace() and text and text[-1] == " "):
            text.append(" " if glyphs.text[index].isspace() else glyphs.text[index])
            places.append(index)
    return "".join(text), places
