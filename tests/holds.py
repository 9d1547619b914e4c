"""Processes at work that are waited for, or stand still until a test lets them go on: no test has to be quick."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

LONGEST_S = 280.0
"""A little less than a test may take: a process whose test is gone goes away too."""


def hold(file: Path) -> None:
    """Says by *file* that this process has come here; goes on when the test has taken the file away."""
    deadline = time.monotonic() + LONGEST_S
    file.touch()
    while file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody took {file} away")
        time.sleep(0.005)


def hold_until(condition: Callable[[], Any]) -> None:
    """Until *condition* holds; what is never let go ends when no test can be waiting for it any more."""
    deadline = time.monotonic() + LONGEST_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)


def wait_for(condition: Callable[[], Any], process: BaseProcess | subprocess.Popen[str]) -> None:
    """Until *condition* holds; the *process* that is to bring it about must not end before."""
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        alive = process.is_alive() if isinstance(process, BaseProcess) else process.poll() is None
        assert alive or condition(), "the run ended before it could be disturbed"
        assert time.monotonic() < deadline, "the run does not come to where it is to be disturbed"
        time.sleep(0.01)
