"""Errors that users see, one line that says what is wrong, and a disk that is full."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gre_bench.core.errors import GreBenchError


@contextmanager
def one_line(*says: str, kind: type[GreBenchError] = GreBenchError, never: tuple[str, ...] = ()) -> Iterator[None]:
    """The block ends in an error of this *kind*, one line that holds all of *says* and nothing of *never*."""
    with pytest.raises(kind) as error:
        yield
    line = str(error.value)
    assert "\n" not in line
    assert all(part in line for part in says), f"{line!r} does not say {says}"
    assert not [part for part in never if part in line], line


@contextmanager
def small_files(most_bytes: int) -> Iterator[None]:
    """In the block no file may grow beyond so many bytes, as on a full disk; Python is told so by an OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
