"""A private copy of an edition's store at one moment, for a release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from gre_bench.store.binding import QueryRow, fetch
from gre_bench.store.connecting import reader
from gre_bench.store.database import of_statement
from gre_bench.store.edition import Store
from gre_bench.store.files import putting
from gre_bench.store.queries import Query


class Frozen(Store):
    """A private copy of *store*: reading never waits, and no run changes the copy.

    *file*: path of the copy. *connection*: an open connection to it.
    """

    def __init__(self, store: Store, file: Path, connection: duckdb.DuckDBPyConnection):
        super().__init__(store.folder.parent.parent, store.key)
        self.file = file
        self._connection = connection
        self._origin = store

    def read(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        """Returns the rows of *query* from the private copy."""
        try:
            return fetch(self._connection, query, **parameters)
        except duckdb.Error as error:
            if of_statement(error):
                raise
            raise self._origin.fault(error) from None

    def rows(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        """Returns the rows of *query* from the private copy, as `read` does."""
        return self.read(query, **parameters)


@contextmanager
def frozen(store: Store, command: str, wait_s: float = 0.0) -> Iterator[Frozen]:
    """Copies *store* while holding its lock in the name of *command*, yields the copy, and deletes it at the end.

    Raises `LockedError` if a run is still writing after *wait_s* seconds. Raises `StoreError` if another program has
    changed the copy for readers, or left a database log beside it.
    """
    if store.read_file.exists():
        store.copy.check()
    with TemporaryDirectory(prefix="gre-bench-") as folder:
        file = Path(folder) / store.file.name
        with store.lock(command, wait_s), putting(store.key, file, file):
            store.copy_store(file)
        try:
            connection = reader(file)
        except duckdb.Error as error:
            raise store.fault(error) from None
        with connection:
            yield Frozen(store, file, connection)
