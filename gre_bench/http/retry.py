"""How hard an endpoint is tried, whatever is asked of it: one policy for writers, examiners and evaluation LMs.

What passes by itself (`passes`, no connection, no answer in time) is tried again, waiting as the endpoint says or twice
as long each time, with jitter. What would come again, such as a refusal or a bad request, is not tried again.
"""

from __future__ import annotations

import email.utils
import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

PASSING = frozenset({408, 409, 425, 429})
"""Statuses that pass by themselves, besides all from 500."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How hard an endpoint is tried. Times in seconds; *timeout_s* is for one whole answer, however slowly it drips.

    *attempts* are all tries of one request; *concurrency* requests are in flight at most, where nobody says otherwise.
    """

    concurrency: int = 8
    timeout_s: float = 600.0
    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 120.0

    def wait(self, attempt: int, stated_s: float | None = None) -> float | None:
        """Seconds to wait after *attempt* (from 0) failed; None if no further one is worth it.

        ``U(0.5, 1) · min(longest, first · 2^attempt)``, or what the endpoint *stated* plus ``U(0, 0.5) · first``, for
        all who were turned away come back at that moment.
        """
        if attempt + 1 >= self.attempts or (stated_s is not None and stated_s > self.longest_wait_s):
            return None
        if stated_s is not None:
            return stated_s + self.first_wait_s * random.uniform(0.0, 0.5)
        return min(self.longest_wait_s, self.first_wait_s * 2**attempt) * random.uniform(0.5, 1.0)


def passes(status: int) -> bool:
    """Whether an answer with *status* may be another one a moment later."""
    return status in PASSING or status >= 500


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the header Retry-After states them (a number or a date), None without a usable one."""
    stated = headers.get("retry-after", "").strip()
    try:
        seconds = float(stated)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(stated).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)
