"""Where the releases of one edition stand: numbers, the pointer to the latest, and the ledger of what was said of them.

ICLR-2025-r1/           a release, immutable
ICLR-2025-latest        points to the newest one that is not retired
ICLR-2025.ledger.jsonl  published, errata, retired: one line each, only ever added to
ICLR-2025.lock          held by who publishes
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LockedError, SettingsError, SourceError
from gre_bench.core.records import Edition
from gre_bench.core.settings import edition_of
from gre_bench.store import now


class Shelf:
    """The releases of *edition* in *folder*."""

    def __init__(self, folder: Path, edition: Edition | str):
        self.folder = Path(folder)
        self.edition = (edition_of(edition) if isinstance(edition, str) else edition).key
        self.latest = self.folder / f"{self.edition}-latest"
        self.ledger = self.folder / f"{self.edition}.ledger.jsonl"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held while a release is made or something is said of one; `LockedError` if another process holds it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / f"{self.edition}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise SourceError(f"cannot write in {self.folder}: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._mend()
            yield
        except BlockingIOError:
            raise LockedError(
                f"releases of {self.edition} in {self.folder} are being written by another process; "
                "wait for it to end and try again"
            ) from None
        except BaseException:
            # Half a release takes room that the next one may need.
            for left in self.folder.glob(f".{self.edition}-r*.building"):
                shutil.rmtree(left, ignore_errors=True)
            raise
        finally:
            os.close(handle)

    def names(self) -> list[str]:
        """Names of the releases, oldest first."""
        found = re.compile(re.escape(self.edition) + r"-r(\d+)")
        numbers = [int(match[1]) for path in self.folder.glob("*") if (match := found.fullmatch(path.name))]
        return [f"{self.edition}-r{number}" for number in sorted(numbers)]

    def next_name(self) -> str:
        """Name of the release to come."""
        names = self.names()
        return f"{self.edition}-r{int(names[-1].rpartition('-r')[2]) + 1 if names else 1}"

    def room(self, name: str) -> Path:
        """A new empty folder in which release *name* is built; what killed publishers left is removed."""
        for left in self.folder.glob(f".{self.edition}-r*.building"):
            shutil.rmtree(left)
        room = self.folder / f".{name}.building"
        room.mkdir()
        return room

    def drop(self, room: Path) -> None:
        """Takes a *room* away that is not needed after all."""
        shutil.rmtree(room)

    def place(self, room: Path, name: str) -> Path:
        """Moves the finished *room* to its place in one step."""
        files = [path for path in room.rglob("*") if path.is_file()]
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(_finish, files))
        os.rename(room, self.folder / name)
        _sync(self.folder)
        return self.folder / name

    def point(self) -> str | None:
        """Points ``latest`` to the newest release that is not retired, in one step; its name."""
        retired = {entry["release"] for entry in self.entries() if entry["what"] == "retired"}
        name = next((name for name in reversed(self.names()) if name not in retired), None)
        if name is None:
            self.latest.unlink(missing_ok=True)
        elif not (self.latest.is_symlink() and os.readlink(self.latest) == name):
            beside = self.folder / f".{self.edition}-latest.{os.getpid()}"
            beside.unlink(missing_ok=True)
            beside.symlink_to(name)
            os.replace(beside, self.latest)
            _sync(self.folder)
        return name

    def entries(self, release: str | None = None) -> list[dict[str, Any]]:
        """Lines of the ledger in order (of *release* alone); a line that a kill cut off is none."""
        try:
            lines = self.ledger.read_text(encoding="utf-8").split("\n")[:-1]
            found = [json.loads(line) for line in lines]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.ledger} is damaged: {error}") from None
        return [entry for entry in found if release in (None, entry["release"])]

    def say(self, what: str, release: str, more: Mapping[str, Any]) -> None:
        """Adds a line to the ledger; `SettingsError` if there is no such release."""
        if release not in self.names():
            known = ", ".join(self.names()) or "none yet"
            raise SettingsError(f"no release {release} in {self.folder}; known: {known}")
        line = json.dumps({"what": what, "release": release, "at": now().isoformat(timespec="seconds"), **more})
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _mend(self) -> None:
        """Takes off what a kill left of a ledger's line; what is whole is never touched."""
        if self.ledger.is_file():
            whole = self.ledger.read_bytes()
            kept = whole.rfind(b"\n") + 1
            if kept < len(whole):
                os.truncate(self.ledger, kept)


def _finish(path: Path) -> None:
    """A file that is on the disk, and that nobody writes by mistake."""
    path.chmod(0o444)
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
