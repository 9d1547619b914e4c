"""Writes files completely or not at all, even if the process is killed, and locks files that processes share."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gre_bench.core.errors import LockedError, SourceError, StoreError

READ_ONLY = 0o444
POLL_S = 0.02
"""Seconds between two attempts to lock a file that another process has locked."""


def write_file(path: Path, data: bytes, mode: int = 0o644, keep: bool = True) -> None:
    """Does the same as `replace_file`, but raises `SourceError` instead of `OSError`."""
    try:
        replace_file(path, data, mode, keep)
    except OSError as error:
        raise build_write_error(path, error) from None


def replace_file(path: Path, data: bytes, mode: int = 0o644, keep: bool = True) -> None:
    """Writes *data* to a temporary file in the folder of *path*, and renames it to *path*.

    Args:
        mode: the permission bits of the file.
        keep: whether to flush the data to the disk before the file is renamed.

    Raises:
        OSError: the file cannot be written; an existing file then stays unchanged.
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
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def flush_to_disk(path: Path) -> None:
    """Flushes the file or folder *path* to the disk, so that its content survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(path: Path) -> str:
    """Returns the SHA-256 of the file *path*, in hex; raises OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build_write_error(path: Path, error: OSError) -> SourceError:
    return SourceError(f"{path} cannot be written: {error.strerror}; earlier files are kept; fix that and run again")


@contextmanager
def convert_os_errors(owner: str) -> Iterator[None]:
    """Turns an `OSError` within the ``with`` block into a `StoreError`, whose message begins with *owner*."""
    try:
        yield
    except OSError as error:
        link = error.errno == errno.ELOOP
        why = "it is a symbolic link; delete it" if link else error.strerror or error
        raise StoreError(f"{owner} cannot be used: {why}") from None


@contextmanager
def hold_file_lock(
    path: Path, owner: str, busy: str | Callable[[], str] = "", wait_s: float | None = None, remove: bool = False
) -> Iterator[int]:
    """Holds an exclusive lock on the file *path* within the ``with`` block.

    The file and its folder are created if they do not exist. The system releases the lock if the process ends.

    Args:
        owner: what error messages call the thing that the file protects.
        busy: the message of `LockedError`, or a function that returns the message; "": a default message.
        wait_s: how many seconds to wait for the lock; None: without a limit.
        remove: whether to remove the file before the lock is released.

    Yields:
        The file's descriptor.

    Raises:
        LockedError: another thread or process still holds the lock.
        StoreError: the file cannot be used.
    """
    from filelock import FileLock, Timeout

    handles: list[int] = []
    # On a file system without locks, filelock's substitute would outlive a killed process.
    lock = FileLock(path, thread_local=False, fallback_to_soft=False, on_acquired=handles.append)
    with convert_os_errors(owner):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=-1 if wait_s is None else wait_s, poll_interval=POLL_S)
        except Timeout:
            raise LockedError(busy() if callable(busy) else busy or f"{owner} is in use") from None
    try:
        yield handles[-1]
    finally:
        if remove:
            path.unlink(missing_ok=True)
        lock.release()
