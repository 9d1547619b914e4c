"""Converts records to columns for DuckDB's bulk queries, and DuckDB's rows to dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import accumulate, chain
from typing import Any, TypeVar, cast

import duckdb

from gre_bench.store.queries import Query
from gre_bench.store.statements import statement

Row = Mapping[str, Any]
"""A row of a release or of a user's own query: no type states its columns."""

QueryRow = TypeVar("QueryRow")


def columns(values: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns the records *values* as one list per column, the form that bulk queries read.

    *values*: one or more dataclasses or mappings with the same fields.
    """
    if is_dataclass(values[0]):
        return {field.name: [getattr(value, field.name) for value in values] for field in fields(values[0])}
    return {name: [row[name] for row in values] for name in values[0]}


def as_arrow(values_of: Mapping[str, list[Any]]) -> Any:
    """Returns an Arrow table; *values_of* maps the name of each column to its values.

    DuckDB reads an Arrow table in place, many times faster than Python lists.
    """
    import pyarrow

    def flat(lists: list[Any]) -> Any:
        if not all(isinstance(item, list | tuple) for item in lists):
            return pyarrow.array(lists)
        ends = pyarrow.array(accumulate(map(len, lists), initial=0), pyarrow.int32())
        return pyarrow.ListArray.from_arrays(ends, pyarrow.array(list(chain.from_iterable(lists))))

    return pyarrow.table({name: flat(values) for name, values in values_of.items()})


def fetch(connection: duckdb.DuckDBPyConnection, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
    """Runs *query* with its *parameters* and returns all its rows.

    Each row is a dictionary of the type that *query* declares. Tests compare these types with DuckDB's ``describe``.
    """
    cursor = connection.execute(statement("queries", query.name), {**query.defaults, **parameters} or None)
    names = [column[0] for column in cursor.description]
    return cast(list[QueryRow], [dict(zip(names, row, strict=True)) for row in cursor.fetchall()])


def fetch_columns(connection: duckdb.DuckDBPyConnection, query: Query[Any], **parameters: Any) -> list[list[Any]]:
    """Runs *query* with its *parameters* and returns one list per column; no column may hold a null."""
    arrays = connection.execute(statement("queries", query.name), {**query.defaults, **parameters}).fetchnumpy()
    return [column.tolist() for column in arrays.values()]


def distinct(names: Sequence[str]) -> list[str]:
    """Returns *names* in the same order, with repeated names made unique.

    The second occurrence of ``name`` becomes ``name_2``; if that name is taken, it gets the next free number.
    """
    used, last = set(names), dict.fromkeys(names, 0)
    results = []
    for name in names:
        last[name] += 1
        own = name
        while last[name] > 1 and own in used:
            own = f"{name}_{last[name]}"
            last[name] += own in used
        used.add(own)
        results.append(own)
    return results
