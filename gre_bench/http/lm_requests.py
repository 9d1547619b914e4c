"""Sends requests to LM endpoints: limits size, time and threads, retries by one policy, and masks the API key.

Writers, examiners and evaluation LMs all use this module. Only transient faults are retried: no connection, a timeout,
or a status for which `is_transient_status` is true. Before a retry, the client waits as long as the endpoint states. If
the endpoint states no wait, the wait doubles with each attempt. Random jitter is added in both cases. Permanent faults,
such as a bad request, are not retried.

Secrets are masked in every encoding in which servers and libraries may repeat them: plain text, URL encoding, hex and
base64, even within a longer encoded text. A secret that is obfuscated on purpose is not found.
"""

from __future__ import annotations

import base64
import email.utils
import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, quote_plus, urlsplit

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")
R = TypeVar("R")

GRACE_S = 2.0
"""Seconds that a stopped run waits for requests in flight, because they cost money even if nobody waits."""

LARGEST_PROBLEM = 64 * 2**10
"""The maximum number of bytes to read from the body of an unsuccessful answer; error messages are short."""

PASSING = frozenset({408, 409, 425, 429})
"""The transient statuses below 500; all statuses from 500 up count as transient, too."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many times a request is sent, how long the waits between are, and how many requests run at once.

    *concurrency*: the maximum number of requests in flight, unless a caller sets another limit. *timeout_s*: the time
    limit for one complete answer. *attempts*: the maximum number of times that one request is sent, including the
    first. *first_wait_s*: the wait before the first retry if the endpoint states none.
    """

    concurrency: int = 8
    timeout_s: float = 600.0
    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 120.0

    def compute_wait_s(self, attempt: int, stated_s: float | None = None) -> float | None:
        """Returns the seconds to wait after attempt number *attempt* (from 0) has failed; None means not to retry.

        *stated_s*: the wait that the endpoint states, if any; the result is then ``stated_s + U(0, 0.5) ·
        first_wait_s``. If *stated_s* exceeds *longest_wait_s*, there is no retry. If the endpoint states no wait, the
        result is ``U(0.5, 1) · min(longest_wait_s, first_wait_s · 2^attempt)``. The random factor U spreads the retries
        of clients that failed at the same moment.
        """
        if attempt + 1 >= self.attempts or (stated_s is not None and stated_s > self.longest_wait_s):
            return None
        if stated_s is not None:
            return stated_s + self.first_wait_s * random.uniform(0.0, 0.5)
        return min(self.longest_wait_s, self.first_wait_s * 2**attempt) * random.uniform(0.5, 1.0)


def is_transient_status(status: int) -> bool:
    return status in PASSING or status >= 500


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the wait in seconds that the header Retry-After states, as a number or a date; None if it states none."""
    stated = headers.get("retry-after", "").strip()
    try:
        seconds = float(stated)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(stated).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The outcome of a request.

    *status*: None if the connection failed or the answer took too long. *body*: the body with the key masked; only its
    beginning if the status is unsuccessful. The names in *headers* are case-insensitive. *fault*: the name of the
    error, such as ``ConnectTimeout``, if no complete answer came. *reason*: the message of that error.
    """

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    reason: str = ""


class BodyCollector:
    """Collects the parts of an answer's body: at most *most* bytes, within *seconds* seconds from now.

    The timeouts of an HTTP client limit the wait for each part, but not for the whole body. The two limits keep a
    server from filling our memory or stalling us.
    """

    def __init__(self, most: int, seconds: float):
        self.content = bytearray()
        self.too_large = ""
        self._most, self._seconds, self._until = most, seconds, time.monotonic() + seconds

    def add(self, part: bytes, success: bool) -> bool:
        """Adds *part*; returns whether to read further parts. Raises ``httpx2.ReadTimeout`` after the time limit.

        *success*: whether the answer's status is a success.
        """
        import httpx2

        self.content += part
        if time.monotonic() > self._until:
            raise httpx2.ReadTimeout(f"no complete answer in {self._seconds:g} s")
        if success and len(self.content) > self._most:
            self.too_large = f"an answer of more than {self._most // 2**20} MiB"
        return len(self.content) <= (self._most if success else LARGEST_PROBLEM)


