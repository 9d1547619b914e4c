"""What may be written to a terminal."""

from __future__ import annotations


def plain(text: object) -> str:
    """*text* without the control characters that steer a terminal."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")
