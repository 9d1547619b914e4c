"""The copy for readers: a read-only copy of an edition's store, the DuckDB file that holds the edition's data.

A copy never changes, and its name contains a digest of its content. The file ``current`` names the copy to open. The
process that changes the store adds a new copy, replaces ``current`` atomically, and then deletes the other copies. A
process that has opened a copy can still read it.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb

from gre_bench.core.errors import StoreError
from gre_bench.core.whole_files import replace_file, sha256
from gre_bench.store.database import explain_resource_shortage, open_reader

CURRENT = "current"
"""A file of one line: the name of the copy to open."""
EARLIER = "read.duckdb"
"""The copy's name in editions that earlier versions of the program wrote. Such a copy lacks the table ``board``."""
_Result = TypeVar("_Result")


class _OpenConnections(threading.local):
    """The connections that `keep_copies_open` keeps open in this thread: folder → (file, connection)."""

    by_folder: dict[Path, tuple[Path, duckdb.DuckDBPyConnection]] | None = None


_OPEN_CONNECTIONS = _OpenConnections()


@contextmanager
def keep_copies_open() -> Iterator[None]:
    """Keeps read-only copies of stores open between the queries of the ``with`` block, until a copy is replaced.

    This saves time, because opening a copy takes longer than most queries. A nested block has no effect. Threads that
    start within the block open their own connections.
    """
    if _OPEN_CONNECTIONS.by_folder is not None:
        yield
        return
    kept = _OPEN_CONNECTIONS.by_folder = {}
    try:
        yield
    finally:
        _OPEN_CONNECTIONS.by_folder = None
        for _, connection in kept.values():
            connection.close()


class ReadOnlyStoreCopy:
    """The read-only copy of edition *key*'s store, in *folder*, which any process may open."""

    def __init__(self, key: str, folder: Path):
        self.key = key
        self.folder = folder

    @property
    def file(self) -> Path:
        """The path of the copy that ``current`` names; without ``current``, the path of `EARLIER`."""
        try:
            name = (self.folder / CURRENT).read_text().strip()
        except (OSError, UnicodeDecodeError):
            name = ""
        return self.folder / (name if re.fullmatch(r"read-[0-9a-f]{16}\.duckdb", name) else EARLIER)

    @property
    def exists(self) -> bool:
        return (self.folder / CURRENT).is_file() or (self.folder / EARLIER).is_file()

    def replace_current_copy(self, beside: Path) -> None:
        """Moves *beside*, a new copy of the store, into place as the current copy.

        Only the process that changes the store may call this. Even if the process is killed halfway, ``current`` names
        a complete copy.
        """
        file = self.folder / f"read-{sha256(beside)[:16]}.duckdb"
        os.replace(beside, file)
        replace_file(self.folder / CURRENT, f"{file.name}\n".encode(), keep=False)
        for left in (*self.folder.glob("read-*"), *self.folder.glob("read.*"), *self.folder.glob(f".{CURRENT}.*")):
            if left != file:
                left.unlink(missing_ok=True)

    @contextmanager
    def open_read_only(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yields a read-only connection to the copy; raises `StoreError` if it is missing or damaged."""
        kept = _OPEN_CONNECTIONS.by_folder
        if kept is None:
            connection = self._call_with_current_copy(open_reader)
            with connection:
                yield connection
        else:
            known = kept.pop(self.folder, None)
            if known and known[0] != self.file:
                known[1].close()
                known = None
            kept[self.folder] = known or self._call_with_current_copy(lambda file: (file, open_reader(file)))
            yield kept[self.folder][1]

    def copy_to(self, target: Path) -> None:
        """Copies the current copy for readers to the file *target*, for private use."""
        self._call_with_current_copy(lambda file: shutil.copyfile(file, target))

    def convert_duckdb_error(self, error: duckdb.Error) -> StoreError:
        """Returns a `StoreError` saying that DuckDB could not read the copy, why, and what to do."""
        lack = explain_resource_shortage(error)
        return (
            StoreError(f"edition {self.key}: {self.file}: {lack}")
            if lack
            else self.unusable_copy_error(str(error).splitlines()[0])
        )

    def unusable_copy_error(self, reason: str) -> StoreError:
        """Returns a `StoreError` saying that the copy cannot be used, why (*reason*), and what to do."""
        loaded = self.folder / "release"
        todo = f"gre-bench refresh --edition {self.key} makes a new one"
        if loaded.is_file():
            releases = self.folder.parent.parent / "releases"
            todo = f"gre-bench import release {releases / loaded.read_text(errors='replace')} loads it again"
        return StoreError(f"edition {self.key}: {self.file} cannot be read ({reason}); {todo}")

    def _call_with_current_copy(self, use: Callable[[Path], _Result]) -> _Result:
        """Calls *use* with the path of the current copy; calls it again if the copy was replaced meanwhile."""
        file = self.file
        while True:
            try:
                return use(file)
            except (duckdb.Error, OSError) as error:
                if file == (file := self.file):
                    raise (
                        self.convert_duckdb_error(error)
                        if isinstance(error, duckdb.Error)
                        else self.unusable_copy_error(str(error.strerror))
                    ) from None
