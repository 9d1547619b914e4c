"""Limits the size and the duration of an HTTP answer, so that no server can fill our memory or stall us.

An HTTP client's own timeouts limit the wait for each part of a body, but not for the whole body. The openai client also
reads the whole body of an error. The hooks made here go into ``event_hooks`` of an httpx2 client.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import cast

import httpx2

LARGEST_PROBLEM = 64 * 2**10
"""Largest number of bytes read from the body of an answer with a status other than 200; error messages are short."""


def limited(most_bytes: int, seconds: float) -> Callable[[httpx2.Response], None]:
    """Returns an httpx2 response hook that limits each answer to *most_bytes* bytes and *seconds* seconds.

    Reading the body beyond a limit raises ``httpx2.HTTPError``. If the status is not 200, the body is instead cut off
    after `LARGEST_PROBLEM` bytes without an error.
    """

    def limit(response: httpx2.Response) -> None:
        response.stream = _Body(cast(httpx2.SyncByteStream, response.stream), _Bounds(response, most_bytes, seconds))

    return limit


def limited_async(most_bytes: int, seconds: float) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Returns the same hook as `limited`, for an asynchronous httpx2 client."""

    async def limit(response: httpx2.Response) -> None:
        stream = cast(httpx2.AsyncByteStream, response.stream)
        response.stream = _AsyncBody(stream, _Bounds(response, most_bytes, seconds))

    return limit


class _Bounds:
    def __init__(self, response: httpx2.Response, most_bytes: int, seconds: float):
        self._request, self._seconds = response.request, seconds
        self._until = time.monotonic() + seconds
        self._cut = response.status_code != 200
        self._left = self._most = LARGEST_PROBLEM if self._cut else most_bytes

    def admit(self, part: bytes) -> bool:
        """Counts *part* of a body, and returns whether to read on; False cuts off the body of an error.

        Raises an httpx2 error if the time is over or the body is too large.
        """
        self._left -= len(part)
        if time.monotonic() > self._until:
            raise httpx2.ReadTimeout(f"no complete answer in {self._seconds:g} s", request=self._request)
        if self._left < 0 and not self._cut:
            raise httpx2.ReadError(f"an answer of more than {self._most // 2**20} MiB", request=self._request)
        return self._left >= 0


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, bounds: _Bounds):
        self._stream, self._bounds = stream, bounds

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            yield part
            if not self._bounds.admit(part):
                return

    def close(self) -> None:
        self._stream.close()


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, bounds: _Bounds):
        self._stream, self._bounds = stream, bounds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part
            if not self._bounds.admit(part):
                return

    async def aclose(self) -> None:
        await self._stream.aclose()
