"""Returns memory to the operating system."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def return_freed_memory() -> None:
    """Returns to the system the memory of deleted objects, which the C library glibc would keep for new ones.

    After an import of 430 MB of texts, glibc keeps as much. Other C libraries lack the function; nothing happens then.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
