"""The files beside an edition's database: ``edition.lock`` and ``status.json``, and errors of writing any of them.

A process may write only while it holds the lock. The status is that of the edition's current or last run.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gre_bench.core.errors import LockedError, StoreError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KEPT = "what was committed is kept: make room and give the same command again"


@contextmanager
def putting(key: str, *files: Path) -> Iterator[None]:
    """Turns an `OSError` in the block into a `StoreError` for edition *key*.

    *files*: the file that the block writes, then the block's temporary files. The error message names the first file.
    After an error the temporary files are deleted, because they may be incomplete.
    """
    try:
        yield
    except OSError as error:
        for file in files[1:]:
            file.unlink(missing_ok=True)
        raise StoreError(f"edition {key}: {files[0]} cannot be written: {error.strerror}; {KEPT}") from None


SETTLE_S = 0.5
"""Seconds for which the lock is tried at least: `is_held`, in another process, holds it for a moment."""


@contextmanager
def held(key: str, file: Path, command: str, wait_s: float = 0.0) -> Iterator[None]:
    """Holds the lock *file* of edition *key* during the block, and records *command* as the holder.

    Raises `LockedError`, which names the current holder, if the lock does not become free within *wait_s* seconds.
    Raises `StoreError` if the file cannot be written or is a symbolic link.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"edition {key}: {file} is a symbolic link, which no lock may be; delete it") from None
        raise StoreError(f"edition {key}: cannot write in {file.parent}: {error.strerror}") from None
    try:
        _take(key, file, handle, time.monotonic() + max(wait_s, SETTLE_S))
        since = datetime.now(UTC).isoformat()
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
        with putting(key, file):
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(handle)


def is_held(file: Path) -> bool:
    """Returns whether some process holds the lock *file* now; False if the file cannot be read."""
    try:
        with file.open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def _take(key: str, file: Path, handle: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"edition {key} is being written by {_holder(file)}; wait for it to end, or stop it"
                ) from None
            time.sleep(0.2)


def _holder(file: Path) -> str:
    try:
        holder = json.loads(file.read_text())
        return f"process {holder['pid']} on {holder['host']} ({holder['command']}, since {holder['since'][:19]} UTC)"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"


class _Counts(BaseModel, strict=True, extra="allow"):
    metric: str
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int


class _Status(BaseModel, strict=True, extra="allow"):
    """What readers of a status rely on."""

    state: str
    stage: str
    message: str
    pid: int
    due: int
    done: int
    pairs_per_s: float | None
    remaining_s: float | None
    metrics: list[_Counts]


def save_status(key: str, file: Path, status: Mapping[str, Any]) -> None:
    """Replaces the contents of *file* by *status* and a checksum, in one step.

    Raises `StoreError`, which names edition *key*, if that fails.
    """
    beside = file.with_name(f".status.{os.getpid()}.json")
    text = json.dumps(status, indent=1, default=str)
    with putting(key, file, beside):
        beside.write_text(json.dumps(json.loads(text) | {"crc": _sum(text)}, indent=1))
        os.replace(beside, file)


def load_status(key: str, file: Path) -> dict[str, Any] | None:
    """Returns the status in *file*, or None if the file does not exist because there was no run yet.

    Raises `StoreError`, which names edition *key*, if the file cannot be read, has another shape or does not match its
    checksum.
    """
    try:
        status = json.loads(file.read_text())
        _Status.model_validate(status)
        stated = status.pop("crc", None)
        if stated not in (None, _sum(json.dumps(status, indent=1))):
            raise ValueError("not as it was written")
        return status
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError, OSError):
        raise StoreError(
            f"edition {key}: {file} is damaged or cannot be read; the next refresh makes a new one"
        ) from None


def _sum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
