"""Defines the store of one edition, with one writer and many readers, and makes private copies of a store."""

from __future__ import annotations

import json
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
from pydantic import BaseModel

from gre_bench.core.errors import NoCommittedDataError, SettingsError, StoreError
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.process import return_freed_memory
from gre_bench.core.records import Edition, parse_edition_key
from gre_bench.core.whole_files import replace_file
from gre_bench.store import files, schema
from gre_bench.store.database import Database, connect, is_interruption, is_statement_error, open_reader
from gre_bench.store.files import convert_write_errors
from gre_bench.store.queries import Query, QueryRow, Row, as_arrow, columns, fetch, fetch_columns
from gre_bench.store.read_copy import ReadOnlyStoreCopy
from gre_bench.store.schema import NEW_FILE
from gre_bench.store.statements import get_statement

if TYPE_CHECKING:
    from gre_bench.core.settings import QuerySettings


def find_editions(state: Path) -> list[str]:
    """Returns the sorted keys of the editions under *state*: first those made here, then those loaded from releases."""
    folders = [path for path in sorted((state / "editions").glob("*")) if path.is_dir()]
    own = [path.name for path in folders if (path / "edition.duckdb").is_file()]
    return own + [path.name for path in folders if path.name not in own and (path / LOADED).is_file()]


RUN_RECORD_QUERIES = ("start_run", "end_run")
"""Names of the queries that only record runs, so boards need not be filled again after them."""
LOADED = "release"
"""The file that marks an edition as loaded from a release, and names the release."""
SAMPLE_EDITION = "SAMPLE-2026"
"""The key of the edition that ``gre-bench demo`` makes."""
INCLUDED_EDITION = "ICLR-2022-llms"
"""The key of the edition whose board of real papers comes with the program, as a release."""
INCLUDED_EDITIONS = INCLUDED_EDITION, "Agents4Science-2025"
"""The keys of all editions that come with the program as releases."""
_MAKERS = {SAMPLE_EDITION: "gre-bench demo makes it",
           **{key: f"gre-bench import release {key} loads it" for key in INCLUDED_EDITIONS}}  # fmt: skip


def missing_edition_error(state: Path, key: str) -> SettingsError:
    """Returns the error for a missing edition *key*; its message names the folder *state* and similar keys."""
    folder = Path(state).absolute()
    problem = f"no edition {key}" + (f" ({_MAKERS[key]})" if key in _MAKERS else "")
    if not folder.is_dir():
        return SettingsError(f"{problem}: there is no folder {folder}; name the right one: --state FOLDER")
    return SettingsError(f"{problem} in {folder}; {suggest_known_names(key, find_editions(state))}")


def now() -> datetime:
    """Returns the current time, in UTC."""
    return datetime.now(UTC)


class _MetricCounts(BaseModel, strict=True, extra="allow", defer_build=True):
    metric: str
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int


class _StoredStatus(BaseModel, strict=True, extra="allow", defer_build=True):
    """The fields of ``status.json`` that the program reads, for checking the file. Other fields are allowed."""

    state: str
    stage: str
    message: str
    pid: int
    due: int
    done: int
    pairs_per_s: float | None
    remaining_s: float | None
    metrics: list[_MetricCounts]


def _compute_checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


