"""The blocks of the README and of ``docs/``: commands that run on the sample edition, and those marked as not run."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]*?) -->\n)?"
    r'^```(?P<info>[^\n]*?)(?: title="(?P<file>[^"\n]+)")?\n(?P<text>.*?)^```$',
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: *kind* is its language and any word after that; *reason* says why it is not run (None: it is).

    *file*: the file that the block is, if it has a title; it is written, not run.
    """

    page: Path
    kind: str
    text: str
    reason: str | None
    file: str | None

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command, without comments; a backslash or an open quotation continues it on the next line."""
        found, command = [], ""
        for line in self.text.replace("\\\n", " ").splitlines():
            command = f"{command}\n{line}" if command else line
            try:
                words = shlex.split(command, comments=True)
            except ValueError:
                continue
            found += [words] if words else []
            command = ""
        assert not command, f"{self.page.name}: a quotation is not closed: {command}"
        return found


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of *page*."""
    found = _BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(page, block["info"].strip(), block["text"], block["reason"], block["file"]) for block in found]


def without_blocks(page: Path) -> str:
    """The text of *page* without its fenced blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))
