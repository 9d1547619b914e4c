"""``gre-bench sql``: runs a read-only query on an edition's database. It never waits for a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from gre_bench.cli.commands import options
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.views.formats import Format, write_rows
from gre_bench.cli.views.screen import get_output_width, is_number, remove_control_characters, say
from gre_bench.core.settings import load_query_settings
from gre_bench.store import Row, Store

SHOWN_ROWS = 200
GAP = "  "


def sql(
    *,
    edition: options.TheEdition,
    text: str = argument("QUERY", 'One query, such as "from leaderboard".'),
    form: options.Form = Format.table,
    out: options.Out = None,
    bounds: list[str] | None = option(
        "--set KEY=VALUE", "A limit: query.seconds, or in MB query.memory, query.spill, query.result; repeatable.", None
    ),
    state: Path,
    quiet: bool,
) -> None:
    """Query an edition's database in SQL; nothing can change.

    Views: leaderboard, boards, pairs, progress. `gre-bench sql EDITION "show tables"` lists all of them, and `"describe
    pairs"` the columns of one. The query cannot read other files.
    """
    names, rows = Store(state, edition).query(text, load_query_settings(tuple(bounds or ())))
    form = Format.json if quiet else form
    if form is Format.table:
        return print_rows(names, rows)
    if form is Format.json:
        rows = [{name: _to_json_value(value) for name, value in row.items()} for row in rows]
    write_rows(rows, names, form, out, state)


def _to_json_value(value: Any) -> Any:
    """Returns *value*, with NaN and infinities as texts, because JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_to_json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _to_json_value(item) for name, item in value.items()}
    return value


def print_rows(names: Sequence[str], rows: Sequence[Row]) -> None:
    """Prints the first `SHOWN_ROWS` of *rows*, only the columns *names*, and the number of further rows."""
    shown = [[_format_cell(row[name]) for name in names] for row in rows[:SHOWN_ROWS]]
    numeric = [any(is_number(row[name]) for row in rows[:SHOWN_ROWS]) for name in names]
    heads = [remove_control_characters(name).replace("\n", " ") for name in names]
    widths = [max(map(_measure_text_width, column)) for column in zip(heads, *shown, strict=True)]
    if sum(widths) + len(GAP) * (len(widths) - 1) <= get_output_width():
        for row in (heads, *shown):
            _print_row(row, widths, numeric)
    else:
        _print_as_records(heads, shown)
    if not rows:
        say("no rows")
    if len(rows) > SHOWN_ROWS:
        say(f"and {len(rows) - SHOWN_ROWS} rows more; --format csv gives them all")


def _print_row(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> None:
    """Prints a row of a table, in as many lines as its longest cell needs; numbers are aligned right."""
    cells = [cell.split("\n") for cell in row]
    for k in range(max(map(len, cells), default=0)):
        parts = [cell[k] if k < len(cell) else "" for cell in cells]
        room = [" " * (most - cell_len(part)) for part, most in zip(parts, widths, strict=True)]
        padded = (gap + part if right else part + gap for part, gap, right in zip(parts, room, numeric, strict=True))
        say(GAP.join(padded).rstrip())


def _print_as_records(heads: Sequence[str], shown: Sequence[Sequence[str]]) -> None:
    widest = max(map(cell_len, heads))
    if not shown:
        say("columns: " + ", ".join(heads))
    for number, row in enumerate(shown, 1):
        say(f"row {number}")
        for head, cell in zip(heads, row, strict=True):
            indent = "\n" + " " * (widest + 2 * len(GAP))
            say(f"{GAP}{head}{' ' * (widest - cell_len(head))}{GAP}{cell.replace(chr(10), indent)}".rstrip())


def _measure_text_width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _format_cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else remove_control_characters(value)
