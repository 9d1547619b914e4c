"""The retry policy that all LM endpoints share: those of writers, examiners and evaluation LMs.

Only faults that may pass are retried: no connection, no answer in time, or a status for which `passes` is true. The
wait before a retry is the one that the endpoint states. Without a stated wait, it doubles with each try. Random jitter
is added to both. Lasting faults, such as a bad request, are not retried.
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
    """How often an endpoint is tried, and how many requests run at once.

    *concurrency*: the most requests in flight, unless a caller sets another limit.
    *timeout_s*: seconds for one complete answer.
    *attempts*: the number of tries of one request, the first included.
    *first_wait_s*: seconds before the second try, if the endpoint states no wait.
    *longest_wait_s*: the longest wait in seconds.
    """

    concurrency: int = 8
    timeout_s: float = 600.0
    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 120.0

    def wait(self, attempt: int, stated_s: float | None = None) -> float | None:
        """Returns the seconds to wait after a failed try; None if the request should not be tried again.

        *attempt*: the index of the failed try, from 0.
        *stated_s*: the wait that the endpoint states; None if it states none. A wait beyond *longest_wait_s* ends the
        tries.
        With a stated wait, the result is ``stated + U(0, 0.5) · first``. Without one, it is ``U(0.5, 1) · min(longest,
        first · 2^attempt)``. The random part spreads the retries of clients that failed at the same moment.
        """
        if attempt + 1 >= self.attempts or (stated_s is not None and stated_s > self.longest_wait_s):
            return None
        if stated_s is not None:
            return stated_s + self.first_wait_s * random.uniform(0.0, 0.5)
        return min(self.longest_wait_s, self.first_wait_s * 2**attempt) * random.uniform(0.5, 1.0)


def passes(status: int) -> bool:
    """Whether a fault with the HTTP *status* may pass, so that another try may succeed."""
    return status in PASSING or status >= 500


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds to wait that the header Retry-After states, as a number or a date; None if there are none.

    *headers*: a mapping with lower-case names, or one that ignores case.
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
