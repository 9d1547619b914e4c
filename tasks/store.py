"""The store of one edition: the only user of DuckDB and of ``sql/``.

An edition lives in one folder: ``edition.duckdb`` (written under ``edition.lock``, open only while that is held),
``read.duckdb`` (a copy that readers open, put in place whole), ``status.json``.
What the store holds is the checkpoint: a run asks it what is missing and goes on from there.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import socket
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import duckdb

from tasks.errors import Clash, LockedError, SettingsError, Stopped, StoreError
from tasks.records import Edition
from tasks.settings import checkout, edition_of

SCHEMA_VERSION = 4
EARLIEST_VERSION = 3
"""The earliest schema version that ``sql/migrations`` has a way from: one file a step, named by where it leads."""
STORAGE_VERSION = "v1.4.0"
"""DuckDB file format written: the oldest that a reader of these files is likely to have."""

TABLES = (
    "meta",
    "runs",
    "imports",
    "papers",
    "reviews",
    "judgments",
    "snapshots",
    "review_versions",
    "paper_sources",
    "texts",
    "synopses",
    "replies",
    "draws",
    "sample",
    "candidates",
    "signatures",
    "plan",
    "spans",
    "scores",
    "problems",
    "separation",
    "effects",
    "validations",
    "agreements",
    "exposures",
    "standings",
    "profiles",
    "lengths",
    "student_t",
)
VIEWS = ("student_p", "pairs", "progress", "boards", "leaderboard")
DUCKDB_WAIT_S = 30.0
LOG_SIZE = "128MB"
"""How long the log beside the file may get before it is brought into it: each time costs, and so does each MB that the
next run has to read again after a kill."""
SETTLE_S = 0.5
"""The lock is tried for at least this long: a look at who holds it takes it for an instant."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KEPT = "what was committed is kept: make room and give the same command again"

Row = dict[str, Any]


@cache
def statement(kind: str, name: str) -> str:
    """The text of ``sql/<kind>/<name>.sql``."""
    return (checkout() / "sql" / kind / f"{name}.sql").read_text(encoding="utf-8")


def find_editions(state: Path) -> list[str]:
    """Keys of the editions under *state*, sorted."""
    return sorted(folder.parent.name for folder in (state / "editions").glob("*/edition.duckdb"))


