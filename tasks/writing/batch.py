"""When to ask again and when to stop: what the threads that ask one endpoint share."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass

from tasks.errors import BudgetReached
from tasks.records import Reply
from tasks.writing.completion import Answer


@dataclass(frozen=True, slots=True)
class Patience:
    """How hard a writer tries. Times in seconds; *timeout_s* is for one whole answer, however slowly it drips."""

    concurrency: int = 8
    timeout_s: float = 600.0
    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 120.0


class Batch:
    """What the threads of one `write` share: whether to go on, and not before when."""

    def __init__(self, patience: Patience):
        self._patience = patience
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._not_before = 0.0
        self._lost = 0
        self.stopped: Reply | None = None
        self.bound: BudgetReached | None = None

    def stop(self, reply: Reply) -> None:
        """Nothing more is sent; what was not answered gets *reply*."""
        with self._lock:
            self.stopped = self.stopped or reply
        self._over.set()

    def pause(self, bound: BudgetReached, reply: Reply) -> None:
        """Stops the batch because a *bound* allows no further request."""
        with self._lock:
            self.bound = self.bound or bound
        self.stop(reply)

    def ready(self) -> bool:
        """Waits until the endpoint may be asked; False if the batch was stopped."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self._over.wait(left):
                break
        return not self._over.is_set()

    def wait(self, answer: Answer, attempt: int) -> None:
        """Waits before another attempt: as the endpoint says, and then all threads, or backing off with jitter."""
        if answer.wait_s is None:
            longest = min(self._patience.longest_wait_s, self._patience.first_wait_s * 2**attempt)
            self._over.wait(longest * random.uniform(0.5, 1.0))
            return
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + answer.wait_s)
        self._over.wait(answer.wait_s + self._patience.first_wait_s * random.uniform(0.0, 0.5))

    def answered(self) -> None:
        with self._lock:
            self._lost = 0

    def given_up(self, reply: Reply) -> None:
        """Stops the batch when as many chats in a row were given up as there are threads: the endpoint is down."""
        with self._lock:
            self._lost += 1
            down = self._lost >= max(2, self._patience.concurrency)
        if down:
            self.stop(reply)
