"""Checks whether bytes are a complete PDF, before and after its pages are read."""

from __future__ import annotations

import re
from typing import Any

MAGIC = b"%PDF-"
HEAD = 1024
"""How many bytes may precede the magic bytes, as readers of PDFs allow."""
TAIL = 2048
"""How many bytes at the end of a complete file hold its end mark."""
LARGEST = 200_000_000
"""The most bytes of a file; a longer one is not read."""
_OBJECT = re.compile(rb"\d\s+\d+\s+obj\b")
_LENGTH = re.compile(rb"/Linearized\b[^>]{0,200}?/L\s+(\d+)|/L\s+(\d+)[^>]{0,200}?/Linearized\b")
_LOST = re.compile(r"zlib error|premature end|cannot read|unexpected eof|truncated|cannot find startxref in tail", re.I)
_WRONG = re.compile(r"syntax error", re.I)


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


def losses(warnings: str) -> str | None:
    """Returns the first line of MuPDF's *warnings* that reports missing contents of a page; None if no line does."""
    return next((line for line in warnings.splitlines() if _LOST.search(line)), None)


def errors(warnings: str) -> str | None:
    """Returns the first of MuPDF's *warnings* about a syntax error in the contents; None if there is none."""
    return next((line for line in warnings.splitlines() if _WRONG.search(line)), None)


def blank(page: Any) -> bool:
    """Whether nothing at all is drawn on *page* (a PyMuPDF page)."""
    return not page.get_bboxlog()
