"""The rate limiter of one endpoint: how many requests are under way at once, and how soon the next may go.

All models behind an endpoint share it, in all processes of a state. A place under way is a lock on a file, which ends
with its process however that ends. The pace is a debt in seconds on disk, so that a run that is started again neither
hurries nor waits out of turn: each request adds ``60 / requests_per_minute``, each token ``60 / tokens_per_minute``,
and the next one goes when the debt is over (a leaky bucket without burst: evenly spaced, as ITU-T I.371 polices cells).
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
"""Between two looks for a free place."""

_WHOLE = {"at": 0.0, "requests": 0.0, "tokens": 0.0}


class RateLimiter:
    """The rate limiter to *endpoint*, kept in *folder*; `StoreError` if that cannot be used.

    *concurrency* requests are under way at most, unless *limits* state another number.
    """

    def __init__(self, endpoint: str, limits: Limits, folder: Path, concurrency: int):
        host = re.sub(r"[^a-z0-9.-]", "_", urlsplit(endpoint).hostname or "")
        self.limits = limits
        self.concurrency = limits.concurrency or concurrency
        self.folder = folder / f"{host}-{digest(endpoint)[:8]}"

    @contextmanager
    def passing(self, tokens: int, over: threading.Event) -> Iterator[bool]:
        """A place for one request that begins with *tokens*, when it is its turn; False if *over* was set before."""
        place = self._place(over)
        if place is None:
            yield False
            return
        try:
            yield not over.wait(self._owe(1, tokens))
        finally:
            os.close(place)

    def add(self, tokens: int) -> None:
        """Tokens that were not known when their request went: of the reply; below zero if too many were assumed."""
        if self.limits.tokens_per_minute:
            self._owe(0, tokens)

    def hold(self, seconds: float) -> None:
        """Nothing goes for *seconds*: the endpoint says so."""
        self._owe(0, 0, seconds)

    def _place(self, over: threading.Event) -> int | None:
        """A locked file, one of as many as there are places; None once *over* is set."""
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
        """Adds to the debt; the seconds that were owed before, which is how long a request has to wait.

        A clock that is set back lets nothing expire, one that is set forward lets it expire early.
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
        return StoreError(f"the gate {self.folder} cannot be used: {error.strerror or error}")


def _read(content: bytes) -> dict[str, float]:
    """The debt as it was written; none if a machine fell over in the middle of it."""
    try:
        return {name: float(json.loads(content)[name]) for name in _WHOLE}
    except (ValueError, KeyError, TypeError):
        return dict(_WHOLE)
