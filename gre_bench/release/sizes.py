"""Limits what the tables of a release unpack to, so that a small release from elsewhere cannot take the machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import duckdb

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import EXPANSION, FREE
from gre_bench.store import connect, statement

VALUE = 40
"""Bytes that a value takes once it is fetched, the characters of a text not counted."""
_FIXED = re.compile(
    r"(?:BOOLEAN|U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|DATE|"
    r"TIMESTAMP(?: WITH TIME ZONE|_NS|_MS|_S)?)(?:\[\])?"
)
"""Types whose values have one size, and lists of them."""
_CHARACTERS = {
    "VARCHAR": "coalesce(sum(strlen({})), 0)",
    "VARCHAR[]": "coalesce(sum(list_sum(list_transform({}, lambda text: strlen(text)))), 0)",
}
"""Type of texts → the SQL expression for the bytes of all of them."""


def check_unpacked(folder: Path, files: Sequence[Path]) -> None:
    """Raises `SourceError` if the tables in *files*, of the release in *folder*, unpack to more than is allowed.

    All tables together may unpack to `EXPANSION` times their size, or to `FREE` bytes if that is more. No row leaves
    DuckDB for this check. Raises `duckdb.Error` if a file cannot be read.
    """
    _check(folder, tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=256)
def _check(folder: Path, files: tuple[tuple[Path, int, int], ...]) -> None:
    left = max(FREE, EXPANSION * sum(size for _, size, _ in files))
    paths = [file for file, *_ in files]
    with connect(None, folders=sorted({path.parent for path in paths})) as connection:
        values, pages = connection.execute(
            statement("release", "unpacked"), {"files": list(map(str, paths))}
        ).fetchall()[0]
        left -= VALUE * (values or 0) + (pages or 0)
        for path in paths:
            if left >= 0:
                left -= _characters(connection, folder, path)
    if left < 0:
        raise SourceError(
            f"{folder}: its tables unpack to more than {EXPANSION} times their size; get the release again from where "
            "it came"
        )


def _characters(connection: duckdb.DuckDBPyConnection, folder: Path, path: Path) -> int:
    """Returns the bytes of all texts in the table *path*; raises `SourceError` for a type that no release has."""
    table, sums = connection.read_parquet(str(path)), []
    for name, kind in zip(table.columns, map(str, table.types), strict=True):
        column = '"' + name.replace('"', '""') + '"'
        if kind in _CHARACTERS:
            sums.append(_CHARACTERS[kind].format(column))
        elif not _FIXED.fullmatch(kind):
            raise SourceError(f"{folder}: {path.name} has a column of a type that no release has; get it again")
    return int(table.aggregate(" + ".join(sums)).fetchall()[0][0]) if sums else 0
