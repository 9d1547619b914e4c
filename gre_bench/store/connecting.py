"""Opens every DuckDB connection of the program, except that of a user's own query, which `sandbox` opens.

A database file may come from anybody, and its views and macros run whenever a query names them. Every connection is
therefore closed: it opens no file but those it was opened for, loads no extension, and no statement changes that.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from gre_bench.core.errors import MEND, NO_MEMORY, OF_THE_MACHINE
from gre_bench.core.incoming import check_name
from gre_bench.store.files import FULL
from gre_bench.store.schema import VIEWS
from gre_bench.store.statements import statement

ATTACHED = "edition"
"""The name by which a reader's connection knows the edition's file."""
_CLOSED = {
    "allow_community_extensions": "false", "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}  # fmt: skip

_LACKING = (OF_THE_MACHINE | {errno.EACCES, errno.EPERM}) - {*FULL, errno.EIO}
_NO_MEMORY = ("Out of Memory", "bad allocation", "Allocation failure", os.strerror(errno.ENOMEM))


def connect(
    file: Path | None = None,
    attached: Mapping[str, Path | None] | None = None,
    config: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    folders: Sequence[Path] = (),
) -> duckdb.DuckDBPyConnection:
    """Returns a closed connection to the database *file*, or to an empty database in memory.

    - *attached*: database files that the connection can read, by the name of their catalogue; None: one in memory.
    - *config*, *settings*: DuckDB's settings, made before and after *file* is open.
    - *folders*: folders whose files statements may read and write, such as Parquet files.

    Raises `duckdb.Error` if a file cannot be opened. Raises `SourceError` if a path is not UTF-8.
    """
    for path in filter(None, (file, *(attached or {}).values(), *folders)):
        check_name(path)
    spill = {} if file else {"temp_directory": str(Path(tempfile.gettempdir()) / f"gre-bench-spill-{os.getpid()}")}
    connection = duckdb.connect(str(file or ":memory:"), config={**spill, **_CLOSED, **(config or {})})
    try:
        if connection.execute(statement("queries", "locked")).fetchall() == [(True,)]:
            return connection  # the file is open in this process, and its settings are made
        for name, path in (attached or {}).items():
            what = f"{quoted(path)} as {name} (read_only, type duckdb)" if path else f"':memory:' as {name}"
            connection.execute(f"attach {what}")
        if folders:
            connection.execute(f"set allowed_directories = [{', '.join(map(quoted, folders))}]")
        own = {"global timezone": "'UTC'", "enable_progress_bar": "false", **(settings or {})}
        for name, value in (own | {"enable_external_access": "false", "lock_configuration": "true"}).items():
            connection.execute(f"set {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


def reader(file: Path) -> duckdb.DuckDBPyConnection:
    """Returns a closed connection that reads the tables of *file*, the database of an edition, attached as ``edition``.

    Views are this program's own, never the file's. Raises `duckdb.Error` if the file cannot be opened, lacks a table,
    or has a view where a table belongs.

    The file is attached to a database in memory. DuckDB would take a path that is still open elsewhere in the process
    for the same database, even after the file was replaced.
    """
    connection = connect(None, {ATTACHED: file})
    try:
        if foreign := connection.execute(statement("queries", "foreign_views"), {"own": VIEWS}).fetchall():
            raise duckdb.CatalogException(f"{foreign[0][0]} is a view, not a table")
        look_in_edition(connection)
        for name in VIEWS:
            connection.execute(statement("views", name))
    except BaseException:
        connection.close()
        raise
    return connection


def look_in_edition(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes *connection*, from `reader` or its ``cursor()``, look for tables in the edition.

    The program's own views come first and DuckDB's own functions second, so that no file can replace them.
    """
    connection.execute(f"set search_path = 'memory.main,system.main,{ATTACHED}.main'")


def lacks(error: duckdb.Error) -> str | None:
    """Returns one line about *error* if it is for lack of memory, files or permission; None if a file may be at fault.

    DuckDB reports such a lack in the midst of a file as an error of the file.
    """
    reason = str(error).splitlines()[0]
    if isinstance(error, duckdb.OutOfMemoryException) or any(sign in str(error) for sign in _NO_MEMORY):
        return f"{NO_MEMORY} ({reason}); {MEND}"
    return f"{reason}; {MEND}" if any(os.strerror(number) in reason for number in _LACKING) else None


def quoted(path: Path) -> str:
    """Returns *path* as an SQL string literal."""
    return "'" + str(path).replace("'", "''") + "'"
