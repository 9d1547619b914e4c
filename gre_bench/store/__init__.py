"""The store of one edition. Only this package and `gre_bench.release` use DuckDB and ``sql/``.

An edition lives in one folder: ``edition.duckdb`` (written and opened only under ``edition.lock``), ``read.duckdb`` (a
copy for readers, replaced in one step), ``read.sha256`` (digest of the copy), ``status.json``. The store is the
checkpoint: a run asks the store what is missing and continues from there.

edition   the store: creates, writes, reads and copies it
connecting opens every DuckDB connection, closed to other files
database  the edition's DuckDB file: connections, transactions, error messages
read_copy the copy for readers: replaces the copy and checks its digest
frozen    a private copy of the store itself, for a release
asking    sends a user's own query to a separate process and reads the answer
sandbox   the program of this separate process
schema    tables, views and their version
statements SQL by name
queries   the queries of ``sql/queries`` by name, and the types of their rows
binding   converts records to columns for DuckDB, and DuckDB's rows to dictionaries
lock      the lock of the writer
status    the status file of a run
files     turns failed writes into messages, and deletes incomplete files
"""

from gre_bench.store.binding import Row, fetch, fetch_columns
from gre_bench.store.connecting import connect, lacks, quoted
from gre_bench.store.database import interrupted, of_statement
from gre_bench.store.edition import ReadCopy, Store, find_editions, no_edition, now
from gre_bench.store.frozen import Frozen, frozen
from gre_bench.store.read_copy import kept_open
from gre_bench.store.schema import NEW_FILE, SCHEMA_VERSION, TABLES, VIEWS
from gre_bench.store.statements import statement

__all__ = [
    "NEW_FILE",
    "SCHEMA_VERSION",
    "TABLES",
    "VIEWS",
    "Frozen",
    "ReadCopy",
    "Row",
    "Store",
    "connect",
    "fetch",
    "fetch_columns",
    "find_editions",
    "frozen",
    "interrupted",
    "kept_open",
    "lacks",
    "no_edition",
    "now",
    "of_statement",
    "quoted",
    "statement",
]
