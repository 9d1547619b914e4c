"""One retry policy for every endpoint: writers, examiners and evaluation LMs.

Faults that may pass (a status for which `passes` is true, no connection, no answer in time) are retried. The wait is
the one that the endpoint states, else it doubles each time; both have jitter. Lasting faults, such as a refusal or a
bad request, are not retried.
"""

from __future__ import annotations

import email.utils
import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

PASSING = frozenset({408, 409, 425, 429})
"""The statuses below 500 of faults that may pass; all statuses from 500 count as such too."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast an endpoint is tried. Times are in seconds; *timeout_s* limits one complete answer.

    *attempts* counts all tries of one request. At most *concurrency* requests are in flight, unless a caller sets
    another limit.
    """

    concurrency: int = 8
    timeout_s: float = 600.0
    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 120.0

    def wait(self, attempt: int, stated_s: float | None = None) -> float | None:
        """Returns the seconds to wait after *attempt* (from 0) failed; None if no further attempt is worthwhile.

        *stated_s*: the wait that the endpoint states, if any; one beyond *longest_wait_s* is not worthwhile. The result
        is ``stated + U(0, 0.5) · first``, or without a stated wait ``U(0.5, 1) · min(longest, first · 2^attempt)``. The
        jitter spreads clients that were all told to return at the same moment.
        """
        if attempt + 1 >= self.attempts or (stated_s is not None and stated_s > self.longest_wait_s):
            return None
        if stated_s is not None:
            return stated_s + self.first_wait_s * random.uniform(0.0, 0.5)
        return min(self.longest_wait_s, self.first_wait_s * 2**attempt) * random.uniform(0.5, 1.0)


def passes(status: int) -> bool:
    """Whether a repeated request may succeed shortly after an answer with *status*."""
    return status in PASSING or status >= 500


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the wait in seconds that the header Retry-After states as a number or a date; None without a usable one.

    Names in *headers* are in lower case, or their case is ignored.
    """
    stated = headers.get("retry-after", "").strip()
    try:
        seconds = float(stated)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(stated).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)
