"""Two system calls: one ends a process together with its parent, the other gives freed memory back to the system."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def make_parent_death_hook(parent: int, sign: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """Returns a function for a child process to call: the child then gets the signal *sign* when its parent ends.

    *parent*: the process id of the parent. If the parent has already ended, the call ends the child at once. The
    function works only on Linux; elsewhere it does nothing. It may be called between fork and exec (``preexec_fn``).
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
    """Gives the memory of deleted objects back to the system, because the C library glibc may keep it.

    Does nothing if the C library lacks ``malloc_trim``.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
