"""What a store holds: the tables of ``sql/schema.sql``, the views of ``sql/views``, and the version of both."""

from __future__ import annotations

import duckdb

from gre_bench.core.errors import StoreError
from gre_bench.store.binding import fetch
from gre_bench.store.queries.runs import VERSION
from gre_bench.store.statements import statement, statements

SCHEMA_VERSION = 8
EARLIEST_VERSION = 3
"""The earliest schema version that ``sql/migrations`` has a way from: one file a step, named by where it leads."""
STORAGE_VERSION = "v1.4.0"
"""DuckDB file format written: the oldest that a reader of these files is likely to have."""

TABLES = tuple(statements("schema"))
"""Names of the tables, those that others refer to first."""
VIEWS = ("words_kept", "pairs", "progress", "boards", "leaderboard", "kinds_of_papers", "strata")


def add_tables(run: duckdb.DuckDBPyConnection) -> None:
    """The tables that are not there yet."""
    for name in TABLES:
        run.execute(statement("schema", name))


def remake_views(run: duckdb.DuckDBPyConnection) -> None:
    """The views, as this program has them."""
    for name in VIEWS:
        run.execute(statement("views", name))


def migrate(run: duckdb.DuckDBPyConnection, version: int) -> None:
    """Brings the tables of *version* to `SCHEMA_VERSION`, step by step."""
    for step in range(version + 1, SCHEMA_VERSION + 1):
        run.execute(statement("migrations", f"{step:03}"))
    run.execute(statement("queries", "set_version"), {"schema_version": SCHEMA_VERSION})


def version_of(run: duckdb.DuckDBPyConnection, key: str) -> int:
    """The schema version of the store of edition *key*; `StoreError` where it has none."""
    try:
        return fetch(run, VERSION)[0]["schema_version"]
    except (duckdb.ProgrammingError, IndexError):
        raise StoreError(f"edition {key}: its database has no schema version; it was not made here") from None


def check_version(version: int, key: str) -> None:
    """`StoreError` for a version that this program neither writes nor brings forward."""
    if not EARLIEST_VERSION <= version <= SCHEMA_VERSION:
        todo = "update the program" if version > SCHEMA_VERSION else "refresh the edition anew in another --state"
        raise StoreError(
            f"edition {key} has schema version {version}, this program writes {SCHEMA_VERSION} and brings "
            f"forward {EARLIEST_VERSION} and later; {todo}"
        )
