"""When to ask again and when to stop: what the threads that ask one endpoint share."""

from __future__ import annotations

import threading
import time

from gre_bench.core.errors import BudgetReached
from gre_bench.core.records import Reply
from gre_bench.http.retry import RetryPolicy


class Batch:
    """What the threads of one `write` share: whether to go on, and not before when."""

    def __init__(self, retry_policy: RetryPolicy):
        self._patience = retry_policy
        self._lock = threading.Lock()
        self.over = threading.Event()
        self._not_before = 0.0
        self._lost = 0
        self.stopped: Reply | None = None
        self.bound: BudgetReached | None = None

    def stop(self, reply: Reply) -> None:
        """Nothing more is sent; what was not answered gets *reply*."""
        with self._lock:
            self.stopped = self.stopped or reply
        self.over.set()

    def pause(self, bound: BudgetReached, reply: Reply) -> None:
        """Stops the batch because a *bound* allows no further request."""
        with self._lock:
            self.bound = self.bound or bound
        self.stop(reply)

    def ready(self) -> bool:
        """Waits until the endpoint may be asked; False if the batch was stopped."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self.over.wait(left):
                break
        return not self.over.is_set()

    def wait(self, seconds: float, stated_s: float | None) -> None:
        """Waits *seconds* before another attempt; as long as the endpoint *stated* nobody asks it."""
        if stated_s is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + stated_s)
        self.over.wait(seconds)

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
