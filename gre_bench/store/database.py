"""Opens the DuckDB file of an edition, and all other connections except those of users' queries (see `sandbox`).

A database file may come from anybody, and its views and macros run whenever a query names them. Every connection is
therefore locked down: it opens only the files that it was made for and loads no extension. No statement can change
this.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import duckdb

from gre_bench.core.errors import MACHINE_FAULT_NUMBERS, MEND, NO_MEMORY, DuplicateRowError, Stopped, StoreError
from gre_bench.core.incoming import check_file_name_is_utf8
from gre_bench.store.files import FULL, KEPT
from gre_bench.store.schema import NEW_FILE
from gre_bench.store.statements import get_statement

_CLOSED = {
    "allow_community_extensions": "false", "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}  # fmt: skip

MEMORY = {"memory_limit": "30%"}
"""The share of the machine's or container's memory that DuckDB may use before it writes to the disk.

DuckDB's default of 80% leaves too little for the texts that Python holds at the same time.
"""
_LACKING = (MACHINE_FAULT_NUMBERS | {errno.EACCES, errno.EPERM}) - {*FULL, errno.EIO}
_NO_MEMORY = ("Out of Memory", "bad allocation", "Allocation failure", os.strerror(errno.ENOMEM))


def connect(
    file: Path | None = None,
    attached: Mapping[str, Path | None] | None = None,
    config: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    folders: Sequence[Path] = (),
    read_only: bool = False,
) -> duckdb.DuckDBPyConnection:
    """Returns a locked-down connection to the database *file*, or to an empty database in memory.

    - *attached*: name in SQL → a database file that the connection can also read under this name. None stands for an
      empty database in memory.
    - *config*: DuckDB settings to apply when *file* is opened. *settings*: those to apply afterwards.
    - *folders*: folders in which statements may read and write files, such as Parquet files.
    - *read_only*: whether to open *file* only for reading.

    Raises `duckdb.Error` if a file cannot be opened. Raises `SourceError` if a path is not UTF-8.
    """
    for path in filter(None, (file, *(attached or {}).values(), *folders)):
        check_file_name_is_utf8(path)
    spill = (
        {}
        if file and not read_only
        else {"temp_directory": str(Path(tempfile.gettempdir()) / f"gre-bench-spill-{os.getpid()}")}
    )
    connection = duckdb.connect(
        str(file or ":memory:"), read_only=read_only, config={**spill, **_CLOSED, **MEMORY, **(config or {})}
    )
    try:
        if connection.execute(get_statement("queries", "locked")).fetchall() == [(True,)]:
            return connection  # the file is already open in this process, with these settings
        for name, path in (attached or {}).items():
            what = f"{quote_path_for_sql(path)} as {name} (read_only, type duckdb)" if path else f"':memory:' as {name}"
            connection.execute(f"attach {what}")
        if folders:
            connection.execute(f"set allowed_directories = [{', '.join(map(quote_path_for_sql, folders))}]")
        made = {"global timezone": "'UTC'", "enable_progress_bar": "false", **(settings or {})}
        for name, value in (made | {"enable_external_access": "false", "lock_configuration": "true"}).items():
            connection.execute(f"set {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(file: Path) -> duckdb.DuckDBPyConnection:
    """Returns a locked-down connection that reads *file*, an edition's database that never changes.

    The views are those of the program version that wrote *file*. Raises `duckdb.Error` if it cannot be opened.
    """
    return connect(file, config={"threads": "1"}, read_only=True)


def explain_resource_shortage(error: duckdb.Error) -> str | None:
    """Returns a message if *error* means that memory, file handles or permissions are lacking; None for other causes.

    DuckDB reports such a shortage as an error of the file that it is reading.
    """
    reason = str(error).splitlines()[0]
    if isinstance(error, duckdb.OutOfMemoryException) or any(sign in str(error) for sign in _NO_MEMORY):
        return f"{NO_MEMORY} ({reason}); {MEND}"
    return f"{reason}; {MEND}" if any(os.strerror(number) in reason for number in _LACKING) else None


def quote_path_for_sql(path: Path) -> str:
    """Returns *path* as an SQL string literal."""
    return "'" + str(path).replace("'", "''") + "'"


DUCKDB_WAIT_S = 30.0
LOG_SIZE = "128MB"
"""Size at which DuckDB's write-ahead log is merged into the file.

