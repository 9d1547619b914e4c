"""Ctrl-C and SIGTERM: the first ends the command in good order, the second at once; none takes longer than `LONGEST_S`.

What is committed survives a kill at any moment, so an end without ceremony costs what is in flight and nothing else. A
thread counts the signals as the system hands them out: the main thread may be inside a library that does not listen, or
that has taken the handlers for itself, as Prefect does.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from gre_bench.core.errors import Stopped

EXIT_CODE = 130
LONGEST_S = 4.5
ONE_STOP_S = 0.3
"""A second signal within so many seconds belongs to the first: a terminal and ``timeout`` both pass theirs on."""
LINE = "stopped; what was done is kept, the same command goes on from there"
SIGNS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"

_heard = threading.Event()
_raised, _told = threading.Lock(), threading.Lock()


@contextmanager
def listening() -> Iterator[None]:
    """Within it, in the main thread, the first signal raises `Stopped`, and the end that follows is watched."""
    before = {sign: signal.signal(sign, _stop) for sign in SIGNS}
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), name="stopping", daemon=True).start()
    try:
        yield
    except Stopped:
        end()
    finally:
        # After a signal the watch goes on until the process is gone: a library's last words may take long.
        if not _heard.is_set():
            signal.set_wakeup_fd(woken)
            os.close(writing)
            for sign, handler in before.items():
                signal.signal(sign, handler)


def end() -> NoReturn:
    """Says that the command was stopped and ends it; at once if a signal did it, as nothing is left to be done."""
    if not _heard.is_set():
        print(LINE, file=sys.stderr)
        sys.exit(EXIT_CODE)
    _tell()
    _end_children()
    os._exit(EXIT_CODE)


def _stop(number: int, _frame: Any) -> None:
    """Raises `Stopped` for the first signal; a later one does not disturb the end that is under way."""
    if _raised.acquire(blocking=False):
        raise Stopped(signal.Signals(number).name)


def _watch(reading: int) -> None:
    """Ends the process `LONGEST_S` after the first signal, or with the second one."""
    while (heard := os.read(reading, 1)) and heard[0] not in SIGNS:
        pass
    if not heard:
        return os.close(reading)
    _heard.set()
    began = time.monotonic()
    while (left := began + LONGEST_S - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        if os.read(reading, 1)[0] in SIGNS and time.monotonic() - began > ONE_STOP_S:
            break
    end()


def _tell() -> None:
    """The one line, once; not by a stream of Python, whose lock a thread may hold that will not go on."""
    if _told.acquire(blocking=False):
        with suppress(OSError):
            os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + f"{LINE}\n".encode())


def _end_children() -> None:
    """Kills what this process started and has not ended; none of it commits anything. Linux only."""
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            for child in task.read_text().split():
                os.kill(int(child), signal.SIGKILL)
