"""Files that are on disk whole or not at all, whatever ends the process that writes them."""

from __future__ import annotations

import os
from pathlib import Path

from gre_bench.core.errors import SourceError

READ_ONLY = 0o444


def put(path: Path, data: bytes, mode: int = 0o644, keep: bool = True) -> None:
    """Writes *data* beside *path* and moves it there; *keep*: it is on the disk itself when this returns.

    `SourceError` if there is no room for it, or no right; what was there before is as it was.
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
    """The error for a file that could not be written."""
    return SourceError(f"{path} cannot be written: {error.strerror}; what came before is kept, mend that and go on")
