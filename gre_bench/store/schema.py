"""Creates the tables of ``sql/schema.sql`` and the views of ``sql/views``, and checks the schema's version."""

from __future__ import annotations

import hashlib
from functools import cache

import duckdb

from gre_bench.core.errors import StoreError
from gre_bench.store.queries import DEFINITIONS, OWN_VIEWS, VERSION, fetch
from gre_bench.store.statements import get_statement, load_statements

SCHEMA_VERSION = 11
EARLIEST = 9
"""The earliest schema version that can be upgraded; it lacks the tables ``board``, ``strata`` and ``pair_tests``."""
NEW_FILE = {"storage_compatibility_version": "v1.4.0", "default_block_size": "65536"}
"""DuckDB settings for new files of editions and releases.

The format is that of the oldest DuckDB version that readers are likely to use. The block size, in bytes, is a quarter
of DuckDB's default. It makes a small file 2.7 times smaller, and a large file 20% smaller.
"""

TABLES = tuple(load_statements("schema"))
"""Names of the tables; a table comes after the tables that it refers to."""
VIEWS = ("words_kept", "pairs", "progress", "leaderboard", "chance_corrected")


def define_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Creates missing tables and replaces all views, unless the store already has the current definitions.

    The comment of the table ``meta`` holds the SHA-256 of the definitions.
    """
    texts, digest = _load_definitions()
    if fetch(connection, DEFINITIONS) == [{"digest": digest}]:
        return
    for row in fetch(connection, OWN_VIEWS):
        connection.execute(f"drop view {row['view_name']}")
    for text in texts:
        connection.execute(text)
    connection.execute(get_statement("queries", "forget_untested"))
    connection.execute(get_statement("queries", "set_version"), {"version": SCHEMA_VERSION})
    connection.execute(f"comment on table meta is '{digest}'")


@cache
def _load_definitions() -> tuple[list[str], str]:
    texts = [get_statement(kind, name) for kind, names in (("schema", TABLES), ("views", VIEWS)) for name in names]
    return texts, hashlib.sha256("\n".join(texts).encode()).hexdigest()


def fill_board_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Fills the tables ``board`` and ``strata`` from the other tables, replacing their earlier rows."""
    connection.execute(get_statement("queries", "fill_board"))
    connection.execute(get_statement("queries", "fill_strata"))


def check_version(connection: duckdb.DuckDBPyConnection, key: str) -> None:
    """Raises `StoreError` unless the schema version of edition *key*'s store is one that this program can write."""
    try:
        version = fetch(connection, VERSION)[0]["schema_version"]
    except (duckdb.ProgrammingError, IndexError):
        raise StoreError(f"edition {key}: its database has no schema version; it was not made here") from None
    if not EARLIEST <= version <= SCHEMA_VERSION:
        todo = "update the program" if version > SCHEMA_VERSION else "refresh the edition in another --state"
        raise StoreError(
            f"edition {key} has schema version {version}, this program reads and writes {SCHEMA_VERSION}; {todo}"
        )
