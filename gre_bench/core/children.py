"""Makes child processes end when their parent does, even if that was killed. Only Linux can do this."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


def die_with(parent: int, sign: signal.Signals) -> None:
    """Makes this process receive the signal *sign* when its parent process ends; does nothing except on Linux.

    *parent*: the process id of the parent. If the parent has already ended, this process exits at once.
    """
    dying_with(parent, sign)()


def dying_with(parent: int, sign: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """Returns a function that does what `die_with` does. It is safe to call between fork and exec (``preexec_fn``)."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    libc = ctypes.CDLL(None, use_errno=True)

    def ask() -> None:
        libc.prctl(PR_SET_PDEATHSIG, sign)
        if os.getppid() != parent:
            os._exit(1)

    return ask
