"""The state that all threads share while they send one batch of chats to an endpoint: when to wait, when to stop."""

from __future__ import annotations

import threading
import time

from gre_bench.core.errors import BudgetReached
from gre_bench.core.records import Reply
from gre_bench.http.retry import RetryPolicy


class Batch:
    """The state that the threads of one call of `HttpWriter.write` share.

    `over` is set when the batch stops. `stopped` is then the reply to every unanswered chat, and `bound` the limit that
    stopped it, if one did.
    """

    def __init__(self, retry_policy: RetryPolicy):
        self._retry_policy = retry_policy
        self._lock = threading.Lock()
        self.over = threading.Event()
        self._not_before = 0.0
        self._lost = 0
        self.stopped: Reply | None = None
        self.bound: BudgetReached | None = None

    def stop(self, reply: Reply) -> None:
        """Stops the batch; every unanswered chat gets *reply*."""
        with self._lock:
            self.stopped = self.stopped or reply
        self.over.set()

    def pause(self, bound: BudgetReached, reply: Reply) -> None:
        """Stops the batch because the limit *bound* allows no further request; unanswered chats get *reply*."""
        with self._lock:
            self.bound = self.bound or bound
        self.stop(reply)

    def ready(self) -> bool:
        """Waits until a request may be sent to the endpoint; returns False if the batch stops first."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self.over.wait(left):
                break
        return not self.over.is_set()

    def wait(self, seconds: float, stated_s: float | None) -> None:
        """Waits *seconds* before another attempt of this thread; returns early if the batch stops.

        *stated_s* is the number of seconds that the endpoint asked to wait, if any; no thread sends anything meanwhile.
        """
        if stated_s is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + stated_s)
        self.over.wait(seconds)

    def answered(self) -> None:
        """Notes that the endpoint answered a chat, which resets the count of `given_up`."""
        with self._lock:
            self._lost = 0

    def given_up(self, reply: Reply) -> None:
        """Notes that a chat failed after all retries.

        If as many chats in a row failed as there are threads (at least two), the endpoint counts as down. The batch
        then stops with *reply*.
        """
        with self._lock:
            self._lost += 1
            down = self._lost >= max(2, self._retry_policy.concurrency)
        if down:
            self.stop(reply)