class HttpClient:
    """A client of the server at *url*, for any number of threads.

    *key*: the API key, sent in headers and masked in all answers; None means no key. *timeout_s*: the time limit for
    one complete answer. *largest*: the maximum size of an answer's body in bytes. *connections*: the maximum number of
    requests in flight.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        timeout_s: float,
        largest: int,
        connections: int = 1,
        headers: Mapping[str, str] | None = None,
    ):
        import httpx2

        self.url, self._key, self._timeout_s, self._largest = url, key, timeout_s, largest
        parts = urlsplit(url)
        # A proxy set in the environment must not come between this program and an endpoint on the same machine.
        own = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._http = httpx2.Client(
            headers={**(headers or {}), **({"Authorization": f"Bearer {key}"} if key else {})},
            # Reading certificates takes longer than a request, and plain HTTP needs none.
            verify=_load_certificates(not own) if parts.scheme == "https" else False,
            timeout=httpx2.Timeout(timeout_s, connect=min(10.0, timeout_s)),
            limits=httpx2.Limits(max_connections=connections),
            trust_env=not own,
            follow_redirects=False,
        )

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> HttpReply:
        """Sends one request with *body* as JSON, without retries. A fault raises no error; the reply states it."""
        import httpx2

        received = BodyCollector(self._largest, self._timeout_s)
        try:
            with self._http.stream(method, self.url + path, json=body) as response:
                for part in response.iter_bytes():
                    if not received.add(part, response.is_success):
                        break
        except (httpx2.HTTPError, OSError) as error:
            return HttpReply(None, fault=type(error).__name__, reason=self.mask_api_key(str(error)))
        if received.too_large:
            return HttpReply(response.status_code, fault="ReadError", reason=received.too_large)
        # Mask the key before any text is shortened: a key that was cut in half would not be found.
        clean = self.mask_api_key(received.content.decode("latin-1")).encode("latin-1")
        return HttpReply(response.status_code, clean, response.headers)

    def mask_api_key(self, text: str) -> str:
        """Returns *text* with the API key masked, because an endpoint may repeat the key in its answer."""
        return mask_secrets(text, [self._key], "[key]") if self._key else text


@cache
def _load_certificates(from_environment: bool) -> ssl.SSLContext:
    """Returns the trusted certificates; they are loaded only once.

    *from_environment*: whether to also trust the certificates that environment variables name.
    """
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)


class BatchGate(Generic[T]):
    """The state that the threads of one batch of requests share: when to wait, and when to stop.

    After *enough_failures* failed requests in a row, the endpoint counts as down. When the batch stops, the event
    `over` is set, and every unanswered request gets the result `stopped`. `bound`: see `stop_with_shared_result`.
    """

    def __init__(self, enough_failures: int):
        self._enough_failures = enough_failures
        self._lock = threading.Lock()
        self.over = threading.Event()
        self._not_before = 0.0
        self._lost = 0
        self.stopped: T | None = None
        self.bound: Exception | None = None

    def stop_with_shared_result(self, result: T, bound: Exception | None = None) -> T:
        """Stops the batch, and returns the result for all unanswered requests: the *result* of the first call.

        *bound*: the error that states which budget limit was reached, if one was.
        """
        with self._lock:
            self.stopped = stopped = self.stopped or result
            self.bound = self.bound or bound
        self.over.set()
        return stopped

    def wait_until_ready(self) -> bool:
        """Waits until the pause that the endpoint asked for is over; returns False if the batch has stopped."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self.over.wait(left):
                break
        return not self.over.is_set()

    def wait(self, seconds: float, stated_s: float | None) -> None:
        """Waits *seconds* in this thread, or until the batch stops.

        *stated_s*: the wait that the endpoint states, if any. No thread sends a request before it is over.
        """
        if stated_s is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + stated_s)
        self.over.wait(seconds)

    def record_and_check_endpoint_down(self, lost: bool) -> bool:
        """Counts a request as answered or *lost* (all attempts failed); returns whether the endpoint counts as down."""
        with self._lock:
            self._lost = self._lost + 1 if lost else 0
            return self._lost >= self._enough_failures


def map_in_threads(work: Callable[[T], R], items: Iterable[T], count: int, stop: Callable[[], object]) -> list[R]:
    """Calls *work* with each of *items* in at most *count* threads, and returns the results in the order of *items*.

    If *work* raises, *stop* is called, and the first error is raised when all threads have ended. If a signal
    interrupts the call, *stop* is called, and the threads get `GRACE_S` seconds to end. Threads that take longer do not
    keep the process alive.
    """
    todo = list(items)
    indices = iter(range(len(todo)))
    results: dict[int, R] = {}
    errors: list[BaseException] = []

    def run() -> None:
        try:
            # next() of a range iterator is atomic in the interpreter: no two threads get the same index.
            for index in indices:
                results[index] = work(todo[index])
                if errors:
                    return
        except BaseException as error:
            errors.append(error)
            stop()

    threads = [threading.Thread(target=run, name=f"writer-{n}", daemon=True) for n in range(min(count, len(todo)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        stop()
        until = time.monotonic() + GRACE_S
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        raise
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(todo))]


SHORTEST_SECRET = 8
"""The minimum length of a secret that is masked; a shorter one is a placeholder or a common word."""


def mask_secrets(text: str, secrets: Iterable[str], mark: str = "[secret]") -> str:
    """Returns *text* with each of *secrets* replaced by *mark*, except secrets shorter than `SHORTEST_SECRET`."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            for writing in _list_encoded_forms(secret):
                text = text.replace(writing, mark)
    return text


@lru_cache(maxsize=64)
def _list_encoded_forms(secret: str) -> tuple[str, ...]:
    raw = secret.encode()
    results = [secret, quote(secret), quote(secret, safe=""), quote_plus(secret), raw.hex(), raw.hex().upper()]
    for ahead in range(3):
        # The characters next to a secret affect only the first and the last character of its base64.
        coded = base64.b64encode(b"\0" * ahead + raw).decode()
        results.append(coded[4 if ahead else 0 : (ahead + len(raw)) // 3 * 4])
    results += [text.replace("+", "-").replace("/", "_") for text in results[-3:]]
    return tuple(dict.fromkeys(results))
