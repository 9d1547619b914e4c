"""Writes files that are on disk completely or not at all, however the writing process ends."""

from __future__ import annotations

import os
from pathlib import Path

from gre_bench.core.errors import SourceError

READ_ONLY = 0o444


def put(path: Path, data: bytes, mode: int = 0o644, keep: bool = True) -> None:
    """Writes *data* to a temporary file beside *path*, then renames it to *path*.

    *mode*: permissions of the file. *keep*: sync the file to disk before it is renamed. Raises `SourceError` for lack
    of room or permission; an existing file then stays unchanged.
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
    """Returns the error for a file that could not be written."""
    return SourceError(f"{path} cannot be written: {error.strerror}; earlier files are kept; fix that and run again")
