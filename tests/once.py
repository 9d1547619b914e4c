"""Work that several test files need, done once a run: the workers of pytest-xdist share a folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

FOLDER = "GRE_BENCH_TESTS_FOLDER"
"""Environment variable with the run's folder; the workers and child processes inherit it."""


def begin() -> Path | None:
    """Makes the run's folder and returns it; None in a process whose parent made it."""
    if FOLDER in os.environ:
        return None
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="gre-bench-tests-")
    return Path(os.environ[FOLDER])


def once(name: str, make: Callable[[Path], object]) -> Path:
    """Returns the folder *name* of this run, which the first caller fills by *make*; others wait for it.

    Nobody may write to it afterwards: copy it.
    """
    shared = Path(os.environ[FOLDER])
    done = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.is_dir():
            beside = shared / f".{name}"
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir()
            before = dict(os.environ)
            make(beside)
            os.environ.clear()  # such as PREFECT_HOME, which would name a folder that is gone
            os.environ.update(before)
            beside.rename(done)
    return done
