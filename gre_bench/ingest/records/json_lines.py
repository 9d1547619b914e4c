"""Reads files of one JSON object per line, plain or gzipped, line by line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from gre_bench.core.errors import SourceError, no_file
from gre_bench.core.strict import load_json
from gre_bench.ingest.records.cells import RefusedError, Row


def opened(path: Path) -> BinaryIO:
    """Opens the file *path* for reading bytes; the contents of a .gz file are unpacked.

    Raises `SourceError` if there is no such file.
    """
    if not path.is_file():
        raise no_file(path)
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def read_object(line: bytes) -> Row:
    """Returns the JSON object in *line*; raises `RefusedError` if the line is no JSON object."""
    try:
        row = load_json(line)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(row, dict):
        raise RefusedError("not a JSON object")
    return row


def lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yields (line number from 1, offset in unpacked bytes, bytes) of every line of *path* that is not blank.

    Raises `SourceError` if the file is damaged.
    """
    offset = 0
    try:
        with opened(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, offset, line
                offset += len(line)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path.name} cannot be read: {error}") from None
