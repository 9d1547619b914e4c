"""Files of one JSON object a line, plain or gzipped, read one line at a time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import BinaryIO

from tasks.corpus.cells import RefusedError, Row
from tasks.errors import SourceError


def opened(path: Path) -> BinaryIO:
    """The bytes of *path*, unpacked if its name ends in .gz; `SourceError` if there is no such file."""
    if not path.is_file():
        raise SourceError(f"no file {path}")
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def read_object(line: bytes) -> Row:
    """The JSON object in *line*; `RefusedError` if it holds none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(row, dict):
        raise RefusedError("not a JSON object")
    return row
