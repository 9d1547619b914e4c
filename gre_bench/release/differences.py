"""Compares two releases: their pairs, their tables, and the data and settings behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.core.errors import SourceError
from gre_bench.release.database import REDACTED, WHOLE, opened, rows

_OWN = {
    "format", "release", "edition", "created_at", "runs", "errata", "histories", "files", "tables", "signatures",
    "validations",
}  # fmt: skip
"""Parts of a manifest that differ in any two releases, or that other functions compare."""


def changed_pairs(first: Path, second: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Compares the pairs of two releases and returns counts by (signature, candidate).

    *first*, *second*: folders of releases. Raises `SourceError` if one of them cannot be read.

    The counts are:
    - ``only_first``, ``only_second``: pairs that only this release has.
    - ``other_state``, ``other_score``: pairs whose state or score differs between the releases.
    - ``shared``: pairs that both releases have.
    """
    with opened(first, second) as connection:
        pairs = rows(connection, "changed_pairs")
    return {(row.pop("signature_id"), row.pop("candidate")): row for row in pairs}


def unlike_tables(first: Path, second: Path) -> list[dict[str, Any]]:
    """Returns one row for each table of the store that differs between *first* and *second* (see `opened`).

    *table*: the table's name. ``first``: how many of its rows are only in *first*. ``second``: how many are only in
    *second*. Raises `SourceError` if one of them lacks a table.
    """
    with opened(first, second) as connection:
        try:
            counts = [{"table": name, "first": _alone(connection, name, f"other.{name}"),
                      "second": _alone(connection, f"other.{name}", name)}
                     for name in (*WHOLE, *REDACTED)]  # fmt: skip
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            reason = str(error).splitlines()[0]
            raise SourceError(
                f"{first} was made by another version of this program ({reason}); publish it again"
            ) from None
    return [row for row in counts if row["first"] or row["second"]]


def _alone(connection: duckdb.DuckDBPyConnection, table: str, other: str) -> int:
    """Returns how many rows of *table* are not in the table *other*; repeated rows are counted."""
    return connection.execute(f"from (from {table} except all from {other}) select count(*)").fetchall()[0][0]


def provenance_differences(older: Mapping[str, Any], newer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns one row for each value that differs between the manifests *older* and *newer*.

    Each row has the keys:
    - ``what``: the value's path in the manifest, such as ``settings.scoring.form``.
    - ``first``, ``second``: the value in *older* and in *newer*; None if absent.

    Values that differ between any two releases are left out, such as the name and the date.
    """
    first, second = (dict(_flat("", {name: value for name, value in manifest.items() if name not in _OWN}))
                     for manifest in (older, newer))  # fmt: skip
    return [
        {"what": name, "first": first.get(name), "second": second.get(name)}
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]


def table_differences(older: Mapping[str, Any], newer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns one row for each table whose number of rows differs between the manifests *older* and *newer*.

    Each row has the keys ``table`` (the table's name), ``first`` and ``second``. These two are the numbers of rows in
    *older* and in *newer*; None if the release lacks the table.
    """
    first, second = older["tables"], newer["tables"]
    return [
        {"table": name, "first": first.get(name), "second": second.get(name)}
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields (path, value) for each value of a JSON tree. A path is a text such as ``settings.scoring.form``.

    *name*: the start of every path. *value*: the tree. A list of plain values counts as one value.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for index, inner in enumerate(value):
            yield from _flat(f"{name}.{index}", inner)
    else:
        yield name, value
