"""Makes texts safe to show in a terminal or on a page, and writes numbers with their nouns."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls except tab and line feed, line ends, changes of writing direction, and lone surrogates."""


def plain(text: object) -> str:
    """Returns *text* without control characters, which could steer a terminal."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")


def without_controls(text: str) -> str:
    """Returns *text* for a page: each control character is replaced by U+FFFD, except zero-width joiners."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns *number* followed by its noun, such as ``1 row`` or ``2,000 rows``.

    *plural*: the plural of *noun*; empty: *noun* with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
