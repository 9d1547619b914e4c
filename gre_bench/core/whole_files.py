"""Files that processes share: written completely or not at all, even if the process is killed, and locked."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gre_bench.core.errors import SourceError, StoreError

READ_ONLY = 0o444


def put(path: Path, data: bytes, mode: int = 0o644, keep: bool = True) -> None:
    """Writes *data* to the file *path*, by way of a temporary file in the same folder that is then renamed.

    *keep*: sync the data to disk before renaming. Raises `SourceError` if the file cannot be written; an existing file
    then stays unchanged.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if keep:
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise unwritten(path, error) from None


def unwritten(path: Path, error: OSError) -> SourceError:
    return SourceError(f"{path} cannot be written: {error.strerror}; earlier files are kept; fix that and run again")


@contextmanager
def usable(owner: str) -> Iterator[None]:
    """Turns an `OSError` within the ``with`` block into a `StoreError` that names *owner*, except `BlockingIOError`."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        raise StoreError(f"{owner} cannot be used: {error.strerror or error}") from None


@contextmanager
def locked(path: Path, owner: str, wait: bool = True, remove: bool = False) -> Iterator[int]:
    """Holds an exclusive lock on the file *path* within the ``with`` block; yields the file's descriptor.

    The file and its folder are created if they do not exist. The system releases the lock if the process ends.
    *wait*: wait for the lock; otherwise raises `BlockingIOError` if another thread or process holds it.
    *remove*: remove the file before the lock is released.
    Raises `StoreError`, which names *owner*, if the file cannot be used.
    """
    with usable(owner):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _locked(path, wait)
    try:
        yield handle
    finally:
        if remove:
            path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, wait: bool) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(path).st_ino == os.fstat(handle).st_ino:
                return handle
        except FileNotFoundError:  # another holder removed the file during the wait: lock the new one
            pass
        except OSError:
            os.close(handle)
            raise
        os.close(handle)
