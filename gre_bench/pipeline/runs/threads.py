"""Scores several chunks of papers at a time in threads, for an evaluation LM behind HTTP.

The threads need no Prefect engine. They are daemon threads, so that a stopped run does not wait for replies that nobody
will read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from gre_bench.core.settings import RunSettings

Result = TypeVar("Result")


class Threads:
    """A `Runner` of threads in this process. The threads take their steps from one queue."""

    deaths: tuple[type[BaseException], ...] = ()
    die_together = False

    def __init__(self, settings: RunSettings):
        self._workers = settings.workers
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def __enter__(self) -> Threads:
        for number in range(self._workers):
            threading.Thread(target=self._work, name=f"scoring-{number}", daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        while not self._queue.empty():
            self._queue.get()
        for _ in range(self._workers):
            self._queue.put(None)

    def submit(self, step: Callable[..., Result], values: dict[str, Any]) -> Future[Result]:
        future: Future[Result] = Future()
        # The context says which flow run a step belongs to.
        self._queue.put((copy_context(), step, values, future))
        return future

    def first_done(self, futures: Sequence[Any]) -> Any:
        done, _ = wait(futures, return_when=FIRST_COMPLETED)
        return next(future for future in futures if future in done)

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            context, step, values, future = task
            try:
                future.set_result(context.run(step, **values))
            except BaseException as error:
                future.set_exception(error)
