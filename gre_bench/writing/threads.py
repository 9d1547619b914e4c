"""Threads that ask an endpoint, and that a run which is stopped does not wait for as long as the endpoint likes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

GRACE_S = 2.0
"""Seconds in which replies that are on their way may still come when a run is stopped: they are paid for."""

T = TypeVar("T")
R = TypeVar("R")


def by_threads(work: Callable[[T], R], items: Iterable[T], count: int, stop: Callable[[], None]) -> list[R]:
    """What *work* gives for each of *items*, in their order, *count* of them at a time.

    The first error of a thread, or a signal's exception, calls *stop*, waits `GRACE_S` at most for what is under way,
    and goes on. What is not over then ends with the process: these threads are no reason for it to stay.
    """
    todo = list(items)
    places = iter(range(len(todo)))
    found: dict[int, R] = {}
    errors: list[BaseException] = []

    def run() -> None:
        try:
            # The next of a range iterator is one step of the interpreter: no two threads get the same place.
            for place in places:
                found[place] = work(todo[place])
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
    return [found[place] for place in range(len(todo))]
