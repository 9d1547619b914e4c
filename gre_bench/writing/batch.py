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
    - `stopped`: after a stop, the reply for every unanswered chat; None while the batch runs.
    - `bound`: the error that names the budget limit at which the batch stopped; None if no limit stopped it.
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
        """Stops the batch; every unanswered chat gets *reply*. Only the first call decides the reply."""
        with self._lock:
            self.stopped = self.stopped or reply
        self.over.set()

    def pause(self, bound: BudgetReached, reply: Reply) -> None:
        """Stops the batch because a limit of the budget is reached; every unanswered chat gets *reply*.

        *bound* is the error that names the limit.
        """
        with self._lock:
            self.bound = self.bound or bound
        self.stop(reply)

    def ready(self) -> bool:
        """Waits until a request may be sent to the endpoint, and returns True; returns False if the batch stops.

        A request may not be sent during a pause that the endpoint asked for.
        """
        while (left := self._not_before - time.monotonic()) > 0:
            if self.over.wait(left):
                break
        return not self.over.is_set()

    def wait(self, seconds: float, stated_s: float | None) -> None:
        """Waits before this thread repeats its request; returns early if the batch stops.

        - *seconds*: how long this thread waits.
        - *stated_s*: the pause in seconds that the endpoint asked for; None if it asked for none. No thread of the
          batch sends a request during this pause.
        """
        if stated_s is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + stated_s)
        self.over.wait(seconds)

    def answered(self) -> None:
        """Resets the count of failed chats in a row to 0, because the endpoint answered a chat."""
        with self._lock:
            self._lost = 0

    def given_up(self, reply: Reply) -> None:
        """Counts a chat that failed after all retries, and stops the batch with *reply* if the endpoint seems down.

        The endpoint seems down after N failed chats in a row. N is the number of threads, but at least 2.
        """
        with self._lock:
            self._lost += 1
            down = self._lost >= max(2, self._retry_policy.concurrency)
        if down:
            self.stop(reply)
