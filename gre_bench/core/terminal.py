"""Makes texts safe for a terminal or a page, and formats all CSV and Markdown tables of the program."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters (but not tab and line feed), line separators, writing-direction marks, and lone surrogates."""


def remove_control_characters(text: object) -> str:
    """Returns *text* without unprintable characters, which a terminal may execute; line feeds and tabs stay."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")


def replace_control_characters(text: str) -> str:
    """Returns *text* for a page: CRLF becomes LF, and each control character (`_CONTROLS`) becomes U+FFFD."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns *number* followed by its noun in singular or plural, such as ``1 row`` or ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def join_with_and(words: Sequence[str]) -> str:
    """Returns *words* as a list in a sentence: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


FORMULA = ("=", "+", "-", "@", "\t", "\n", "\r", "＝", "＋", "－", "＠")
"""First characters that make a spreadsheet read a cell as a formula; some accept the full-width forms too."""


def format_csv_cell(value: Any) -> Any:
    """Returns *value* as a CSV cell that a spreadsheet can open safely: without control characters or formulas.

    A text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    text = remove_control_characters(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def format_csv_table(names: Sequence[str], rows: Iterable[Sequence[Any]], end: str = "\n") -> str:
    """Returns *rows* as CSV with the header *names*; None becomes an empty cell. *end*: what ends each line."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=end)
    writer.writerow(map(format_csv_cell, names))
    writer.writerows(map(format_csv_cell, row) for row in rows)
    return file.getvalue()


def format_markdown_cell(value: Any) -> str:
    """Returns *value* as one line of plain Markdown text: markup, HTML and pipes are escaped.

    Control characters are removed.
    """
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(remove_control_characters(value).split("\n"))
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return text


def format_markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool] = ()
) -> list[str]:
    """Returns the lines of a Markdown table. The cells must already be Markdown, as `format_markdown_cell` returns it.

    *numeric*: for each column, whether it is right-aligned; empty: all columns are left-aligned.
    """
    rule = ["---:" if right else "---" for right in numeric or [False] * len(heads)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]
