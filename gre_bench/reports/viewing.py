"""Provides what ``gre-bench view`` shows: the editions of a state folder with their runs, releases, and all pages."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.release import manifest
from gre_bench.release.pages.rendering import overview_page
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.edition_pages import write_edition_pages
from gre_bench.store import Store, find_editions

PAGES_OF = ("index.html", "candidates", "papers")
FRESH_S = 20.0
"""The pages of an edition that a run is writing are made again after this many seconds at the earliest."""
_SHOWN = (
    "state",
    "stage",
    "started_at",
    "updated_at",
    "due",
    "done",
    "pairs_per_s",
    "remaining_s",
    "message",
    "metrics",
)


class Viewing:
    """The pages of a state folder, made from *state* without writing to it.

    *everything*: include texts of any licence. Pages of editions are made on request, in a temporary folder that
    `close` deletes. Raises `SettingsError` if there is no room for that folder.
    """

    def __init__(self, state: Path, everything: bool = False):
        self.state = state
        self.everything = everything
        try:
            self._folder = TemporaryDirectory(prefix="gre-bench-view-")
        except OSError as error:
            raise SettingsError(
                f"no temporary folder can be made: {error.strerror}; make room, or name a folder by TMPDIR"
            ) from None
        self._made: dict[str, tuple[float, tuple[int, int], Path]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        """Deletes the pages that were made; afterwards no more pages can be made."""
        self._folder.cleanup()

    def overview(self) -> list[dict[str, Any]]:
        """Returns one row per edition: the status of its last run, whether a run writes it now, and its releases."""
        return [self._edition(key) for key in find_editions(self.state)] + list(self._released_alone())

    def page(self) -> str:
        """Returns the HTML of the page that lists the editions and follows their runs."""
        return overview_page(str(self.state.absolute()), self.overview())

    def file(self, parts: tuple[str, ...]) -> Path | None:
        """Returns the file to send for a requested address, split at slashes into *parts*.

        An example of *parts* is ``("editions", KEY, "index.html")``. Returns None if there is no such file, or if a
        link leads to it. Returns None too if it is no page of an edition and no file that its release's manifest names.
        Raises `GreBenchError` if an edition has no pages to show, or a release's manifest was altered.
        """
        if len(parts) < 3 or any(part in ("", ".", "..") or re.search(r"[\x00-\x1f/\\]", part) for part in parts):
            return None
        kind, name, *rest = parts
        if kind == "editions" and name in find_editions(self.state) and rest[0] in PAGES_OF:
            root = self._pages(name)
        elif kind == "releases" and name in self._releases():
            root = self.state / "releases" / name
            if "/".join(rest) not in manifest.files_of(root):
                return None
        else:
            return None
        path = root.parent.resolve().joinpath(root.name, *rest)
        return path if path.resolve() == path and path.is_file() else None

    def _edition(self, key: str) -> dict[str, Any]:
        store = Store(self.state, key)
        try:
            status = store.status() or {"state": "new", "message": "nothing was run yet"}
        except GreBenchError as error:
            status = {"state": "fault", "message": str(error)}
        running = store.is_being_written()
        if status["state"] == "running" and not running:
            status = status | {"state": "cut short", "message": f"run it again: gre-bench refresh --edition {key}"}
        known = {name: status[name] for name in _SHOWN if status.get(name) is not None}
        return {"edition": key, "writing": running, "has_pages": store.read_file.is_file(), **known,
                "releases": ReleaseStore(self.state / "releases", key).names()[::-1]}  # fmt: skip

    def _released_alone(self) -> Iterator[dict[str, Any]]:
        """Yields one row, in the form of `overview`, for each edition that has releases but no store in the state
        folder.
        """
        known = set(find_editions(self.state))
        for key in dict.fromkeys(name.rpartition("-r")[0] for name in self._releases()):
            if key not in known:
                yield {"edition": key, "state": "released", "writing": False, "has_pages": False,
                       "releases": ReleaseStore(self.state / "releases", key).names()[::-1]}  # fmt: skip

    def _releases(self) -> list[str]:
        return sorted(
            path.name for path in (self.state / "releases").glob("*") if re.fullmatch(r"[^.].*-r\d+", path.name)
        )

    def _pages(self, key: str) -> Path:
        """Returns the folder with the pages of edition *key*.

        Pages are made again if the edition's store has changed since they were made, but at most every `FRESH_S`
        seconds.
        """
        store = Store(self.state, key)
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            status = store.read_file.stat() if store.read_file.is_file() else None
            stamp = (status.st_mtime_ns, status.st_size) if status else (0, 0)
            made = self._made.get(key)
            if made and (made[1] == stamp or time.monotonic() - made[0] < FRESH_S):
                return made[2]
            folder = Path(self._folder.name) / f"{key}-{time.monotonic_ns()}"
            folder.mkdir()
            try:
                write_edition_pages(store, folder, self.everything)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._made[key] = (time.monotonic(), stamp, folder)
            if made:
                shutil.rmtree(made[2], ignore_errors=True)
            return folder
