"""System calls of a process: to be stopped when its parent ends or is killed, and to give back freed memory."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, sign: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """Returns a function that makes the calling process receive the signal *sign* when its parent process ends.

    *parent*: the process id of the parent. If the parent has already ended, the calling process exits at once. The
    returned function does nothing except on Linux. It may be called between fork and exec (``preexec_fn``).
    """
    if not sys.platform.startswith("linux"):
        return lambda: None
    libc = ctypes.CDLL(None, use_errno=True)

    def request_parent_death_signal() -> None:
        libc.prctl(PR_SET_PDEATHSIG, sign)
        if os.getppid() != parent:
            os._exit(1)

    return request_parent_death_signal


def return_freed_memory() -> None:
    """Gives the memory of deleted objects back to the system; otherwise the C library glibc keeps that memory.

    Does nothing with other C libraries, which lack ``malloc_trim``.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
