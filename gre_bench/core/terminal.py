"""Removes characters from texts that must not reach a terminal or a page, and writes counts with their nouns."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls except tab and line feed, line ends, changes of writing direction, and lone surrogates."""


def plain(text: object) -> str:
    """Returns *text* without the control characters that steer a terminal."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")


def without_controls(text: str) -> str:
    """Returns *text* for a page, with U+FFFD for each control character; zero-width joiners stay."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns *number* with its noun: ``1 row``, ``2,000 rows``. *plural*: the plural, if an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
