"""What may be written to a terminal, and into a page."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls but tab and line feed, what ends lines or turns the direction of writing, and halves of characters."""


def plain(text: object) -> str:
    """*text* without the control characters that steer a terminal."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")


def without_controls(text: str) -> str:
    """*text* with a replacement character in the place of each control, for a page: what joins characters stays."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))
