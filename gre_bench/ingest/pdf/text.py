"""What reading a PDF returns, and whether bytes are a complete PDF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gre_bench.ingest.pdf.audit.findings import Finding
from gre_bench.ingest.pdf.words import PageWords

Status = Literal[
    "ok", "repaired", "doubtful", "truncated", "encrypted", "empty", "not_a_pdf", "scanned", "timeout", "crashed",
    "too_long",
]  # fmt: skip
MEANING: dict[Status, str] = {
    "ok": "all pages of a sound file were read",
    "repaired": "all pages were read, of a file that is damaged",
    "doubtful": "all pages were read, but most words are dropped, or a page without a reason",
    "truncated": "the file ends too early, or pages of it are lost",
    "encrypted": "a password is needed",
    "empty": "there is no text on any page",
    "not_a_pdf": "the file is something else",
    "scanned": "the pages are pictures; the text, if any, is that of text recognition",
    "timeout": "reading took too long",
    "crashed": "reading broke down or needed too much memory",
    "too_long": "the file has more pages or bytes than are read",
}
SOUND: frozenset[Status] = frozenset(["ok", "repaired"])
"""Statuses of files that were read completely."""
READABLE: frozenset[Status] = frozenset(["ok", "repaired", "doubtful", "scanned", "too_long"])
"""Statuses with which the text is the paper's, and can be given to candidates."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text and findings of a PDF.

    - *status*: how well the file could be read, a key of `MEANING`.
    - *title*, *abstract*: None if not found.
    - *text*: the body in reading order: one line for each paragraph, heading or caption, with a blank line between.
    - *pages*: how many pages were read.
    - *words*: for each page, how many words were kept, and how many were dropped for each reason.
    - *characters*: how many characters these pages have, of which *hidden* are hidden.
    - *notes*: faults and doubts, one line each.
    - *findings*: hidden text, and visible passages that instruct reviewers or models.
    """

    status: Status
    title: str | None = None
    abstract: str | None = None
    text: str = ""
    pages: int = 0
    words: tuple[PageWords, ...] = ()
    characters: int = 0
    hidden: int = 0
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def usable(self) -> str | None:
        """The text to give to candidates; None if *status* says that the text is not the paper's."""
        return self.text or None if self.status in READABLE else None

    def remarks(self, most: int = 50) -> list[str]:
        """Returns the notes and findings, one line each, with at most *most* findings.

        If there are more findings, a last line says how many.
        """
        more = len(self.findings) - most
        lines = [*self.notes, *(finding.line() for finding in self.findings[:most])]
        return lines + ([f"{more} more findings; see gre-bench papers audit"] if more > 0 else [])

    def to_json(self) -> dict[str, Any]:
        """Returns all fields as plain values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> PdfText:
        """Returns the object whose method `to_json` returned *fields*."""
        findings = [Finding(**finding | {"box": tuple(finding["box"])}) for finding in fields["findings"]]
        words = tuple(PageWords(**page) for page in fields["words"])
        return cls(**{**fields, "words": words, "notes": tuple(fields["notes"]), "findings": tuple(findings)})


MAGIC = b"%PDF-"
HEAD = 1024
"""How many bytes may precede the magic bytes, as readers of PDFs allow."""
TAIL = 2048
"""How many bytes at the end of a complete file hold its end mark."""
LARGEST = 200_000_000
"""The most bytes of a file; a longer one is not read."""
_OBJECT = re.compile(rb"\d\s+\d+\s+obj\b")
_LENGTH = re.compile(rb"/Linearized\b[^>]{0,200}?/L\s+(\d+)|/L\s+(\d+)[^>]{0,200}?/Linearized\b")


def refusal(data: bytes) -> str | None:
    """Returns the reason why *data* is no PDF at all; None if it may be a PDF."""
    if MAGIC not in data[:HEAD]:
        return "the file does not begin as a PDF does"
    return None if _OBJECT.search(data) else "the file begins as a PDF does but holds no object of one"


def cut_off(data: bytes) -> str | None:
    """Returns the reason why *data* seems to be only the beginning of a longer file; None if it seems complete."""
    declared = _LENGTH.search(data[:HEAD])
    if declared and int(declared[1] or declared[2]) > len(data):
        return f"the file has {len(data):,} of {int(declared[1] or declared[2]):,} bytes"
    return None if b"%%EOF" in data[-TAIL:] else "the end of the file is missing"