A larger size means fewer merges, but after a run is killed, the next run has more of the log to replay.
"""


class Database:
    """The DuckDB *file* of edition *key*, which is opened for each transaction unless `kept_open` keeps it open.

    *copy*: a function that returns the path of the copy for readers, which error messages name.
    """

    def __init__(self, key: str, file: Path, copy: Callable[[], Path]):
        self.key = key
        self.file = file
        self.copy = copy
        self._held = False
        self._open: duckdb.DuckDBPyConnection | None = None
        self._running: duckdb.DuckDBPyConnection | None = None

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keeps the file open between the block's transactions, because opening it takes longer than most of them."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.close()

    @contextmanager
    def transaction(self, then: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yields a connection inside one transaction, which is committed at the end, or rolled back on an error.

        A nested transaction is part of the outer one. *then*: a statement to execute after the commit. Raises
        `DuplicateRowError` if a statement adds a row with an existing key. Raises `StoreError` if the disk or the file
        fails, and `Stopped` if a signal interrupts a query.
        """
        if self._running is not None:
            yield self._running
            return
        if self._held and self._open is None:
            self._open = self._open_connection(self.file)
        try:
            with self._run_transaction(self.file, then) as run:
                self._running = run
                try:
                    yield run
                finally:
                    self._running = None
        except (duckdb.Error, StoreError):
            # After some errors, such as a full disk, DuckDB refuses all statements until the file is opened again.
            self.close()
            raise

    def create_file(self, file: Path) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Yields a connection to the new DuckDB file *file*, inside one transaction, as `transaction` does.

        Afterwards all data is in *file* and none in a write-ahead log, so that *file* can be moved by itself.
        """
        return self._run_transaction(file, "checkpoint")

    @contextmanager
    def _run_transaction(self, file: Path, then: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = self._open_connection(file)
        try:
            connection.begin()
            yield connection
            connection.commit()
            if then:
                connection.execute(then)
        except (duckdb.Error, RuntimeError) as error:
            if is_interruption(error):
                raise Stopped("a signal came during a query") from None
            if isinstance(error, duckdb.ConstraintException) and "Duplicate key" in str(error):
                raise DuplicateRowError(f"edition {self.key}: {str(error).splitlines()[0]}") from error
            if not isinstance(error, duckdb.Error) or is_statement_error(error):
                raise
            raise self.build_error(file, error) from None
        finally:
            connection.close()

    def checkpoint(self) -> None:
        """Merges DuckDB's write-ahead log into the edition's file, so that the file can be copied by itself.

        DuckDB also merges the log when it closes a file, but does not report failures then. Raises the errors of
        `transaction`.
        """
        with self.transaction("checkpoint"):
            pass

    def close(self) -> None:
        """Closes the file if `kept_open` keeps it open; the next transaction opens it again."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _open_connection(self, file: Path) -> duckdb.DuckDBPyConnection:
        if self._open is not None and file == self.file:
            return self._open.cursor()
        deadline = time.monotonic() + DUCKDB_WAIT_S
        while True:
            try:
                return connect(file, config=NEW_FILE, settings={"checkpoint_threshold": f"'{LOG_SIZE}'"})
            except duckdb.Error as error:
                reason = str(error).splitlines()[0]
                if "could not set lock" not in reason.lower():
                    raise self.build_error(file, error) from None
                if time.monotonic() >= deadline:
                    raise StoreError(f"edition {self.key}: {file} is held open by another program: {reason}") from None
                time.sleep(0.1)

    def build_error(self, file: Path, error: duckdb.Error) -> StoreError:
        """Returns a `StoreError` for DuckDB's *error* on *file*; its message says what is wrong and what to do."""
        reason = str(error).splitlines()[0]
        if lack := explain_resource_shortage(error):
            return StoreError(f"edition {self.key}: {file}: {lack}")
        if any(os.strerror(number) in reason for number in FULL):
            return StoreError(f"edition {self.key}: no room to write {file} ({reason}); {KEPT}")
        if "WAL file" in reason:
            return StoreError(
                f"edition {self.key}: {file}.wal, which a killed run left, is damaged ({reason}); move it away and "
                "give the same command again: its contents are computed again, paid replies come from the archive"
            )
        return StoreError(
            f"edition {self.key}: {file} is damaged or no DuckDB file: {reason}; move it and {file.name}.wal to "
            f"another folder, keep both, copy {self.copy().name} to {file.name}, which holds the store as readers saw "
            "it last, and give the same command again"
        )


def is_interruption(error: Exception) -> bool:
    """Whether *error* is the one that DuckDB raises if a signal interrupts a query.

    DuckDB raises it instead of the exception of Python's signal handler. If the signal comes while DuckDB reads a
    Python object, the message of DuckDB's error ends with that exception.
    """
    ends = tuple(f": {Stopped.__name__}: {sign}" for sign in ("SIGINT", "SIGTERM"))
    return str(error) == "Query interrupted" or str(error).endswith(ends)


def is_statement_error(error: duckdb.Error) -> bool:
    """Whether *error* comes from an SQL statement or its values, which means a bug in the calling code.

    Errors of the disk, the memory or the file are not of this kind.
    """
    of_machine = (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException)
    # For damage within a file, DuckDB raises the base class of its errors.
    return not (type(error) is duckdb.Error or isinstance(error, of_machine)) or "constraint" in str(error)