class Store:
    """The store of one edition under the folder *state*.

    Writing needs `lock`, which creates the store if there is none. Reading uses the copy for readers and never waits.
    """

    def __init__(self, state: Path, edition: Edition | str):
        key = (parse_edition_key(edition) if isinstance(edition, str) else edition).key
        self.key = key
        self.folder = Path(state) / "editions" / key
        self.file = self.folder / "edition.duckdb"
        self.status_file = self.folder / "status.json"
        self.lock_file = self.folder / "edition.lock"
        self.release_file = self.folder / LOADED
        self.copy = ReadOnlyStoreCopy(key, self.folder)
        self._database = Database(key, self.file, lambda: self.copy.file)
        self._copied_at = self._copy_s = 0.0
        self._filled = False

    @property
    def read_file(self) -> Path:
        """The path of the copy for readers; the file is missing until something has been committed."""
        return self.copy.file

    @property
    def is_readable(self) -> bool:
        """Whether there is a copy for readers. Do not test its path instead: it may be replaced at any time."""
        return self.copy.exists

    @property
    def exists(self) -> bool:
        return self.file.is_file() or self.is_from_release

    @property
    def is_from_release(self) -> bool:
        """Whether the edition was loaded from a release and therefore has only the copy for readers."""
        return self.release_file.is_file() and self.is_readable

    def refuse_if_from_release(self) -> None:
        """Raises `SettingsError` if the edition was loaded from a release and therefore cannot be written."""
        if self.is_from_release:
            raise SettingsError(
                f"edition {self.key} was loaded from a release and can only be read; to enter your reviews: gre-bench "
                "submit; for a board of your own papers: gre-bench new"
            )

    @contextmanager
    def lock(self, command: str, wait_s: float = 0.0) -> Iterator[None]:
        """Holds the edition's write lock in the name of *command*; first creates the store if there is none.

        Raises `LockedError`, which names the holder, if another process still holds the lock after *wait_s* seconds.
        Raises `StoreError` if the program cannot write the store's schema version.
        """
        with files.edition_lock(self.key, self.lock_file, command, wait_s):
            # Killed writers may have left these files. This process holds the lock, so no other is writing them.
            for left in (*self.folder.glob(".read.*"), *self.folder.glob(".*.json.[0-9]*")):
                left.unlink(missing_ok=True)
            self.refuse_if_from_release()
            if not self.exists:
                self._create_store_file()
            with self._database.kept_open():
                with self._database.transaction() as run:
                    schema.check_version(run, self.key)
                    schema.define_schema(run)
                self._filled = False
                yield

    @contextmanager
    def install_release_copy(self, release: str) -> Iterator[Path]:
        """Yields the path for a new copy for readers, to be made from *release*; then moves that copy into place."""
        with files.edition_lock(self.key, self.lock_file, "import release"):
            beside = self.folder / f".read.{os.getpid()}.duckdb"
            try:
                with convert_write_errors(self.key, self.read_file, beside):
                    yield beside
                    self.release_file.write_text(release, encoding="utf-8")
                    self.copy.replace_current_copy(beside)
            finally:
                beside.unlink(missing_ok=True)

    def discard(self) -> None:
        """Deletes the store, whatever it holds; does nothing if another process is writing it."""
        if not self.is_being_written():
            for file in self.folder.glob("*"):
                if file.is_file():
                    file.unlink(missing_ok=True)
            with suppress(OSError):  # a report of refused rows may remain
                self.folder.rmdir()

    def is_being_written(self) -> bool:
        return files.is_lock_held(self.lock_file)

    def _create_store_file(self) -> None:
        """Creates a new store under a temporary name, then moves it into place in one step."""
        from gre_bench.stats.intervals import student_quantiles

        beside = self.folder / ".new.duckdb"
        for file in (beside, self.folder / ".new.duckdb.wal"):
            file.unlink(missing_ok=True)
        with self._database.create_file(beside) as run:
            schema.define_schema(run)
            made = {"schema_version": schema.SCHEMA_VERSION, "edition": self.key, "created_at": now()}
            run.execute(get_statement("queries", "start_meta"), made)
            run.execute(get_statement("queries", "add_student_t"), columns(student_quantiles()))
        with convert_write_errors(self.key, self.file, beside):
            os.replace(beside, self.file)

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yields a connection to the store itself inside one transaction, as `Database.transaction` does.

        The block may change what the board depends on, so `fill_board` will fill the board again.
        """
        self._filled = False
        try:
            with self._database.transaction() as run:
                yield run
        except BaseException:
            self._filled = False
            raise

    def fill_board(self) -> None:
        """Fills the tables ``board`` and ``strata``, unless nothing has changed since the last time.

        Raises `StoreError` if they cannot be filled from the other tables.
        """
        if self._filled:
            return
        try:
            with self._database.transaction() as run:
                schema.fill_board_tables(run)
        except duckdb.Error as error:
            if is_interruption(error):
                raise
            raise self.fault(error) from None
        self._filled = True

    def write(self, *steps: tuple[str, Sequence[Any] | Mapping[str, Any]]) -> None:
        """Runs queries in one transaction; each of *steps* is a pair of a query's name and its values.

        A mapping gives the query's parameters. A list of records becomes the table ``incoming`` that the query reads;
        for an empty list, the query is skipped.
        """
        beside = all(query in RUN_RECORD_QUERIES for query, _ in steps)
        with self._database.transaction() if beside else self.transaction() as run:
            for query, values in steps:
                text = get_statement("queries", query)
                if isinstance(values, Mapping):
                    run.execute(text, dict(values))
                elif values:
                    run.register("incoming", as_arrow(columns(values)))
                    run.execute(text)
                    run.unregister("incoming")

    def rows(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        """Returns the rows of *query* from the store itself. Only the process that holds the lock may call this."""
        with self._database.transaction() as run:
            return fetch(run, query, **parameters)

    def columns(self, query: Query[Any], **parameters: Any) -> list[list[Any]]:
        """Returns the result of *query* as one list per column, faster than `rows`. No column may contain nulls."""
        with self._database.transaction() as run:
            return fetch_columns(run, query, **parameters)

    def read(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        """Returns the rows of *query* from the copy for readers, without waiting for the writer.

        Raises `SettingsError` if the edition is missing, `NoCommittedDataError` if it has no copy yet, and `StoreError`
        if the copy is damaged.
        """
        with self.reading() as connection:
            try:
                return fetch(connection, query, **parameters)
            except duckdb.Error as error:
                raise self.copy.convert_duckdb_error(error) from None

    def read_with_repair(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        """Does the same as `read`, but first replaces a damaged copy. This takes the lock: only runs that write may
        call it."""
        try:
            return self.read(query, **parameters)
        except StoreError:
            if not (self.exists and self.is_readable):
                raise
            with self.lock("mending the copy for readers"):
                self.copy_for_readers()
            return self.read(query, **parameters)

    def query(self, text: str, bounds: QuerySettings | None = None) -> tuple[list[str], list[Row]]:
        """Runs a user's SQL statement *text* on a private copy; returns the result's column names and rows.

        Raises `SettingsError` with the first line of DuckDB's error, or if a limit of *bounds* is exceeded.
        """
        from gre_bench.core.settings import QuerySettings
        from gre_bench.store.user_queries import run_user_query

        self._check_is_readable()
        with TemporaryDirectory(prefix="gre-bench-sql-") as folder:
            private = Path(folder) / "read.duckdb"
            self.copy.copy_to(private)
            return run_user_query(self.key, private, text, bounds or QuerySettings())

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yields a read-only connection to the copy for readers, so that all queries of a block read the same copy."""
        self._check_is_readable()
        with self.copy.open_read_only() as connection:
            try:
                yield connection
            except duckdb.Error as error:
                if is_statement_error(error):
                    raise
                raise self.copy.convert_duckdb_error(error) from None

    def _check_is_readable(self) -> None:
        """Raises `SettingsError` if the edition is missing, `NoCommittedDataError` if it has no copy for readers."""
        if self.is_readable:
            return
        if not self.folder.is_dir():
            raise missing_edition_error(self.folder.parent.parent, self.key)
        raise NoCommittedDataError(f"edition {self.key} has nothing to read yet; {self.next_step_hint}")

    @property
    def next_step_hint(self) -> str:
        """The end of an error message about a missing board, which tells the user how to get one."""
        if self.is_being_written():
            return "a run is writing it now; follow it: gre-bench status, then ask again"
        return f"run: gre-bench refresh --edition {self.key}"

    def copy_for_readers(self, at_most_every_s: float = 0.0) -> None:
        """Replaces the copy for readers with a copy of the store as it is now.

        Does nothing if this object made a copy less than *at_most_every_s* seconds ago. If copying is slow, this
        interval is lengthened, so that copying takes at most a twentieth of a run.
        """
        began = time.monotonic()
        if began - self._copied_at < (at_most_every_s and max(at_most_every_s, 20 * self._copy_s)):
            return
        beside = self.folder / f".read.{os.getpid()}.duckdb"
        with convert_write_errors(self.key, self.read_file, beside):
            self.copy_store(beside)
            self.copy.replace_current_copy(beside)
        self._copied_at = time.monotonic()
        self._copy_s = self._copied_at - began

    def copy_store(self, beside: Path) -> None:
        """Copies the store's file, with all committed transactions and a filled board, to the new file *beside*.

        The caller must hold the lock.
        """
        self.fill_board()
        self._database.checkpoint()
        self.close_database()
        shutil.copyfile(self.file, beside)

    def close_database(self) -> None:
        """Closes the store's file until the next query: while it is open, DuckDB keeps in memory what it has read."""
        self._database.close()
        return_freed_memory()

    def fault(self, error: duckdb.Error) -> StoreError:
        """Returns a `StoreError` for an *error* that DuckDB raised while reading a private copy of the store."""
        return self._database.build_error(self.file, error)

    def save_status(self, values: Mapping[str, Any]) -> None:
        """Replaces ``status.json`` atomically with *values* and a checksum; raises `StoreError` if that fails."""
        text = json.dumps(values, indent=1, default=str)
        data = json.dumps(json.loads(text) | {"crc": _compute_checksum(text)}, indent=1).encode()
        with convert_write_errors(self.key, self.status_file):
            replace_file(self.status_file, data, keep=False)

    def status(self) -> dict[str, Any] | None:
        """Returns the status of the current or last run; None before the first run.

        Raises `StoreError` if the file cannot be read, has another structure or does not match its checksum.
        """
        try:
            status = json.loads(self.status_file.read_text())
            _StoredStatus.model_validate(status)
            stated = status.pop("crc", None)
            if stated not in (None, _compute_checksum(json.dumps(status, indent=1))):
                raise ValueError("not as it was written")
            return status
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError, OSError):
            raise StoreError(
                f"edition {self.key}: {self.status_file} is damaged or cannot be read; the next refresh makes a new one"
            ) from None


