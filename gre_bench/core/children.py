"""Makes child processes end when their parent does, even if that was killed. Only Linux can do this."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


def dying_with(parent: int, sign: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """Returns a function by which a process receives the signal *sign* when its parent process ends.

    *parent*: the process id of the parent; if it has already ended, the process exits at once. The function does
    nothing except on Linux. It is safe to call between fork and exec (``preexec_fn``).
    """
    if not sys.platform.startswith("linux"):
        return lambda: None
    libc = ctypes.CDLL(None, use_errno=True)

    def ask() -> None:
        libc.prctl(PR_SET_PDEATHSIG, sign)
        if os.getppid() != parent:
            os._exit(1)

    return ask
