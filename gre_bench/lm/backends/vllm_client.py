"""The client of a vLLM server: it sends requests in parallel, retries transient faults, and stops at once on Ctrl-C.

The requests run in an event loop in a separate thread, so Ctrl-C in the waiting thread can cancel them all. Transient
faults are retried (`gre_bench.http.lm_requests`). If all attempts fail, the result is a `SpanError` with ``final``
false, so a later run tries again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from gre_bench.core.errors import LMError, SettingsError, SpanError
from gre_bench.core.urls import normalise_base_url
from gre_bench.http.lm_requests import BodyCollector, RetryPolicy, is_transient_status, mask_secrets, parse_retry_after

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Item = TypeVar("Item")
Answer = TypeVar("Answer")

LARGEST_BODY = 256 * 2**20
"""The largest accepted response for one conversation, in bytes. The response for 100,000 tokens takes a tenth of it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server's refusal of a request that it would refuse again: the HTTP status and a one-line message."""

    status: int
    message: str


class VLLMClient:
    """A client of one vLLM server, with at most *parallel* requests in flight.

    - *key*: the server's API key, which is sent in headers and never appears in a message.
    - `down`: true once several requests in a row got no answer, until one gets an answer.

    Raises `SettingsError` for a malformed URL.
    """

    def __init__(self, endpoint: str, key: str | None, parallel: int, retry_policy: RetryPolicy | None = None):
        try:
            self.endpoint = normalise_base_url(endpoint).removesuffix("/v1").rstrip("/")
        except ValueError as error:
            raise SettingsError(f"evaluation_lm.endpoint: {error}; write it as http://127.0.0.1:8000") from None
        self.parallel = parallel
        self.retry_policy = retry_policy or RetryPolicy()
        self.key = key
        self.down = False

    def run(self, ask: Callable[[SharedConnections, Item], Awaitable[Answer]], items: Sequence[Item]) -> list[Answer]:
        """Calls ``await ask(connections, item)`` for each of *items* in parallel; returns the results in order.

        If one call raises an exception, the other calls are cancelled and the exception is raised.
        """
        future: Future[list[Answer]] = Future()
        loop = asyncio.new_event_loop()
        task = loop.create_task(self._answer_all_items(ask, items))

        def run_event_loop() -> None:
            try:
                future.set_result(loop.run_until_complete(task))
            except BaseException as error:
                future.set_exception(error)
            finally:
                loop.close()

        threading.Thread(target=run_event_loop, name="vllm", daemon=True).start()
        try:
            return future.result()
        except BaseException:
            # The loop may have ended and closed in the meantime.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)
            raise

    async def _answer_all_items(
        self, ask: Callable[[SharedConnections, Item], Awaitable[Answer]], items: Sequence[Item]
    ) -> list[Answer]:
        import httpx2

        results: dict[int, Answer] = {}
        queue = iter(enumerate(items))
        # Requests to a server on this machine must bypass any proxy that the environment sets.
        parts = urlsplit(self.endpoint)
        own = parts.hostname in ("localhost", "127.0.0.1", "::1")
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        limits = httpx2.Limits(max_connections=self.parallel)
        timeout = httpx2.Timeout(self.retry_policy.timeout_s, connect=min(10.0, self.retry_policy.timeout_s))
        # Reading certificates takes longer than a request, and plain HTTP needs none.
        options = {"limits": limits, "timeout": timeout, "trust_env": not own, "verify": parts.scheme == "https"}
        async with httpx2.AsyncClient(base_url=self.endpoint, headers=headers, **options) as http:
            connections = SharedConnections(http, self)

            async def process_queue() -> None:
                for index, item in queue:
                    results[index] = await ask(connections, item)

            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(self.parallel, len(items))):
                        group.create_task(process_queue())
            except ExceptionGroup as group:
                raise group.exceptions[0] from None
        return [results[index] for index in range(len(items))]


