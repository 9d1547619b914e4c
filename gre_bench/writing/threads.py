"""Runs requests to an endpoint in threads; after a stop, waits only briefly for slow requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

GRACE_S = 2.0
"""Seconds that a stopped run waits for requests in flight, because they are paid for."""

T = TypeVar("T")
R = TypeVar("R")


def by_threads(work: Callable[[T], R], items: Iterable[T], count: int, stop: Callable[[], None]) -> list[R]:
    """Calls *work* with each of *items* in at most *count* threads, and returns the results in the order of *items*.

    - If *work* raises, *stop* is called. When all threads have ended, the first error is raised.
    - If a signal interrupts the call, *stop* is called, and the threads get `GRACE_S` seconds to end. Threads that
      still run then do not keep the process alive.
    """
    todo = list(items)
    indices = iter(range(len(todo)))
    results: dict[int, R] = {}
    errors: list[BaseException] = []

    def run() -> None:
        try:
            # next() of a range iterator is atomic in the interpreter: no two threads get the same index.
            for index in indices:
                results[index] = work(todo[index])
                if errors:
                    return
        except BaseException as error:
            errors.append(error)
            stop()

    threads = [threading.Thread(target=run, name=f"writer-{n}", daemon=True) for n in range(min(count, len(todo)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        stop()
        until = time.monotonic() + GRACE_S
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        raise
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(todo))]
