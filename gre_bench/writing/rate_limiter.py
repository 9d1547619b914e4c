"""The rate limiter of one endpoint: how many requests run at once, and when the next may start.

All models behind an endpoint share it, in all processes that use the same state. Each running request holds a lock on a
file, which the system releases when its process ends. The pace is a debt in seconds, kept on disk, so a restarted run
neither hurries nor waits too long. Each request adds ``60 / requests_per_minute`` seconds to the debt, each token
``60 / tokens_per_minute``. The next request starts when the debt has run out. This is a leaky bucket without burst,
as in ITU-T I.371.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from gre_bench.core.errors import StoreError
from gre_bench.core.records import digest
from gre_bench.http.endpoints import Limits

POLL_S = 0.02
"""Seconds between two checks for a free slot."""

_WHOLE = {"at": 0.0, "requests": 0.0, "tokens": 0.0}


class RateLimiter:
    """The rate limiter of *endpoint*, with its files in *folder*.

    At most *concurrency* requests run at once, unless *limits* state another number. All methods raise `StoreError` if
    the folder cannot be used.
    """

    def __init__(self, endpoint: str, limits: Limits, folder: Path, concurrency: int):
        host = re.sub(r"[^a-z0-9.-]", "_", urlsplit(endpoint).hostname or "")
        self.limits = limits
        self.concurrency = limits.concurrency or concurrency
        self.folder = folder / f"{host}-{digest(endpoint)[:8]}"

    @contextmanager
    def passing(self, tokens: int, over: threading.Event) -> Iterator[bool]:
        """Waits until a request with a prompt of *tokens* may start; the request counts as running within the block.

        Yields True if the request may be sent. Yields False if the event *over* was set first; the request must then
        not be sent.
        """
        slot = self._slot(over)
        if slot is None:
            yield False
            return
        try:
            yield not over.wait(self._owe(1, tokens))
        finally:
            os.close(slot)

    def add(self, tokens: int) -> None:
        """Counts tokens that were unknown when their request started, such as those of the reply.

        *tokens* is negative if too many were assumed.
        """
        if self.limits.tokens_per_minute:
            self._owe(0, tokens)

    def hold(self, seconds: float) -> None:
        """Lets no request start during the next *seconds*, as the endpoint demanded."""
        self._owe(0, 0, seconds)

    def _slot(self, over: threading.Event) -> int | None:
        """Waits for a free slot file, locks it and returns its descriptor; None once the event *over* is set."""
        while not over.is_set():
            first = random.randrange(self.concurrency)
            for number in range(self.concurrency):
                handle = self._opened(f"place-{(first + number) % self.concurrency}.lock")
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return handle
                except BlockingIOError:
                    os.close(handle)
            over.wait(POLL_S * random.uniform(0.5, 1.5))
        return None

    def _owe(self, requests: int, tokens: int, at_least_s: float = 0.0) -> float:
        """Adds *requests* and *tokens* to the debt; returns the debt before, the seconds that a request must wait.

        *at_least_s* is the smallest debt of requests afterwards, in seconds. If the clock is set back, the debt lasts
        longer; if it is set forward, the debt ends early.
        """
        handle = self._opened("pace.json")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            now, known = time.time(), _read(os.pread(handle, 4096, 0))
            passed = max(0.0, now - known["at"])
            owed = {name: max(0.0, known[name] - passed) for name in ("requests", "tokens")}
            before = max(owed.values())
            per_request, per_token = self.limits.seconds
            owed["requests"] = max(owed["requests"] + requests * per_request, at_least_s)
            owed["tokens"] = max(0.0, owed["tokens"] + tokens * per_token)
            content = json.dumps({"at": now, **owed}).encode()
            os.pwrite(handle, content, 0)
            os.ftruncate(handle, len(content))
            return before
        except OSError as error:
            raise self._unusable(error) from None
        finally:
            os.close(handle)

    def _opened(self, name: str) -> int:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"the rate limiter {self.folder} cannot be used: {error.strerror or error}")


def _read(content: bytes) -> dict[str, float]:
    """Returns the debt that *content*, the bytes of its file, states; no debt if a crash interrupted the write."""
    try:
        return {name: float(json.loads(content)[name]) for name in _WHOLE}
    except (ValueError, KeyError, TypeError):
        return dict(_WHOLE)
