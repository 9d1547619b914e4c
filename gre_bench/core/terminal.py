"""Makes texts safe to show in a terminal, on a page, and in tables of CSV or Markdown, which are made only here."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls except tab and line feed, line ends, changes of writing direction, and lone surrogates."""


def plain(text: object) -> str:
    """Returns *text* without control characters, which could steer a terminal."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")


def without_controls(text: str) -> str:
    """Returns *text* for a page: each control character is replaced by U+FFFD, except zero-width joiners."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns *number* followed by its noun, such as ``1 row`` or ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


FORMULA = ("=", "+", "-", "@", "\t", "\n", "\r", "＝", "＋", "－", "＠")
"""First characters that make a spreadsheet read a cell as a formula; some accept the full-width forms too."""


def csv_cell(value: Any) -> Any:
    """Returns *value* so that a spreadsheet can open it safely: without terminal controls, and never a formula.

    A text that a spreadsheet would read as a formula gets an apostrophe before it.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_table(names: Sequence[str], rows: Iterable[Sequence[Any]], end: str = "\n") -> str:
    """Returns *rows* as CSV under the heading *names*; *end* ends each line. Unknown values (None) are empty cells."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=end)
    writer.writerow(map(csv_cell, names))
    writer.writerows(map(csv_cell, row) for row in rows)
    return file.getvalue()


def markdown_cell(value: Any) -> str:
    """Returns *value* as text in one line of Markdown: no markup, no HTML, no bar, no terminal control."""
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(plain(value).split("\n"))
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return text


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool] = ()) -> list[str]:
    """Returns the lines of a Markdown table; its cells are Markdown already, such as that of `markdown_cell`.

    *numeric*: for each column, whether it is aligned to the right; none is by default.
    """
    rule = ["---:" if right else "---" for right in numeric or [False] * len(heads)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]
