"""The state that all threads share while they send one batch of chats to an endpoint: when to wait, when to stop."""

from __future__ import annotations

import threading
import time

from gre_bench.core.errors import BudgetReached
from gre_bench.core.records import Reply
from gre_bench.http.retry import RetryPolicy


class Batch:
    """The state that the threads of one call of `HttpWriter.write` share.

    - `over`: an event that is set when the batch stops.
    - `stopped`: the reply that every unanswered chat then gets; None before.
    - `bound`: the budget limit that stopped the batch; None if no limit did.
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
        """Waits *seconds* before this thread sends its request again; returns early if the batch stops.

        *stated_s* is the waiting time that the endpoint asked for, in seconds (None: it stated none). During that time,
        no thread sends anything.
        """
        if stated_s is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + stated_s)
        self.over.wait(seconds)

    def answered(self) -> None:
        """Notes that the endpoint answered a chat: the count of failed chats in a row starts again at 0."""
        with self._lock:
            self._lost = 0

    def given_up(self, reply: Reply) -> None:
        """Counts a chat that failed after all retries, and stops the batch with *reply* if the endpoint seems down.

        The endpoint counts as down if as many chats in a row failed as there are threads (at least two).
        """
        with self._lock:
            self._lost += 1
            down = self._lost >= max(2, self._retry_policy.concurrency)
        if down:
            self.stop(reply)
