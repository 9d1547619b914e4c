"""The copy of an edition that readers open: replaced in one step, and used only if its digest is recorded.

``read.sha256`` holds the SHA-256 of the copy, and while the copy is replaced those of both. The copy in place is
therefore valid even if the writer is killed. Readers refuse a copy with a database log beside it, because DuckDB would
replay that log. The writer itself never leaves such a log.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import duckdb

from gre_bench.core.errors import StoreError
from gre_bench.core.pretrained import sha256
from gre_bench.store.database import lacks, look_in_edition, reader

LOGS = (".wal", ".wal.recovery", ".wal.checkpoint")
TRIES = 20
"""How often a reader tries to open the copy, if a writer replaces it meanwhile."""
SETTLED_NS = 100_000_000
"""Nanoseconds within which a file may change twice and keep the same times, so that its digest must be read again."""
_CLONE = 0x40049409
Stamp = tuple[int, int, int, int, int]


class _Kept(threading.local):
    """The connections that `kept_open` keeps open in this thread, each with its file's stamp when it was opened."""

    by_file: dict[Path, tuple[Stamp, duckdb.DuckDBPyConnection]] | None = None


_KEPT = _Kept()


@contextmanager
def kept_open() -> Iterator[None]:
    """Keeps copies for readers open between the queries of the block, until a copy is replaced.

    This saves time: opening a copy takes longer than most queries. A nested block changes nothing. Threads that start
    within the block open their own connections.
    """
    if _KEPT.by_file is not None:
        yield
        return
    kept = _KEPT.by_file = {}
    try:
        yield
    finally:
        _KEPT.by_file = None
        for _, connection in kept.values():
            connection.close()


class CopyForReaders:
    """The copy for readers of edition *key*, in *file*."""

    def __init__(self, key: str, file: Path):
        self.key = key
        self.file = file
        self.sums = file.with_name("read.sha256")
        self._believed: Stamp | None = None

    def put(self, beside: Path) -> None:
        """Moves the file *beside*, a new copy of the store, into place; only the writer may call this.

        Even if the process is killed halfway, ``read.sha256`` holds the digest of the copy in place.
        """
        digest = sha256(beside)
        self._record(digest, *self._recorded())
        for left in self.file.parent.glob(f"{self.file.name}.*"):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)
        os.replace(beside, self.file)
        self._record(digest)

    @contextmanager
    def opened(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Checks the digest of the copy and yields a read-only connection to it.

        Raises `StoreError` if the copy is missing, damaged or replaced too often, or has a database log beside it.
        """
        kept = _KEPT.by_file
        if kept is None:
            _, connection = self._connected()
        else:
            self._refuse_logs()
            known = kept.pop(self.file, None)
            if known and known[0] != self._stamp():
                known[1].close()
                known = None
            kept[self.file] = known or self._connected()
            connection = kept[self.file][1].cursor()
            look_in_edition(connection)
        try:
            yield connection
        finally:
            connection.close()

    def _connected(self) -> tuple[Stamp, duckdb.DuckDBPyConnection]:
        for _ in range(TRIES):
            stamp = self.check()
            try:
                connection = reader(self.file)
            except duckdb.Error as error:
                raise self.fault(error) from None
            try:
                # Otherwise the file was replaced, or a log appeared beside it, before it was open.
                self._refuse_logs()
                if self._stamp() == stamp:
                    return stamp, connection
            except BaseException:
                connection.close()
                raise
            connection.close()
        raise self._restless()

    def check(self) -> Stamp:
        """Checks the digest of the copy and returns its stamp: device, inode, size (bytes), times of change (ns).

        Computes the digest only if the stamp has changed since the last check. Raises as `opened` does.
        """

        def read(file: BinaryIO, stamp: Stamp) -> str | None:
            return None if stamp == self._believed else hashlib.file_digest(file, "sha256").hexdigest()  # pyright: ignore[reportArgumentType]

        began = time.time_ns()
        stamp = self._as_written(read)
        if began - stamp[-1] > SETTLED_NS and stamp == self._stamp():
            self._believed = stamp
        return stamp

    def copy_to(self, target: Path) -> None:
        """Copies the copy for readers to the private file *target* and checks the digest of *target*."""

        def copy(file: BinaryIO, _: Stamp) -> str:
            with target.open("wb") as private:
                clone(file, private)
            return sha256(target)

        self._as_written(copy)

    def fault(self, error: duckdb.Error) -> StoreError:
        """Returns the error that says that DuckDB could not read the copy, why, and what to do."""
        lack = lacks(error)
        return (
            StoreError(f"edition {self.key}: {self.file}: {lack}") if lack else self.unread(str(error).splitlines()[0])
        )

    def unread(self, reason: str) -> StoreError:
        """Returns the error that says that the copy cannot be used, why (*reason*), and what to do."""
        return StoreError(
            f"edition {self.key}: {self.file} cannot be read ({reason}); "
            f"gre-bench refresh --edition {self.key} makes a new one"
        )

    def _as_written(self, digest_of: Callable[[BinaryIO, Stamp], str | None]) -> Stamp:
        """Checks the digest of the copy and returns its stamp; tries again if the copy is replaced meanwhile.

        *digest_of* takes the open file and its stamp. It returns None if a file with this stamp was checked before.
        """
        for _ in range(TRIES):
            self._refuse_logs()
            recorded = self._recorded()
            try:
                with self.file.open("rb") as file:
                    stamp = _stamp_of(os.fstat(file.fileno()))
                    digest = digest_of(file, stamp)
            except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
                raise self.unread(str(error.strerror)) from None
            if digest is None or digest in (*recorded, *self._recorded()):
                return stamp
            if stamp == self._stamp():
                known = self._recorded()
                raise self.unread("not as it was written" if known else f"no digest of it in {self.sums.name}")
        raise self._restless()

    def _stamp(self) -> Stamp | None:
        try:
            return _stamp_of(self.file.stat())
        except OSError:
            return None

    def _refuse_logs(self) -> None:
        for end in LOGS:
            log = self.file.with_name(self.file.name + end)
            if os.path.lexists(log):
                raise StoreError(
                    f"edition {self.key}: {log} lies beside the copy for readers, but GRE-bench did not write it; "
                    f"delete it, or run gre-bench refresh --edition {self.key}, which deletes it and makes a new copy"
                )

    def _recorded(self) -> list[str]:
        try:
            return re.findall(r"^[0-9a-f]{64}\b", self.sums.read_text(), re.MULTILINE)
        except (OSError, UnicodeDecodeError):
            return []

    def _record(self, *digests: str) -> None:
        beside = self.sums.with_name(f".read.{os.getpid()}.sha256")
        beside.write_text("".join(f"{digest}  {self.file.name}\n" for digest in dict.fromkeys(digests)))
        os.replace(beside, self.sums)

    def _restless(self) -> StoreError:
        return StoreError(f"edition {self.key}: {self.file} is replaced faster than it can be read; try again")


def clone(source: BinaryIO, target: BinaryIO) -> None:
    """Copies the open file *source* to *target*; where the file system can, they share their bytes."""
    try:
        fcntl.ioctl(target.fileno(), _CLONE, source.fileno())
    except OSError:
        shutil.copyfileobj(source, target, 2**20)


def _stamp_of(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
