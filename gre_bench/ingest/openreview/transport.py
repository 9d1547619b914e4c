"""The HTTP transport of the openreview-py client, with a request budget, time limits and few retries.

It replaces openreview-py's own transport, which has no time limit and may wait for an hour. A refusal (429) raises
`Paused` and a browser check raises `SourceError`, both without a retry. A transient fault (5xx, a broken connection, a
truncated or garbled body) is retried a few times. If all attempts fail, `ServiceDown` is raised.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError, ReadTimeout, RequestException
from urllib3.exceptions import HTTPError

from gre_bench.core.errors import ServiceDown, SettingsError, SourceError
from gre_bench.ingest.openreview.request_budget import RequestBudget

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

    from gre_bench.core.settings import FetchSettings

FAULTS = (500, 502, 503, 504)
BACKOFF_S, BACKOFF_MOST_S = 2.0, 60.0
CONNECT_S, UNREACHED_S, SILENT_S = 10.0, 45.0, 20.0
"""Seconds until a connection fails, until an unreachable host is given up, and until a silent host is reported."""
WHOLE = 15
"""The time limit for a complete answer, as a multiple of the time limit between two pieces of the answer."""
STOP = "Ctrl-C stops, and the same command continues"
SAID = 120
NOTICES = logging.getLogger("gre_bench.fetch")
KINDS = (  # beginning of a path → kind of request; each kind has its own limits
    ("/notes/edits", "edits"),
    ("/references", "edits"),
    ("/notes", "notes"),
    ("/pdf", "pdf"),
    ("/attachment", "attachment"),
    ("/groups", "groups"),
    ("/login", "login"),
    ("/mfa", "login"),
)

IDENTIFYING = ("id", "forum", "invitation", "note.id", "referent", "after")


def may_send_login(scheme: str, host: str) -> bool:
    """Whether a login may be sent to *host*: the connection uses https, or the host is this machine."""
    if scheme == "https" or host.rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class TokenExpired(Exception):
    """The service no longer accepts the login token. The client then logs in again, once."""


class Transport(HTTPAdapter):
    """The HTTP transport that openreview-py's session uses.

    It logs the first contact with a host, each failed attempt, and hosts that are slow to give a first answer.
    *sent*: kind of request → number of requests sent. *last*: the parsed JSON of the last response, if it had any.
    *answered*: the hosts that have answered at least once.
    """

    def __init__(self, budget: RequestBudget, policy: FetchSettings, sleep: Callable[[float], None] = time.sleep):
        super().__init__(max_retries=0)
        self.budget, self.policy, self.sleep = budget, policy, sleep
        self.sent: Counter[str] = Counter()
        self.last: Any = None
        self.answered: set[str] = set()

    def send(self, request: PreparedRequest, **options: Any) -> Response:  # type: ignore[override]
        parts = urlsplit(request.url or "")
        kind = next((kind for start, kind in KINDS if parts.path.startswith(start)), "other")
        self.last, fault, lost = None, "", False
        secret = bool(request.body) or "Authorization" in request.headers
        if secret and not may_send_login(parts.scheme, parts.hostname or ""):
            raise SettingsError(
                f"{parts.scheme}://{parts.netloc}: a login goes out by https only, or to this machine; name a host "
                "with https://, or fetch without OPENREVIEW_USERNAME, OPENREVIEW_PASSWORD and OPENREVIEW_TOKEN"
            )
        began, host, tries = time.monotonic(), parts.netloc, 0
        if host not in self.answered:
            how = "to log in" if request.body else "logged in" if secret else "without a login"
            NOTICES.info(f"contacting {parts.scheme}://{host} {how}")
        for attempt in range(self.policy.attempts):
            if attempt:
                wait = min(BACKOFF_MOST_S, BACKOFF_S * 2 ** (attempt - 1))
                if lost and time.monotonic() - began + wait > UNREACHED_S:
                    break
                state = "gives no usable answer" if host in self.answered else "does not answer"
                again = f"try {attempt + 1} of {self.policy.attempts} in {wait:g} s"
                NOTICES.warning(f"{host} {state} ({fault}); {again}; {STOP}")
                self.sleep(wait)
            tries, lost = attempt + 1, False
            self.budget.count_request_or_pause(f"{parts.netloc} {kind}")
            self.sent[kind] += 1
            limits = f"each of {self.policy.attempts} tries waits {self.policy.timeout_s:g} s"
            silence = f"{host} has not answered for {SILENT_S:g} s; {limits}; {STOP}"
            timer = threading.Timer(SILENT_S, NOTICES.warning, [silence])
            timer.daemon = True
            if host not in self.answered:
                timer.start()
            try:
                response = self._send_and_read_whole_body(request, options)
            except (RequestException, HTTPError) as error:
                fault, lost = _find_root_cause(error), host not in self.answered and not isinstance(error, ReadTimeout)
                continue
            finally:
                timer.cancel()
            other = urlsplit(response.headers.get("location", "") if request.body and response.is_redirect else "")
            if other.netloc not in ("", parts.netloc) and may_send_login(other.scheme, other.hostname or ""):
                raise SourceError(f"{parts.netloc}: a login is not sent on to {other.netloc[:SAID]}; name that host")
            fault = self._find_response_fault(response, f"{parts.netloc} {kind}", request)
            if not fault:
                return response
        if host not in self.answered:
            raise ServiceDown(
                f"nothing answers at {host}: {tries} tries of {parts.path} failed, the last with {fault}; "
                "check the network and the host's name, and run it again later"
            )
        known = parse_qs(parts.query)
        stated = "&".join(f"{name}={known[name][0]:.80}" for name in IDENTIFYING if name in known)
        address = f"{host}{parts.path}{'?' * bool(stated)}{stated}"
        raise ServiceDown(f"{address}: {tries} tries failed, the last with {fault}; run it again later")

    def _send_and_read_whole_body(self, request: PreparedRequest, options: dict[str, Any]) -> Response:
        """Returns the response with its complete body; raises an error if a time limit is exceeded."""
        began, connect_s = time.monotonic(), min(CONNECT_S, self.policy.timeout_s)
        options = {**options, "stream": True, "timeout": (connect_s, self.policy.timeout_s)}
        response = super().send(request, **options)
        self.answered.add(urlsplit(request.url or "").netloc)
        pieces: list[bytes] = []
        # Not iter_content, which waits for a full block: a body may arrive in small pieces.
        while piece := response.raw.read1(1 << 16, decode_content=True):
            pieces.append(piece)
            if time.monotonic() - began > (whole_s := WHOLE * self.policy.timeout_s):
                response.close()
                raise ConnectionError(f"the body was not complete after {whole_s:g} s")
        response._content, response._content_consumed = b"".join(pieces), True
        return response

    def _find_response_fault(self, response: Response, kind: str, request: PreparedRequest) -> str:
        """Returns the transient fault of *response*, in words; empty if there is none, as for a 404.

        Raises an error for a refusal (429), a browser check or an expired login. Records the request limits that the
        response states. *kind*: the host, a blank and the kind of request.
        """
        form, body, garbled = response.headers.get("content-type", "").lower(), None, False
        if "json" in form:
            try:
                body = response.json()
            except (ValueError, RecursionError):
                garbled = True
        self.budget.record_stated_limits(kind, response.status_code, response.headers, body)
        if response.status_code == 429:
            # raises Paused; the pause lasts until the time that this response states
            self.budget.count_request_or_pause(kind)
            return "429"
        if response.status_code in FAULTS:
            return f"{response.status_code}"
        name = str(body.get("name", "")) if isinstance(body, dict) else ""
        if name == "ChallengeRequiredError" or (response.status_code in (200, 403) and "html" in form):
            host = kind.split(" ")[0]
            if "Authorization" in request.headers:
                raise SourceError(
                    f"{host} answers a logged-in request with a browser check; try again later, from elsewhere"
                )
            raise SourceError(
                f"{host} answers with a browser check instead of data, as it does to those who are not logged in; "
                "set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or OPENREVIEW_TOKEN"
            )
        if response.status_code == 401 or "token" in name.lower():
            raise TokenExpired(name)
        if garbled:
            return "a body that is not JSON"
        self.last = body
        return ""


def _find_root_cause(error: BaseException) -> str:
    """Returns the root cause of *error* in one line: the operating system's reason, if there is one.

    requests and urllib3 store a wrapped exception in the attribute ``reason`` or as an argument.
    """
    chain, inner = list[BaseException](), error
    while isinstance(inner, BaseException) and inner not in chain:
        chain.append(inner)
        reason = getattr(inner, "reason", None) or next((arg for arg in inner.args if isinstance(arg, Exception)), None)
        inner = reason if isinstance(reason, Exception) else inner.__cause__ or inner.__context__
    stated = next((link for link in reversed(chain) if isinstance(link, OSError) and link.strerror), None)
    if stated is not None:
        return f"{type(stated).__name__}: {stated.strerror}"
    last = next((link for link in reversed(chain) if isinstance(link, HTTPError | RequestException)), error)
    return f"{type(last).__name__}: {last}".splitlines()[0][:SAID]