class SharedConnections:
    """What all requests of one `VLLMClient.run` share: connections, and how many requests in a row got no answer."""

    def __init__(self, http: AsyncClient, client: VLLMClient):
        self._http, self._client = http, client
        # If the server was down, each request is sent only once, instead of with all retries.
        self._retry_policy = replace(client.retry_policy, attempts=1) if client.down else client.retry_policy
        self._lost = 0

    async def get(self, path: str) -> dict[str, Any]:
        """Returns the JSON object at *path*, without retries; raises `LMError` if the server does not return one."""
        answer = await self._send_once("GET", path, None)
        if isinstance(answer, dict):
            return answer
        reason = f"answered {answer.status}: {answer.message}" if isinstance(answer, Refusal) else str(answer[0])
        raise LMError(f"no vLLM server at {self._http.base_url}: {reason}; start one, or set evaluation_lm.endpoint")

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | Refusal | SpanError:
        """Posts *body* as JSON to *path* and returns the JSON object in the server's answer.

        Returns a `Refusal` if a retry would not help, and a `SpanError` with ``final`` false if the server is down or
        all attempts failed.
        """
        if self._client.down and self._lost:
            return SpanError("no_answer", "the vLLM server is down; start it and run again", final=False)
        why = ""
        for attempt in range(self._retry_policy.attempts):
            answer = await self._send_once("POST", path, body)
            if not isinstance(answer, tuple):
                self._lost, self._client.down = 0, False
                return answer
            why, stated_s = answer
            seconds = self._retry_policy.compute_wait_s(attempt, stated_s)
            if seconds is None:
                why += "" if stated_s is None else f" (it asks to wait {stated_s:.0f} s)"
                break
            await asyncio.sleep(seconds)
        self._lost += 1
        self._client.down |= self._lost >= max(2, self._client.parallel)
        return SpanError("no_answer", f"the vLLM server did not answer: {why}; run again", final=False)

    async def _send_once(
        self, method: str, path: str, body: dict[str, Any] | None
    ) -> dict[str, Any] | Refusal | tuple[str, float | None]:
        """Sends one request without retries; returns the JSON object in the answer, or a `Refusal`.

        If the fault is transient, returns (reason, seconds to wait). The seconds are None if the server does not say
        how long to wait.
        """
        import httpx2

        received = BodyCollector(LARGEST_BODY, self._retry_policy.timeout_s)
        try:
            async with (
                asyncio.timeout(self._retry_policy.timeout_s),
                self._http.stream(method, path, json=body) as response,
            ):
                async for part in response.aiter_bytes():
                    if not received.add(part, response.status_code == 200):
                        break
        except (TimeoutError, httpx2.TimeoutException):
            return f"no answer in {self._retry_policy.timeout_s:g} s", None
        except httpx2.HTTPError as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", None
        if received.too_large:
            return f"ReadError: {received.too_large}", None
        status = response.status_code
        message = "" if status == 200 else self._extract_error_message(received.content)
        if is_transient_status(status) and "not json compliant" not in message.lower():
            return f"{status}: {message}", parse_retry_after(response.headers)
        if status != 200:
            return Refusal(status, message)
        try:
            tree = json.loads(received.content)
        except (ValueError, RecursionError):
            return f"an answer that is not JSON: {self._extract_error_message(received.content)}", None
        if isinstance(tree, dict):
            return tree
        return Refusal(200, f"JSON that is not an object: {self._extract_error_message(received.content)}")

    def _extract_error_message(self, content: bytes | bytearray) -> str:
        """Returns the error message in *content* as one line of at most 300 characters, with the API key masked."""
        text = content.decode("utf-8", "replace")
        with suppress(ValueError, AttributeError, RecursionError):
            error = json.loads(text)
            error = error.get("error", error.get("detail", error))
            text = str(error["message"] if isinstance(error, dict) and "message" in error else error)
        if self._client.key:
            text = mask_secrets(text, [self._client.key], "[key]")
        return " ".join(text.split())[:300] or "nothing"
