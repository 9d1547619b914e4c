"""Runs requests to an endpoint in threads; a stopped run does not wait for slow ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

GRACE_S = 2.0
"""How long in seconds a stopped run waits for requests in flight, because they are paid for."""

T = TypeVar("T")
R = TypeVar("R")


def by_threads(work: Callable[[T], R], items: Iterable[T], count: int, stop: Callable[[], None]) -> list[R]:
    """Returns the result of *work* for each of *items*, in their order, with *count* of them at a time.

    After the first error of a thread, or a signal's exception, it calls *stop* and waits at most `GRACE_S` for running
    work. Threads that still run then end with the process; they never keep it alive.
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