class Store:
    """One edition's folder. Writing needs `lock`; reading goes to the read copy and never waits."""

    def __init__(self, state: Path, edition: Edition | str):
        key = (edition_of(edition) if isinstance(edition, str) else edition).key
        self.key = key
        self.folder = Path(state) / "editions" / key
        self.file = self.folder / "edition.duckdb"
        self.read_file = self.folder / "read.duckdb"
        self.status_file = self.folder / "status.json"
        self.lock_file = self.folder / "edition.lock"
        self._copied_at = self._copy_s = 0.0
        self._open: duckdb.DuckDBPyConnection | None = None
        self._locked = False

    @property
    def exists(self) -> bool:
        return self.file.is_file()

    @contextmanager
    def lock(self, command: str, wait_s: float = 0.0) -> Iterator[None]:
        """Holds the edition for writing; `LockedError` names the holder if it is not free within *wait_s*."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"edition {self.key}: cannot write in {self.folder}: {error.strerror}") from None
        try:
            self._take(handle, time.monotonic() + max(wait_s, SETTLE_S))
            self._sweep()
            holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": now().isoformat()}
            with self._putting(self.lock_file):
                os.ftruncate(handle, 0)
                os.pwrite(handle, json.dumps(holder).encode(), 0)
            if not self.exists:
                self._make()
            self._migrate()
            self._locked = True
            self._complete()
            yield
        finally:
            self._locked = False
            self._let_go()
            os.close(handle)

    def is_being_written(self) -> bool:
        """Whether some process holds the lock now."""
        try:
            with self.lock_file.open("rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _take(self, handle: int, deadline: float) -> None:
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise LockedError(
                        f"edition {self.key} is being written by {self._holder()}; wait for it to end, or stop it"
                    ) from None
                time.sleep(0.2)

    def _holder(self) -> str:
        try:
            holder = json.loads(self.lock_file.read_text())
            return (
                f"process {holder['pid']} on {holder['host']} ({holder['command']}, since {holder['since'][:19]} UTC)"
            )
        except (OSError, ValueError, KeyError):
            return "another process"

    def _sweep(self) -> None:
        """Takes away what killed writers left beside: nobody else writes here now."""
        for left in (*self.folder.glob(".read.*.duckdb"), *self.folder.glob(".status.*.json")):
            left.unlink(missing_ok=True)

    @contextmanager
    def _putting(self, *files: Path) -> Iterator[None]:
        """`StoreError` where the first of *files* cannot be written; what is half there, the others, goes."""
        try:
            yield
        except OSError as error:
            for file in files[1:]:
                file.unlink(missing_ok=True)
            raise StoreError(f"edition {self.key}: {files[0]} cannot be written: {error.strerror}; {KEPT}") from None

    def _complete(self) -> None:
        """Adds the tables that came within a schema version, and makes the views anew."""
        with self.transaction() as run:
            for name in TABLES:
                run.execute(statement("tables", name))
            for name in VIEWS:
                run.execute(statement("views", name))

    def _make(self) -> None:
        """A new store, made beside its place and moved there whole."""
        from tasks.stats import student_quantiles

        beside = self.folder / ".new.duckdb"
        for file in (beside, self.folder / ".new.duckdb.wal"):
            file.unlink(missing_ok=True)
        with self._transaction(beside) as run:
            for name in TABLES:
                run.execute(statement("tables", name))
            run.execute("insert into meta values ($1, $2, $3)", [SCHEMA_VERSION, self.key, now()])
            run.execute(statement("queries", "add_student_t"), _columns(student_quantiles(1000)))
        self._checkpoint(beside)
        with self._putting(self.file, beside):
            os.replace(beside, self.file)

    def _migrate(self) -> None:
        """Brings a store of an earlier schema version to this one: on a copy beside it, moved in its place whole.

        The store as it was is kept as ``edition.vN.duckdb``, for an earlier program to go on with.
        """
        with self.transaction() as run:
            version = _version_of(run, self.key)
        if version == SCHEMA_VERSION:
            return
        if not EARLIEST_VERSION <= version < SCHEMA_VERSION:
            todo = "update the program" if version > SCHEMA_VERSION else "refresh the edition anew in another --state"
            raise StoreError(
                f"edition {self.key} has schema version {version}, this program writes {SCHEMA_VERSION} and brings "
                f"forward {EARLIEST_VERSION} and later; {todo}"
            )
        beside = self.folder / ".migrated.duckdb"
        for file in (beside, self.folder / ".migrated.duckdb.wal"):
            file.unlink(missing_ok=True)
        self._copy(beside)
        with self._transaction(beside) as run:
            for step in range(version + 1, SCHEMA_VERSION + 1):
                run.execute(statement("migrations", f"{step:03}"))
            run.execute("update meta set schema_version = $1", [SCHEMA_VERSION])
        self._checkpoint(beside)
        kept = self.file.with_suffix(f".v{version}.duckdb")
        with self._putting(kept, kept, beside):
            shutil.copyfile(self.file, kept)
            os.replace(beside, self.file)

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction: committed at the end, rolled back on an error, always closed.

        While the lock is held the file stays open: to open and close it costs more than most transactions do.
        """
        if self._locked and self._open is None:
            self._open = self._connect(self.file)
        try:
            with self._transaction(self.file) as run:
                yield run
        except (duckdb.Error, StoreError):
            # After some faults (a full disk) DuckDB refuses all that comes, until the file is opened anew.
            self._let_go()
            raise
        except RuntimeError as error:
            if not interrupted(error):
                raise
            raise Stopped("a signal came during a query") from None

    def _let_go(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @contextmanager
    def _transaction(self, file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = self._connect(file)
        try:
            connection.begin()
            yield connection
            connection.commit()
        except duckdb.Error as error:
            if isinstance(error, duckdb.ConstraintException) and "Duplicate key" in str(error):
                raise Clash(f"edition {self.key}: {str(error).splitlines()[0]}") from error
            if of_statement(error):
                raise
            raise self._fault(file, error) from None
        finally:
            connection.close()

    def _connect(self, file: Path) -> duckdb.DuckDBPyConnection:
        deadline = time.monotonic() + DUCKDB_WAIT_S
        while True:
            try:
                connection = duckdb.connect(str(file), config={"storage_compatibility_version": STORAGE_VERSION})
                connection.execute("set timezone = 'UTC'")
                connection.execute("set enable_progress_bar = false")
                connection.execute(f"set checkpoint_threshold = '{LOG_SIZE}'")
                return connection
            except duckdb.Error as error:
                reason = str(error).splitlines()[0]
                if "could not set lock" not in reason.lower():
                    raise self._fault(file, error) from None
                if time.monotonic() >= deadline:
                    raise StoreError(f"edition {self.key}: {file} is held open by another program: {reason}") from None
                time.sleep(0.1)

    def _fault(self, file: Path, error: duckdb.Error) -> StoreError:
        """One line for what *error* says of the disk or of *file*, with what to do."""
        reason = str(error).splitlines()[0]
        if any(os.strerror(number) in reason for number in FULL):
            return StoreError(f"edition {self.key}: no room to write {file} ({reason}); {KEPT}")
        if "WAL file" in reason:
            return StoreError(
                f"edition {self.key}: {file}.wal, which a killed run left, is damaged ({reason}); move it away and "
                "give the same command again: what it held is made anew, paid replies come from the archive"
            )
        return StoreError(
            f"edition {self.key}: {file} is damaged or no DuckDB file: {reason}; copy {self.read_file.name} over it, "
            f"the store as readers saw it last, take {file.name}.wal away, and give the same command again"
        )

    def write(self, *steps: tuple[str, Sequence[Any] | Mapping[str, Any]]) -> None:
        """Runs *steps* in one transaction: (query, rows) inserts records in bulk, (query, mapping) gives parameters.

        A query of many rows reads them as the table ``incoming``; the others unnest one list a column.
        """
        with self.transaction() as run:
            for query, values in steps:
                text = statement("queries", query)
                if isinstance(values, Mapping):
                    run.execute(text, dict(values))
                elif values and "from incoming" in text:
                    run.register("incoming", _arrow(_columns(values)))
                    run.execute(text)
                    run.unregister("incoming")
                elif values:
                    run.execute(text, _columns(values))

    def rows(self, query: str, **parameters: Any) -> list[Row]:
        """Rows of ``sql/queries/<query>.sql`` from the store itself; for the writer, who holds the lock."""
        with self.transaction() as run:
            return _fetch(run, statement("queries", query), parameters)

    def columns(self, query: str, **parameters: Any) -> list[list[Any]]:
        """The same as one list a column, for many rows without nulls."""
        with self.transaction() as run:
            found = run.execute(statement("queries", query), dict(parameters)).fetchnumpy()
            return [column.tolist() for column in found.values()]

    def read(self, query: str, **parameters: Any) -> list[Row]:
        """Rows of a query from the read copy: whole, and never waiting for the writer."""
        connection = self._reader()
        try:
            return _fetch(connection, statement("queries", query), parameters)
        except duckdb.Error as error:
            raise self._unread(error) from None
        finally:
            connection.close()

    def read_mended(self, query: str, **parameters: Any) -> list[Row]:
        """`read`, of a copy made anew if the one that is there is damaged; for a run, which is to write anyway."""
        try:
            return self.read(query, **parameters)
        except StoreError:
            if not (self.exists and self.read_file.is_file()):
                raise
            with self.lock("mending the copy for readers"):
                self.copy_for_readers()
            return self.read(query, **parameters)

    def query(self, text: str) -> tuple[list[str], list[Row]]:
        """Columns and rows of a statement of a user's own on the read copy: nothing else is written or reached.

        `SettingsError` with the first line of what DuckDB says is wrong with it.
        """
        connection = self._reader()
        try:
            for setting in ("enable_external_access = false", "timezone = 'UTC'", "enable_progress_bar = false",
                            "lock_configuration = true"):  # fmt: skip
                connection.execute(f"set {setting}")
            found = _interruptible(connection, text)
            if found.description is None:
                return [], []
            names = _distinct([column[0] for column in found.description])
            return names, [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            line = " ".join(str(error).split("LINE 1:")[0].split())
            if not of_statement(error):
                raise self._unread(error) from None
            raise SettingsError(f"edition {self.key}: {line}") from None
        finally:
            connection.close()

    def _reader(self) -> duckdb.DuckDBPyConnection:
        if not self.read_file.is_file():
            if not self.folder.is_dir():
                known = ", ".join(find_editions(self.folder.parent.parent)) or "none yet"
                raise SettingsError(f"no edition {self.key} in {self.folder.parent}; known: {known}")
            raise StoreError(f"edition {self.key} has nothing to read yet; run: gre-bench refresh --edition {self.key}")
        try:
            return duckdb.connect(str(self.read_file), read_only=True)
        except duckdb.Error as error:
            raise self._unread(error) from None

    def _unread(self, error: duckdb.Error) -> StoreError:
        return StoreError(
            f"edition {self.key}: {self.read_file} cannot be read ({str(error).splitlines()[0]}); "
            f"gre-bench refresh --edition {self.key} makes it anew"
        )

    def copy_for_readers(self, at_most_every_s: float = 0.0) -> None:
        """Puts a fresh read copy in place, unless one was made less than *at_most_every_s* ago by this object.

        A large store is copied less often: by more than a twentieth the copies never slow a run down.
        """
        began = time.monotonic()
        if began - self._copied_at < (at_most_every_s and max(at_most_every_s, 20 * self._copy_s)):
            return
        beside = self.folder / f".read.{os.getpid()}.duckdb"
        with self._putting(self.read_file, beside):
            self._copy(beside)
            os.replace(beside, self.read_file)
        self._copied_at = time.monotonic()
        self._copy_s = self._copied_at - began

    def _copy(self, beside: Path) -> None:
        """The store's file, with all that was committed to it, copied to *beside*."""
        self._checkpoint(self.file)
        shutil.copyfile(self.file, beside)

    def _checkpoint(self, file: Path) -> None:
        """Brings all that was committed into *file* itself: what is moved or copied must not need its log.

        DuckDB does so when it closes a file, and says nothing where it cannot.
        """
        connection = self._connect(file)
        try:
            connection.execute("checkpoint")
        except duckdb.Error as error:
            self._let_go()
            raise self._fault(file, error) from None
        except RuntimeError as error:
            if not interrupted(error):
                raise
            raise Stopped("a signal came during a checkpoint") from None
        finally:
            connection.close()

    def save_status(self, status: Mapping[str, Any]) -> None:
        """Puts ``status.json`` in place, whole."""
        beside = self.folder / f".status.{os.getpid()}.json"
        text = json.dumps(status, indent=1, default=str)
        with self._putting(self.status_file, beside):
            beside.write_text(json.dumps(json.loads(text) | {"crc": _sum(text)}, indent=1))
            os.replace(beside, self.status_file)

    def status(self) -> Row | None:
        """What the last run said of itself; None before the first."""
        try:
            status = json.loads(self.status_file.read_text())
            stated = status.pop("crc", None)
            if stated not in (None, _sum(json.dumps(status, indent=1))):
                raise ValueError("not as it was written")
            return status
        except FileNotFoundError:
            return None
        except (ValueError, AttributeError, OSError):
            raise StoreError(
                f"edition {self.key}: {self.status_file} is damaged or cannot be read; the next refresh makes it anew"
            ) from None


def interrupted(error: RuntimeError) -> bool:
    """Whether a signal came during a query: what its handler raises is lost in DuckDB, which raises *error*."""
    return str(error) == "Query interrupted"


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def _version_of(run: duckdb.DuckDBPyConnection, key: str) -> int:
    try:
        return run.execute("select schema_version from meta").fetchall()[0][0]
    except (duckdb.ProgrammingError, IndexError):
        raise StoreError(f"edition {key}: its database has no schema version; it was not made here") from None


def _sum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def of_statement(error: duckdb.Error) -> bool:
    """Whether *error* is of a statement or its values, a bug; else it is of the disk, the memory or the file."""
    of_machine = (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException)
    # What DuckDB finds damaged within a file comes as its plainest error.
    return not (type(error) is duckdb.Error or isinstance(error, of_machine)) or "constraint" in str(error)


def _interruptible(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.DuckDBPyConnection:
    """``connection.execute(text)`` in a thread of its own: in the main one DuckDB does not always look for signals."""
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(connection.execute, text)
        try:
            return asked.result()
        except BaseException:
            connection.interrupt()
            raise


def _distinct(names: Sequence[str]) -> list[str]:
    """*names*, the second of a name as ``name_2``."""
    return [name if name not in names[:k] else f"{name}_{names[: k + 1].count(name)}" for k, name in enumerate(names)]


def _columns(values: Sequence[Any]) -> dict[str, list[Any]]:
    """Records as one list a column, the shape that the bulk queries unnest."""
    if is_dataclass(values[0]):
        return {field.name: [getattr(value, field.name) for value in values] for field in fields(values[0])}
    return {name: [row[name] for row in values] for name in values[0]}


def _arrow(columns: Mapping[str, list[Any]]) -> Any:
    """*columns* as an Arrow table: DuckDB reads it where it lies, and takes many times as long to bind lists."""
    import pyarrow

    def flat(lists: list[Any]) -> Any:
        if not all(isinstance(one, list | tuple) for one in lists):
            return pyarrow.array(lists)
        ends = pyarrow.array(accumulate(map(len, lists), initial=0), pyarrow.int32())
        return pyarrow.ListArray.from_arrays(ends, pyarrow.array(list(chain.from_iterable(lists))))

    return pyarrow.table({name: flat(values) for name, values in columns.items()})


def _fetch(connection: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, Any]) -> list[Row]:
    cursor = connection.execute(text, dict(parameters) or None)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
