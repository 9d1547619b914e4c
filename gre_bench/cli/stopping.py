"""Ends a command on Ctrl-C or SIGTERM: the first signal shuts it down cleanly, and the second kills it at once.

A command ends at most `LONGEST_S` seconds after the first signal. A sudden end loses only unfinished work, because
finished work is already committed. A thread reads the signals from a wakeup pipe. The main thread may not notice them,
because it may be inside a library with its own signal handlers, such as Prefect.
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
"""Signals within this many seconds count as one, because a terminal and ``timeout`` may each send one."""
LINE = "stopped; what was done is kept, the same command goes on from there"
SIGNS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"

_heard = threading.Event()
_raised, _printed = threading.Lock(), threading.Lock()


@contextmanager
def handle_signals() -> Iterator[None]:
    """Handles Ctrl-C and SIGTERM within the block.

    The first signal raises `Stopped` in the main thread. The process ends at most `LONGEST_S` seconds later.
    """
    before = {sign: signal.signal(sign, _raise_stopped) for sign in SIGNS}
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch_signals, args=(reading,), name="stopping", daemon=True).start()
    try:
        yield
    except Stopped:
        print_stopped_and_exit()
    finally:
        # After a signal, the watching thread runs until the process ends, because a library's shutdown may take long.
        if not _heard.is_set():
            signal.set_wakeup_fd(woken)
            os.close(writing)
            for sign, handler in before.items():
                signal.signal(sign, handler)


def print_stopped_and_exit() -> NoReturn:
    """Prints that the command was stopped, and ends the process with `EXIT_CODE`.

    After a signal, the process ends at once by `os._exit`, because threads of libraries could delay a normal end.
    """
    if not _heard.is_set():
        print(LINE, file=sys.stderr)
        sys.exit(EXIT_CODE)
    _print_stopped_once()
    _kill_child_processes()
    os._exit(EXIT_CODE)


def _raise_stopped(number: int, _frame: Any) -> None:
    """Raises `Stopped` in the main thread for the first signal, and ignores later signals.

    A later signal must not interrupt the shutdown; `_watch_signals` acts on it instead.
    """
    if _raised.acquire(blocking=False):
        raise Stopped(signal.Signals(number).name)


def _watch_signals(reading: int) -> None:
    """Waits for signals from the pipe *reading*, and then ends the process.

    The process ends `LONGEST_S` seconds after the first signal, or at the second one.
    """
    while (heard := os.read(reading, 1)) and heard[0] not in SIGNS:
        pass
    if not heard:
        return os.close(reading)
    _heard.set()
    began = time.monotonic()
    while (left := began + LONGEST_S - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        if not (heard := os.read(reading, 1)):
            # The pipe is closed, so the block has ended, and the main thread ends the process. It may hang, so wait.
            time.sleep(left)
            break
        if heard[0] in SIGNS and time.monotonic() - began > ONE_STOP_S:
            break
    print_stopped_and_exit()


def _print_stopped_once() -> None:
    """Prints once that the command was stopped. Bypasses `sys.stderr`, because another thread may hold its lock."""
    if _printed.acquire(blocking=False):
        with suppress(OSError):
            os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + f"{LINE}\n".encode())


def _kill_child_processes() -> None:
    """Kills all child processes that still run. No data is lost, because none of them commits anything. Linux only."""
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            for child in task.read_text().split():
                os.kill(int(child), signal.SIGKILL)
