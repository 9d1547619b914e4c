"""Commit points: every durable change under a folder, the moments before and within it, counted in a child.

A commit of the store that changed something, a checkpoint, a move into place, a sync, a write to a file that stands:
the process dies by SIGKILL at the n-th of these moments, or writes down all that it passed. What a kill after one of
them leaves is what a kill before the next leaves, so that moments after are counted for commits alone.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.store.database import Database

UNCHANGING = ("select", "from", "with", "set", "pragma", "describe")
"""Statements that commit nothing."""


class Points:
    """Counts the points of this process under *folder*; dies at number *die_at* (from 1), if it comes to that."""

    def __init__(self, folder: Path, die_at: int | None = None, only: str = ""):
        self._only = re.compile(only)
        self._folder = f"{folder.resolve()}/"
        self._die_at = die_at
        self._lock = threading.RLock()
        self._changed: set[int] = set()
        self.passed: list[str] = []

    def reach(self, what: str, dying: Callable[[], None] | None = None) -> None:
        """One point more; *dying* is done first where the process dies at it."""
        what = what.replace(self._folder, "")
        if not self._only.search(what):
            return
        with self._lock:
            self.passed.append(what)
            if len(self.passed) == self._die_at:
                if dying:
                    dying()
                os.kill(os.getpid(), signal.SIGKILL)

    def before(self, owner: Any, name: str, where: Callable[..., str | None]) -> None:
        """A point before the function *name* of *owner*, where *where* names a file for its arguments."""
        plain = getattr(owner, name)

        def watched(*arguments: Any, **more: Any) -> Any:
            if (file := where(*arguments)) is not None:
                self.reach(f"before {name} {file}")
            return plain(*arguments, **more)

        setattr(owner, name, watched)

    def torn(self, name: str) -> None:
        """Points before and in the middle of (half of it is written) a write to a file that stands."""
        plain = getattr(os, name)

        def watched(handle: int, data: bytes, *more: Any) -> int:
            file = self._file(handle)
            if file is None:
                return plain(handle, data, *more)
            self.reach(f"before {name} {file}")
            self.reach(f"half of {name} {file}", lambda: plain(handle, data[: len(data) // 2], *more))
            return plain(handle, data, *more)

        setattr(os, name, watched)

    def _file(self, handle: Any, *_: Any) -> str | None:
        if not isinstance(handle, int):
            return self._mine(handle)
        try:
            return self._mine(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            return None

    def _mine(self, path: Any, *_: Any) -> str | None:
        text = os.path.abspath(os.fsdecode(path))
        return text if text.startswith(self._folder) else None

    def database(self) -> None:
        """Points before and after each commit of what changed something; before each checkpoint and the last close."""
        connection: Any = duckdb.DuckDBPyConnection
        execute, commit = connection.execute, connection.commit

        def executed(this: Any, query: str, *more: Any, **rest: Any) -> Any:
            text = "\n".join(line for line in query.splitlines() if not line.startswith("--")).strip().lower()
            if text == "checkpoint":
                self.reach("before checkpoint")
            elif not text.startswith(UNCHANGING):
                self._changed.add(id(this))
            return execute(this, query, *more, **rest)

        def committed(this: Any) -> Any:
            if id(this) not in self._changed:
                return commit(this)
            self._changed.discard(id(this))
            self.reach("before commit")
            found = commit(this)
            self.reach("after commit")
            return found

        connection.execute, connection.commit = executed, committed
        self.before(Database, "close", lambda database: "the store" if database._open is not None else None)


def armed(folder: Path, die_at: int | None = None, only: str = "") -> Points:
    """The points of this process under *folder*, hooks in place; for a child that is at its end after the run.

    *only*: an expression that the points which count are found by.
    """
    points = Points(folder, die_at, only)
    for name in ("replace", "rename", "unlink", "truncate"):
        points.before(os, name, points._mine)
    for name in ("fsync", "fdatasync", "ftruncate"):
        points.before(os, name, points._file)
    for name in ("write", "pwrite"):
        points.torn(name)
    points.database()
    return points
