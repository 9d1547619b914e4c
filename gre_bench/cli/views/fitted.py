"""Prints tables that fit the width of the terminal without cutting a number.

Optional columns that do not fit are left out, and named below the table. If even the required columns do not fit, each
row is printed as a record.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType

from rich.cells import cell_len, set_cell_size

from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say

NARROWEST_NAME = 12
NARROWEST_NOTE = 16
WIDEST_NAME, WIDEST_NOTE = 40, 44
GAP = 2
_PARTS = re.compile(r"\+?[^-/+]*[-/]?")


@dataclass(frozen=True, slots=True)
class FittedColumn:
    """A column of a table: its header *head*, and one text per row (*cells*).

    - *order*: 0 for a required column. Optional columns are added, lowest order first, while there is room.
    - *kind*: a ``number`` is never cut, a ``name`` is shortened in the middle, a ``note`` is wrapped.
    - *widest*: the preferred width of a column of names. A column whose names are all shorter is narrower.
    - *natural*: the width of the uncut column, in characters.
    - *least*: the smallest possible width.
    - *wanted*: the preferred width.
    """

    head: str
    cells: Sequence[str]
    order: int = 0
    kind: str = "number"
    widest: int = WIDEST_NAME

    @property
    def natural(self) -> int:
        return max(cell_len(cell) for cell in (self.head, *self.cells))

    @property
    def least(self) -> int:
        floor = {"name": NARROWEST_NAME, "note": NARROWEST_NOTE}.get(self.kind, self.natural)
        return min(self.natural, floor)

    @property
    def wanted(self) -> int:
        return min(self.natural, {"name": self.widest, "note": WIDEST_NOTE}.get(self.kind, self.natural))


def print_fitted_table(
    title: str,
    columns: Sequence[FittedColumn],
    styles: Sequence[str],
    width: int | None = None,
    breaks: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Prints *columns* as a table under *title*, in *width* characters (None: the width of the screen).

    *styles*: a `rich` style for each row. *breaks*: index of a row → a line to print before that row.
    """
    room = width or screen.get_output_width()
    columns = [column for column in columns if any(column.cells)]
    chosen = _choose_columns(columns, room)
    if _compute_table_width([column.least for column in chosen if column.order == 0]) > room:
        return _print_records(title, columns, styles)
    widths = _compute_widths(chosen, room)
    if title:
        say(title, style="bold")
        _print_line("")
    _print_line(_format_row(chosen, [column.head for column in chosen], widths), "bold")
    _print_line("─" * _compute_table_width(widths), "dim")
    for index, style in enumerate(styles):
        if index in breaks:
            _print_line(breaks[index], "dim")
        cells = [_wrap_cell(column, column.cells[index], cells) for column, cells in zip(chosen, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            _print_line(_format_row(chosen, line, widths), style)
    shown = [column.head for column in chosen]
    if left_out := [column.head for column in columns if column.head not in shown]:
        note = f"left out for width: {', '.join(left_out)}; see --json, or a wider terminal"
        _print_line("\n".join(textwrap.wrap(note, room, subsequent_indent="  ")), "dim")
    _print_line("")


def print_text_table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], names: Sequence[str] = (), title: str = ""
) -> None:
    """Prints *rows* as a table with the column headers *heads*.

    *names*: the headers of columns that contain names, besides the first column. Names may be shortened. All other
    columns contain numbers.
    """
    cells = [[screen.remove_control_characters(row[index]) for row in rows] for index in range(len(heads))]
    kinds = ["name" if index == 0 or head in names else "number" for index, head in enumerate(heads)]
    print_fitted_table(
        title,
        [
            FittedColumn(screen.remove_control_characters(head), own, 0, kind)
            for head, own, kind in zip(heads, cells, kinds, strict=True)
        ],
        [""] * len(rows),
    )


def _print_line(text: str, style: str = "") -> None:
    screen.out.print(screen.escape(text), style=style or None, highlight=False, soft_wrap=True)


def _format_row(columns: Sequence[FittedColumn], cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        " " * (width - cell_len(cell)) + cell if column.kind == "number" else set_cell_size(cell, width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    ]
    return (" " * GAP).join(padded).rstrip()


def _wrap_cell(column: FittedColumn, cell: str, width: int) -> list[str]:
    """Returns *cell* as lines of at most *width* characters.

    A number is never broken. Names are shortened if all names of the column then stay distinct; otherwise they wrap.
    """
    if column.kind == "name" and len({shorten_name(name, width) for name in column.cells}) == len(set(column.cells)):
        return [shorten_name(cell, width)]
    if column.kind == "number":
        return [cell]
    if column.kind == "name":
        return _wrap_name(cell, width)
    return textwrap.wrap(cell, width, break_on_hyphens=False) or [""]


def _wrap_name(name: str, width: int) -> list[str]:
    """Returns *name* in lines of at most *width* characters, broken after slashes and hyphens and before plus signs."""
    lines = [""]
    for part in _PARTS.findall(name):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return [piece for line in lines for piece in textwrap.wrap(line, width, break_on_hyphens=False) or [""]]


def shorten_name(name: str, width: int) -> str:
    """Returns *name* in at most *width* characters; an ellipsis replaces the middle of a longer name."""
    if cell_len(name) <= width:
        return name
    end = (width - 1) // 2
    first = set_cell_size(name, width - 1 - end).rstrip()
    return f"{first}…{set_cell_size(name[::-1], end).rstrip()[::-1]}"


def _choose_columns(columns: Sequence[FittedColumn], room: int) -> list[FittedColumn]:
    """Returns the columns that fit in *room* characters: always the required ones, then the optional ones by order."""
    shown = {index for index, column in enumerate(columns) if column.order == 0}
    for index, column in sorted(enumerate(columns), key=lambda item: item[1].order):
        if not column.order:
            continue
        if _compute_table_width([columns[k].wanted for k in sorted({*shown, index})]) > room:
            break
        shown.add(index)
    return [columns[index] for index in sorted(shown)]


def _compute_widths(columns: Sequence[FittedColumn], room: int) -> list[int]:
    """Returns a width for each column so that all fit in *room* characters.

    If the room is too small, notes shrink first, then names. If room is left, both grow up to their full width.
    """
    widths = [column.wanted for column in columns]
    for kind in ("note", "name"):
        for index, column in enumerate(columns):
            excess = _compute_table_width(widths) - room
            if column.kind == kind and excess > 0:
                widths[index] = max(column.least, widths[index] - excess)
    for index, column in enumerate(columns):
        if column.kind != "number":
            widths[index] = min(column.natural, widths[index] + room - _compute_table_width(widths))
    return widths


def _compute_table_width(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _print_records(title: str, columns: Sequence[FittedColumn], styles: Sequence[str]) -> None:
    if title:
        say(title, style="bold")
    heads = max(len(column.head) for column in columns)
    for index in range(len(styles)):
        for column in columns:
            if column.cells[index]:
                say(f"{column.head:<{heads}}  {column.cells[index]}")
        say("")
