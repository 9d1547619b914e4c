"""Text of the code as Markdown."""

from __future__ import annotations

import re
from html import escape

MADE = "<!-- Made from the code when the site is built. -->\n\n"


def paragraphs(text: str) -> list[str]:
    """The lines of a docstring or help text as Markdown, where indented blocks and text in backticks are code."""
    lines = text.replace("\f", "").replace("::\n", ":\n").replace("``", "`").splitlines()
    return [line if line.startswith("    ") else _outside_code(line) for line in lines]


def escaped(text: str) -> str:
    """*text* with nothing that Markdown takes for HTML, emphasis or a link."""
    return re.sub(r"([\\<>*_\[\]])", r"\\\1", text)


def cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def code(text: str) -> str:
    """*text* as code that may hold a bar, which would end the cell of a table."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>"


def _outside_code(line: str) -> str:
    """*line* with all but its code and the names of its parameters (between stars) escaped."""
    return "".join(
        part if number % 2 else escaped(part) for number, part in enumerate(re.split(r"(`[^`]*`|\*\w+\*)", line))
    )
