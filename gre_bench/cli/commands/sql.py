"""``gre-bench sql``: any question to an edition's database. It never waits for a run, and changes nothing."""

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

Query = Annotated[str, typer.Argument(help='One query, such as "from leaderboard"; nothing can be changed.')]
Edition = Annotated[str, typer.Argument(help="Edition, such as ICLR-2025.")]
Form = Annotated[Format, typer.Option("--format", "-f", help="For other programs; markdown alone rounds.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write instead of standard output.")]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--set", help="A bound: query.seconds, or in MB query.memory, query.spill, query.result; repeatable."),
]


def register(app: typer.Typer) -> None:
    """Adds the command to *app*."""
    # A query may begin with a comment, which looks like an option.
    app.command("sql", epilog=options.EXIT_CODES, context_settings={"ignore_unknown_options": True})(query)


def query(
    edition: Edition,
    text: Query,
    form: Form = Format.table,
    out: Out = None,
    bounds: Bounds = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Ask an edition's database anything, in SQL. Nothing can be changed, and no other file is reached.

    Views: leaderboard, boards, pairs, progress. `gre-bench sql EDITION "show tables"` names all, `"describe pairs"` the
    columns of one; sql/schema.sql and sql/views say above each what a row is.
    """
    names, rows = Store(state, edition).query(text, query_of(tuple(bounds or ())))
    form = Format.json if as_json else form
    if form is Format.table:
        return screen.show(names, rows)
    if form is Format.json:
        rows = [{name: _in_json(value) for name, value in row.items()} for row in rows]
    write(rows, names, form, out, state)


def _in_json(value: Any) -> Any:
    """*value*; a number that is none, which JSON lacks, by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_in_json(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _in_json(one) for name, one in value.items()}
    return value
