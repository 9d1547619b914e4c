"""Writes files so that each is on disk completely or not at all, even if the process is killed."""

from __future__ import annotations

import os
from pathlib import Path

from gre_bench.core.errors import SourceError

READ_ONLY = 0o444


def put(path: Path, data: bytes, mode: int = 0o644, keep: bool = True) -> None:
    """Writes *data* to the file *path*, by way of a temporary file in the same folder that is then renamed.

    *mode*: the file's permissions.
    *keep*: sync the data to disk before renaming.
    Raises `SourceError` if the file cannot be written; an existing file then stays unchanged.
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
    """Returns the error for the file *path*, which could not be written because of *error*."""
    return SourceError(f"{path} cannot be written: {error.strerror}; earlier files are kept; fix that and run again")
