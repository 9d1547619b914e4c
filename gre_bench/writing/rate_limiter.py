"""The rate limiter of an endpoint: it decides how many requests run at once, and when the next request may start.

All models behind an endpoint share its rate limiter, in all processes that use the same state. Each running request
holds a lock on a file. The operating system releases the lock if the process ends.

Two debts, in seconds, set the pace: each request adds ``60 / requests_per_minute`` to the first, and each token adds
``60 / tokens_per_minute`` to the second. Debts shrink as time passes. A request starts when the debts of all earlier
requests have reached zero. The debts are stored on disk, so a restarted run neither exceeds the limits nor waits too
long. This is a leaky bucket without burst, as in ITU-T I.371.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from gre_bench.catalogs.models import RateLimits
from gre_bench.core.errors import LockedError
from gre_bench.core.records import digest
from gre_bench.core.whole_files import convert_os_errors, hold_file_lock

POLL_S = 0.02
"""Seconds between two checks for a free slot."""

_WHOLE = {"at": 0.0, "requests": 0.0, "tokens": 0.0}


class RateLimiter:
    """The rate limiter of *endpoint*, a URL or a provider; *folder* holds the files of all rate limiters.

    At most *concurrency* requests run at once, unless *limits* state a different number. All methods raise `StoreError`
    if the folder cannot be used.
    """

    def __init__(self, endpoint: str, limits: RateLimits, folder: Path, concurrency: int):
        host = re.sub(r"[^a-z0-9.-]", "_", urlsplit(endpoint).hostname or endpoint)
        self.limits = limits
        self.concurrency = limits.concurrency or concurrency
        self.folder = folder / f"{host}-{digest(endpoint)[:8]}"
        self._owner = f"the rate limiter {self.folder}"

    @contextmanager
    def wait_for_turn(self, tokens: int, over: threading.Event) -> Iterator[bool]:
        """Waits until a request with a prompt of *tokens* tokens may start; the request counts as running in the block.

        Yields False if the event *over* was set first; the request must then not be sent.
        """
        with ExitStack() as slot:
            yield self._lock_free_slot(slot, over) and not over.wait(self._add_to_debts(1, tokens))

    def correct_tokens(self, tokens: int) -> None:
        """Corrects the count of tokens by *tokens*: a request's actual number minus the number counted before it."""
        if self.limits.tokens_per_minute:
            self._add_to_debts(0, tokens)

    def delay_requests(self, seconds: float) -> None:
        self._add_to_debts(0, 0, seconds)

    def _lock_free_slot(self, slot: ExitStack, over: threading.Event) -> bool:
        """Waits for a free slot file and locks it until *slot* closes; returns False once the event *over* is set."""
        while not over.is_set():
            first = random.randrange(self.concurrency)
            for number in range(self.concurrency):
                path = self.folder / f"place-{(first + number) % self.concurrency}.lock"
                with suppress(LockedError):
                    slot.enter_context(hold_file_lock(path, self._owner, wait_s=0))
                    return True
            over.wait(POLL_S * random.uniform(0.5, 1.5))
        return False

    def _add_to_debts(self, requests: int, tokens: int, at_least_s: float = 0.0) -> float:
        """Adds the seconds for *requests* and *tokens* to the debts; returns how many seconds a new request must wait.

        The result is the larger of the two debts before the addition. *at_least_s*: the debt from requests is at least
        this many seconds after the addition. If the machine's clock is set back, the debts last longer; if it is set
        forward, they end early.
        """
        with convert_os_errors(self._owner), hold_file_lock(self.folder / "pace.json", self._owner) as handle:
            now, known = time.time(), _parse_debts(os.pread(handle, 4096, 0))
            passed = max(0.0, now - known["at"])
            owed = {name: max(0.0, known[name] - passed) for name in ("requests", "tokens")}
            before = max(owed.values())
            per_request, per_token = self.limits.compute_seconds_per_request_and_token()
            owed["requests"] = max(owed["requests"] + requests * per_request, at_least_s)
            owed["tokens"] = max(0.0, owed["tokens"] + tokens * per_token)
            content = json.dumps({"at": now, **owed}).encode()
            os.pwrite(handle, content, 0)
            os.ftruncate(handle, len(content))
            return before


def _parse_debts(content: bytes) -> dict[str, float]:
    """Returns the two debts in seconds (``requests``, ``tokens``), and when they were written (``at``, Unix time).

    *content*: the content of the file that stores them. All values are 0 if a crash left the file incomplete.
    """
    try:
        return {name: float(json.loads(content)[name]) for name in _WHOLE}
    except (ValueError, KeyError, TypeError, RecursionError):
        return dict(_WHOLE)
