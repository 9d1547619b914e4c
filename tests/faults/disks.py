"""Disks that are full: a small one mounted in memory where that is allowed, filled up at the moment that is asked for."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gre_bench.pipeline.runs.job import Progress
from tests.faults.commands import Before

BALLAST = "ballast"
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system of its own, mounted at *folder*."""

    folder: Path

    def fill(self, leave_bytes: int = 0) -> None:
        """Takes all room but *leave_bytes*."""
        fill(self.folder, leave_bytes)

    def resize(self, size_bytes: int) -> None:
        """Makes it a disk of another size, with what is on it."""
        asked = ["mount", "-o", f"remount,size={size_bytes}", str(self.folder)]
        subprocess.run(asked, check=True, capture_output=True)

    def free(self) -> None:
        """Gives the room back."""
        (self.folder / BALLAST).unlink(missing_ok=True)


@contextmanager
def mounted(folder: Path, size_bytes: int) -> Iterator[Disk | None]:
    """A disk of that size at *folder*; None where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "gre-bench-faults", str(folder)]
    try:
        refused = subprocess.run(asked, capture_output=True).returncode != 0
    except OSError:
        refused = True
    if refused:
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave_bytes: int = 0) -> None:
    """Writes to the disk of *folder* until only *leave_bytes* are left on it."""
    with (folder / BALLAST).open("ab") as file:
        try:
            while (left := _free(folder) - leave_bytes) >= PAGE:
                os.write(file.fileno(), bytes(min(left, 2**20) // PAGE * PAGE))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def full_at(stage: str, folder: Path, leave_bytes: int = 0) -> Before:
    """The disk of *folder* fills up when a run comes to *stage* (its beginning is enough)."""
    return partial(_fill_at, stage, folder, leave_bytes)


def _fill_at(stage: str, folder: Path, leave_bytes: int) -> None:
    plain = Progress.stage

    def stage_begins(self: Progress, name: str, *more: object) -> None:
        plain(self, name, *more)
        if name.startswith(stage):
            fill(folder, leave_bytes)

    Progress.stage = stage_begins  # type: ignore[method-assign,assignment]


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
