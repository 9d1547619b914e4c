"""Turns a failure to write an edition's files into a `StoreError`, and deletes incomplete temporary files."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gre_bench.core.errors import StoreError

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