class ReadersCopyStore(Store):
    """A `Store` whose queries all read the copy for readers, so that `rows` needs no lock and never waits."""

    def rows(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        return self.read(query, **parameters)


class FrozenStore(ReadersCopyStore):
    """A private copy of *store* in *file*, with an open connection. Reading it never waits, and no run changes it."""

    def __init__(self, store: Store, file: Path, connection: duckdb.DuckDBPyConnection):
        super().__init__(store.folder.parent.parent, store.key)
        self.file = file
        self._connection = connection
        self._origin = store

    def read(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        try:
            return fetch(self._connection, query, **parameters)
        except duckdb.Error as error:
            if is_statement_error(error):
                raise
            raise self._origin.fault(error) from None


@contextmanager
def open_frozen_copy(store: Store, command: str, wait_s: float = 0.0) -> Iterator[FrozenStore]:
    """Copies *store* under its lock, which *command* holds; yields the copy, and deletes it at the end.

    Raises `LockedError` if a run is still writing after *wait_s* seconds.
    """
    with TemporaryDirectory(prefix="gre-bench-") as folder:
        file = Path(folder) / store.file.name
        with store.lock(command, wait_s), convert_write_errors(store.key, file, file):
            store.copy_store(file)
        try:
            connection = open_reader(file)
        except duckdb.Error as error:
            raise store.fault(error) from None
        with connection:
            yield FrozenStore(store, file, connection)


@contextmanager
def copy_to_scratch(store: Store) -> Iterator[Store]:
    """Yields a temporary edition that starts as a copy of *store* and can be written; deletes it at the end.

    *store* may have been loaded from a release. A row is left out if it needs a text that the release withholds.
    """
    store._check_is_readable()
    with TemporaryDirectory(prefix="gre-bench-") as folder:
        given, scratch = Path(folder) / "given.duckdb", Store(Path(folder), store.key)
        store.copy.copy_to(given)
        with scratch.lock("copy"):
            pass  # taking the lock creates the tables
        try:
            with connect(scratch.file, {"given": given}, NEW_FILE) as run:
                for table in schema.TABLES:
                    if table not in _TABLES_NOT_COPIED:
                        _copy_table(run, table)
        except duckdb.Error as error:
            raise store.copy.convert_duckdb_error(error) from None
        with scratch.lock("copy"):
            scratch.copy_for_readers()
        yield scratch


_TABLES_NOT_COPIED = ("meta", "student_t", "board", "strata")
"""Tables that are not copied: a new edition has them already, or fills them from the others."""
_WITHHELD_VALUE_SQL = {"VARCHAR": "''", "VARCHAR[]": "[]", "TIMESTAMP WITH TIME ZONE": "now()"}
"""Type of a column → the SQL value to store in a required cell that a release leaves empty."""


def _copy_table(run: duckdb.DuckDBPyConnection, table: str) -> None:
    """Copies *table* from the attached database ``given``, without the rows whose required text is missing."""
    rows = run.sql(f"from given.{table}")
    given, cells = rows.columns, []
    for name, kind, nullable, *_ in run.execute(f"describe {table}").fetchall():
        is_filled = nullable == "NO" and kind in _WITHHELD_VALUE_SQL
        cells.append(
            "null" if name not in given else f"coalesce({name}, {_WITHHELD_VALUE_SQL[kind]})" if is_filled else name
        )
        rows = rows.filter("text is not null") if (name, nullable) == ("text", "NO") else rows
    rows.project(", ".join(cells)).insert_into(table)
