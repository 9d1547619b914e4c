"""The store of one edition. Only this package and `gre_bench.release` use DuckDB and ``sql/``.

An edition lives in one folder: ``edition.duckdb`` (written and opened only under ``edition.lock``),
``read-HASH.duckdb`` (a copy for readers, named by its content), ``current`` (the name of that copy), ``status.json``.
The store is the checkpoint: a run asks the store what is missing and continues from there.

edition       the store: creating, writing, reading and copying it
database      the edition's DuckDB file: connections, transactions, error messages
read_copy     the copy for readers: replacing and opening it
user_queries  runs a user's own query in a separate process, with limits
sandbox       the program that this separate process runs
schema        the tables and views, and the schema's version
statements    the program's SQL statements, by name
queries       the queries of ``sql/queries`` by name, the types of their rows, and bulk data for DuckDB
files         the edition's lock, and errors while writing files
"""

from gre_bench.store.database import (
    connect,
    explain_resource_shortage,
    is_interruption,
    is_statement_error,
    quote_path_for_sql,
)
from gre_bench.store.edition import (
    INCLUDED_EDITION,
    INCLUDED_EDITIONS,
    FrozenStore,
    ReadersCopyStore,
    Store,
    copy_to_scratch,
    find_editions,
    missing_edition_error,
    now,
    open_frozen_copy,
)
from gre_bench.store.queries import Row, fetch, fetch_columns
from gre_bench.store.read_copy import keep_copies_open
from gre_bench.store.schema import EARLIEST, NEW_FILE, SCHEMA_VERSION, TABLES, VIEWS, fill_board_tables
from gre_bench.store.statements import get_statement

__all__ = [
    "EARLIEST",
    "INCLUDED_EDITION",
    "INCLUDED_EDITIONS",
    "NEW_FILE",
    "SCHEMA_VERSION",
    "TABLES",
    "VIEWS",
    "FrozenStore",
    "ReadersCopyStore",
    "Row",
    "Store",
    "connect",
    "copy_to_scratch",
    "explain_resource_shortage",
    "fetch",
    "fetch_columns",
    "fill_board_tables",
    "find_editions",
    "get_statement",
    "is_interruption",
    "is_statement_error",
    "keep_copies_open",
    "missing_edition_error",
    "now",
    "open_frozen_copy",
    "quote_path_for_sql",
]
