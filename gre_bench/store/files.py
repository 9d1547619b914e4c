"""Holds the lock of an edition, ``edition.lock``, which every writer needs, and converts errors while writing files."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gre_bench.core.errors import StoreError
from gre_bench.core.whole_files import hold_file_lock

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KEPT = "what was committed is kept: make room and give the same command again"


@contextmanager
def convert_write_errors(key: str, *files: Path) -> Iterator[None]:
    """Turns an `OSError` in the block into a `StoreError` for edition *key*.

    *files*: one or more files. The first is the file that the block writes; the message names it. All others are
    temporary files. After an error the temporary files are deleted, because they may be incomplete.
    """
    try:
        yield
    except OSError as error:
        for file in files[1:]:
            file.unlink(missing_ok=True)
        raise StoreError(f"edition {key}: {files[0]} cannot be written: {error.strerror}; {KEPT}") from None


SETTLE_S = 0.5
"""The minimum number of seconds to try for the lock: `is_lock_held`, in another process, may hold it for a moment."""


@contextmanager
def edition_lock(key: str, file: Path, command: str, wait_s: float = 0.0) -> Iterator[None]:
    """Holds the lock *file* of edition *key* during the block, and records *command* as the holder.

    Raises `LockedError`, which names the current holder, if the lock does not become free within *wait_s* seconds.
    Raises `StoreError` if the file cannot be written or is a symbolic link.
    """

    def busy() -> str:
        return f"edition {key} is being written by {_describe_lock_holder(file)}; wait for it to end, or stop it"

    with hold_file_lock(file, f"edition {key}: {file}", busy, max(wait_s, SETTLE_S)) as handle:
        since = datetime.now(UTC).isoformat()
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
        with convert_write_errors(key, file):
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(holder).encode(), 0)
        yield


def is_lock_held(file: Path) -> bool:
    """Whether some process holds the lock *file* now; False if the file cannot be read."""
    try:
        with file.open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def _describe_lock_holder(file: Path) -> str:
    try:
        holder = json.loads(file.read_text())
        return f"process {holder['pid']} on {holder['host']} ({holder['command']}, since {holder['since'][:19]} UTC)"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
