"""``gre-bench sql``: runs a read-only query on an edition's database. It never waits for a run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import rows as screen
from gre_bench.cli.views.board_formats import Format, write
from gre_bench.core.settings import query_of
from gre_bench.store import Store

Query = Annotated[str, typer.Argument(metavar="QUERY", help='One query, such as "from leaderboard".')]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE",
        help="A limit: query.seconds, or in MB query.memory, query.spill, query.result; repeatable.",
    ),
]  # fmt: skip

PASS_DASHES = {"ignore_unknown_options": True}
"""A query may begin with an SQL comment (``--``), which looks like an option."""


def sql(
    edition: options.TheEdition,
    text: Query,
    form: options.Form = Format.table,
    out: options.Out = None,
    bounds: Bounds = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Query an edition's database in SQL; nothing can change.

    Views: leaderboard, boards, pairs, progress. `gre-bench sql EDITION "show tables"` lists all of them, and `"describe
    pairs"` the columns of one. The query cannot read other files.
    """
    names, rows = Store(state, edition).query(text, query_of(tuple(bounds or ())))
    form = Format.json if as_json else form
    if form is Format.table:
        return screen.show(names, rows)
    if form is Format.json:
        rows = [{name: _in_json(value) for name, value in row.items()} for row in rows]
    write(rows, names, form, out, state)


def _in_json(value: Any) -> Any:
    """Returns *value*, with NaN and infinities as texts, because JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_in_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _in_json(item) for name, item in value.items()}
    return value
