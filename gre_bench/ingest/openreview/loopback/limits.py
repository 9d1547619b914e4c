"""Request limits as the service has them: a number of requests of one kind within a time window.

A window opens with the first request of its kind, and the next window opens with the first request after its end.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gre_bench.ingest.openreview.loopback.answers import Refused, too_many


@dataclass(frozen=True, slots=True)
class Limit:
    """At most *requests* requests in a time window of *seconds* seconds."""

    requests: int
    seconds: float


REPORTED_LIMITS: Mapping[str, Limit] = {
    "notes": Limit(500, 3600),
    "groups": Limit(700, 3600),
    "pdf": Limit(36, 3600),
    "attachment": Limit(36, 3600),
    "login": Limit(3, 60),
}
"""Kind of request → limit; the first two from headers recorded in 2026-09, the others from reported refusals."""


class Windows:
    """Counts requests in the current time window of each kind.

    *limits*: kind of request → limit. *early*: kind → requests sent after a refusal and before the end of the window.
    """

    def __init__(self, limits: Mapping[str, Limit]):
        self.limits = limits
        self.early: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ends: dict[str, float] = {}
        self._made: Counter[str] = Counter()

    def take(self, kind: str) -> dict[str, str]:
        """Counts one request of *kind* and returns the headers that state its limit.

        Returns no headers if *kind* has no limit. Raises `Refused` with a 429 if the window allows no more requests.
        """
        limit = self.limits.get(kind)
        if limit is None:
            return {}
        with self._lock:
            now = time.time()
            if now >= self._ends.get(kind, 0.0):
                self._ends[kind], self._made[kind] = now + limit.seconds, 0
            self._made[kind] += 1
            made, wait = self._made[kind], self._ends[kind] - now
            self.early[kind] += made > limit.requests + 1
        headers = limit_headers(limit, max(0, limit.requests - made), wait, now)
        if made > limit.requests:
            headers["retry-after"] = headers["ratelimit-reset"]
            raise Refused(too_many(made, limit.requests, wait, now, headers))
        return headers


def limit_headers(limit: Limit, remaining: int, wait: float, now: float) -> dict[str, str]:
    """Returns the seven headers in which the service states a limit.

    *remaining*: the requests that the current window still allows. *wait*: seconds until the window ends.
    *now*: the current time in epoch seconds.
    """
    reset = max(1, math.ceil(wait))
    return {
        "x-ratelimit-limit": str(limit.requests),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": str(math.ceil(now + wait)),
        "ratelimit-policy": f"{limit.requests};w={math.ceil(limit.seconds)}",
        "ratelimit-limit": str(limit.requests),
        "ratelimit-remaining": str(remaining),
        "ratelimit-reset": str(reset),
    }
