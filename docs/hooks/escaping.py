"""Text of the code as Markdown."""

from __future__ import annotations

import re
from html import escape

SECTIONS = ("Args:", "Attributes:", "Returns:", "Raises:")
MADE = "<!-- Made from the code when the site is built. -->\n\n"


def paragraphs(text: str) -> list[str]:
    """The lines of a docstring or help text as Markdown, where indented blocks and text in backticks are code."""
    lines = text.replace("\f", "").replace("::\n", ":\n").replace("``", "`").splitlines()
    return [line if line.startswith("    ") else _outside_code(line) for line in lines]


def google_style(text: str) -> list[str]:
    """The lines of a docstring in Google style as Markdown: each section by its name, with an item for each entry."""
    lines: list[str] = []
    section = ""
    for line in paragraphs(text):
        if line in SECTIONS:
            section = line
            lines += [f"**{line[:-1]}**", ""]
        elif section and (entry := re.match(r"    (\w+): (.*)", line)) and section != "Returns:":
            lines.append(f"- `{entry[1]}`: {_outside_code(entry[2])}")
        elif section and line:
            lines.append(f"{'' if section == 'Returns:' else '  '}{_outside_code(line.strip())}")
        else:
            lines.append(line)
    return lines


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
