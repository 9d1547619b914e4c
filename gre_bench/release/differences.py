"""What tells two releases apart: their pairs, and all that their numbers rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.core.errors import SourceError
from gre_bench.release.database import opened, quoted, rows
from gre_bench.store import TABLES

_OWN = {"format", "release", "edition", "created_at", "files", "tables", "signatures", "validations"}
"""What two releases always differ in, and what is compared by itself."""


@contextmanager
def _beside(database: Path, other: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A reading connection to a release's *database* in which that of another release is called ``other``."""
    with opened(database) as connection:
        try:
            connection.execute(f"attach {quoted(other)} as other (read_only)")
        except duckdb.Error as error:
            raise SourceError(f"{other} cannot be read: {str(error).splitlines()[0]}") from None
        yield connection


def changed_pairs(one: Path, other: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """By signature and candidate of the databases *one* and *other*: how many pairs either has alone or otherwise."""
    with _beside(one, other) as connection:
        found = rows(connection, "changed_pairs")
    return {(row.pop("signature_id"), row.pop("candidate")): row for row in found}


def unlike_tables(one: Path, other: Path) -> list[dict[str, Any]]:
    """Tables of an edition whose rows differ in the databases *one* and *other*: how many rows each has alone.

    Every command adds a row to ``runs``: there only rows count that *one* has alone.
    """
    with _beside(one, other) as connection:
        try:
            found = [{"table": name, "first": _alone(connection, name, f"other.{name}"),
                      "second": 0 if name == "runs" else _alone(connection, f"other.{name}", name)}
                     for name in TABLES]  # fmt: skip
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            reason = str(error).splitlines()[0]
            raise SourceError(f"{one} was made by another version of this program ({reason}); publish anew") from None
    return [row for row in found if row["first"] or row["second"]]


def _alone(connection: duckdb.DuckDBPyConnection, table: str, other: str) -> int:
    """How many rows *table* has that *other* has not, or has fewer times."""
    return connection.execute(f"from (from {table} except all from {other}) select count(*)").fetchall()[0][0]


def provenance_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What differs between two manifests, one row a value: what (``settings.scoring.form``), first, second.

    What only one of them states is None in the other.
    """
    first, second = (dict(_flat("", {name: value for name, value in manifest.items() if name not in _OWN}))
                     for manifest in (one, other))  # fmt: skip
    return [
        {"what": name, "first": first.get(name), "second": second.get(name)}
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]


def table_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables whose number of rows is another."""
    first, second = one["tables"], other["tables"]
    return [
        {"table": name, "first": first.get(name), "second": second.get(name)}
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Each value of a tree with its path; a list of plain values is one value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for place, inner in enumerate(value):
            yield from _flat(f"{name}.{place}", inner)
    else:
        yield name, value
