"""Decides when to ask again and when to stop, for all threads that ask one endpoint."""

from __future__ import annotations

import threading
import time

from gre_bench.core.errors import BudgetReached
from gre_bench.core.records import Reply
from gre_bench.http.retry import RetryPolicy


class Batch:
    """State that the threads of one call of `write` share: whether they may continue, and from when."""

    def __init__(self, retry_policy: RetryPolicy):
        self._patience = retry_policy
        self._lock = threading.Lock()
        self.over = threading.Event()
        self._not_before = 0.0
        self._lost = 0
        self.stopped: Reply | None = None
        self.bound: BudgetReached | None = None

    def stop(self, reply: Reply) -> None:
        """Stops sending; every unanswered chat gets *reply*."""
        with self._lock:
            self.stopped = self.stopped or reply
        self.over.set()

    def pause(self, bound: BudgetReached, reply: Reply) -> None:
        """Stops the batch because *bound* allows no further request."""
        with self._lock:
            self.bound = self.bound or bound
        self.stop(reply)

    def ready(self) -> bool:
        """Waits until the endpoint may be asked; returns False if the batch was stopped."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self.over.wait(left):
                break
        return not self.over.is_set()

    def wait(self, seconds: float, stated_s: float | None) -> None:
        """Waits *seconds* before another attempt.

        During *stated_s*, which the endpoint asked for, no thread sends anything.
        """
        if stated_s is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + stated_s)
        self.over.wait(seconds)

    def answered(self) -> None:
        with self._lock:
            self._lost = 0

    def given_up(self, reply: Reply) -> None:
        """Stops the batch with *reply* if as many chats in a row failed as there are threads: the endpoint is down."""
        with self._lock:
            self._lost += 1
            down = self._lost >= max(2, self._patience.concurrency)
        if down:
            self.stop(reply)
