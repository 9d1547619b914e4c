"""Writes files of an edition completely, or not at all."""

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
    """Turns an `OSError` of its block into a `StoreError` that says that the first of *files* cannot be written.

    It then deletes the other *files*: temporary ones, perhaps incomplete. *key* names the edition.
    """
    try:
        yield
    except OSError as error:
        for file in files[1:]:
            file.unlink(missing_ok=True)
        raise StoreError(f"edition {key}: {files[0]} cannot be written: {error.strerror}; {KEPT}") from None
