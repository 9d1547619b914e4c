"""Prints rows with any columns: as a table if it fits the screen, else as one record per row. No cell is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from gre_bench.cli.views.screen import plain, say, width
from gre_bench.store import Row

SHOWN_ROWS = 200
GAP = "  "


def show(names: Sequence[str], rows: Sequence[Row]) -> None:
    """Prints the first `SHOWN_ROWS` of *rows*, with only the columns *names*, and how many more rows there are."""
    shown = [[_cell(row[name]) for name in names] for row in rows[:SHOWN_ROWS]]
    numeric = [any(_is_number(row[name]) for row in rows[:SHOWN_ROWS]) for name in names]
    heads = [plain(name).replace("\n", " ") for name in names]
    widths = [max(map(_width, column)) for column in zip(heads, *shown, strict=True)]
    if sum(widths) + len(GAP) * (len(widths) - 1) <= width():
        for row in (heads, *shown):
            _line(row, widths, numeric)
    else:
        _records(heads, shown)
    if not rows:
        say("no rows")
    if len(rows) > SHOWN_ROWS:
        say(f"and {len(rows) - SHOWN_ROWS} rows more; --format csv gives them all")


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> None:
    """Prints a row of a table, in as many lines as its longest cell needs.

    - *widths*: the width of each column.
    - *numeric*: whether each column holds numbers, which are aligned right.
    """
    cells = [cell.split("\n") for cell in row]
    for k in range(max(map(len, cells), default=0)):
        parts = [cell[k] if k < len(cell) else "" for cell in cells]
        room = [" " * (most - cell_len(part)) for part, most in zip(parts, widths, strict=True)]
        padded = (gap + part if right else part + gap for part, gap, right in zip(parts, room, numeric, strict=True))
        say(GAP.join(padded).rstrip())


def _records(heads: Sequence[str], shown: Sequence[Sequence[str]]) -> None:
    """Prints each row as a block of lines, one line for each column."""
    widest = max(map(cell_len, heads))
    if not shown:
        say("columns: " + ", ".join(heads))
    for number, row in enumerate(shown, 1):
        say(f"row {number}")
        for head, cell in zip(heads, row, strict=True):
            indent = "\n" + " " * (widest + 2 * len(GAP))
            say(f"{GAP}{head}{' ' * (widest - cell_len(head))}{GAP}{cell.replace(chr(10), indent)}".rstrip())


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else plain(value)
