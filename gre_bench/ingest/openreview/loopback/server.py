"""The loopback OpenReview: one HTTP server on this machine for each API version, serving given notes and PDFs.

Tests use it, and so can users who want to try fetching without an account. It imitates the service's login, pages,
streams and request limits, and records all requests.

It can inject faults, to test that a client survives them. `FAULTS` lists them by name. Each `Fault` states the kinds of
requests that it affects, and which requests of these kinds: for example the second one, or every tenth.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gre_bench.core.errors import SettingsError
from gre_bench.ingest.openreview.loopback.fixture_store import (
    BROWSER_CHECK,
    FORBIDDEN,
    ZIP,
    Api,
    FixtureStore,
    HttpResponse,
    Limit,
    Note,
    Query,
    Refused,
    Windows,
    invalid,
    not_found,
    refusal,
    say,
)

_KINDS = {
    "/notes": "notes",
    "/notes/edits": "edits",
    "/references": "references",
    "/pdf": "pdf",
    "/attachment": "attachment",
    "/login": "login",
    "/mfa/verify": "mfa",
}
_PERSON = "~Loopback_User1"
_LISTINGS = ("notes",)
_ITEMS = ("edits", "references", "pdf", "attachment")
_EXPIRED = ("TokenExpiredError", "Token has expired, please log in again")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, in words in *what*, and the requests that it affects: those of the kinds *on*, numbered from 1.

    *first*: the number of the first affected request; after it, every *every*-th is affected (0: none), but at most
    *times* in total (0: no maximum). *seconds*: how long a refusal (429) or a slow body lasts.
    """

    name: str
    what: str
    on: tuple[str, ...] = (*_LISTINGS, *_ITEMS)
    first: int = 2
    every: int = 0
    times: int = 0
    seconds: float = 1.0

    def affects(self, number: int) -> bool:
        """Whether the fault affects request *number*, counted from 1 over the requests of the kinds `on`."""
        past = number - self.first
        if past < 0 or (past and not self.every) or (self.every and past % self.every):
            return False
        return not self.times or not self.every or past // self.every < self.times


_KNOWN = (
    Fault("429-retry-after", "429 with Retry-After alone"),
    Fault("429-headers", "429 with ratelimit-* headers alone"),
    Fault("429-body", "429 with resetTime in its body alone"),
    Fault("429-login", "a login refused with 429, the wait in words alone", on=("login",), first=1),
    Fault("500", "500 Internal Server Error"),
    Fault("502", "502 Bad Gateway, in HTML"),
    Fault("503", "503 Service Unavailable"),
    Fault("504", "504 Gateway Timeout, in HTML"),
    Fault("reset", "the connection reset before an answer"),
    Fault("slow", "a body that comes in drops"),
    Fault("stall", "a body that stops in its middle for a while"),
    Fault("truncated", "the connection closed in the middle of the body"),
    Fault("malformed", "half of the JSON as if it were whole", on=("notes", "edits", "references")),
    Fault("html", "the browser check: an HTML page with status 200"),
    Fault("challenge", "403 ChallengeRequiredError"),
    Fault("forbidden", "403 ForbiddenError: this item is not for the one who asks", on=_ITEMS, first=1),
    Fault("bad-archive", "an archive of PDFs with a byte changed in its middle", on=("attachment",), first=1),
    Fault("expired-401", "all tokens so far expired, told by 401"),
    Fault("expired-403", "all tokens so far expired, told by 403"),
    Fault("wrong-host", "empty listings, as on the host of the other API", on=_LISTINGS, first=1, every=1),
    Fault("short-pages", "listings of at most 100 notes a page", on=_LISTINGS, first=1, every=1),
    Fault("empty-page", "an empty page in the middle of a listing", on=_LISTINGS),
    Fault("duplicates", "a page that begins with the last notes of the one before", on=_LISTINGS),
    Fault("edits", "a first and a last review edited after the first page", on=_LISTINGS, first=1),
)
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _KNOWN}


def fault(name: str, **changes: object) -> Fault:
    """Returns the fault *name* with some fields changed; raises `SettingsError` for an unknown name."""
    if name not in FAULTS:
        raise SettingsError(f"no fault {name!r:.40}; known are {', '.join(FAULTS)}")
    return replace(FAULTS[name], **changes)


class Faults:
    """The active faults of one server, and how often each was *triggered*.

    *early*: kind of request → number of requests sent before the wait of a refusal (429) was over.
    """

    def __init__(self, several: Iterable[Fault]):
        self.several = tuple(several)
        self.triggered: Counter[str] = Counter()
        self.early: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._opens: dict[str, float] = {}
        self._lock = threading.Lock()

    def due(self, kind: str) -> list[Fault]:
        """Counts one more request of *kind*, and returns the faults that affect this request."""
        with self._lock:
            faults = []
            for fault in self.several:
                if kind in fault.on:
                    self._seen[fault.name] += 1
                    if fault.affects(self._seen[fault.name]):
                        self.triggered[fault.name] += 1
                        faults.append(fault)
            return faults

    def instead(self, triggered: Iterable[Fault], kind: str) -> HttpResponse | None:
        """Returns the error response that replaces the real answer; None if the real answer is to be sent.

        After a fault 429, later requests of *kind* are refused too until the wait is over.
        """
        now = time.time()
        if now < self._opens.get(kind, 0.0):
            self.early[kind] += 1
            return _closed("429-body", self._opens[kind] - now)
        for fault in triggered:
            name = fault.name
            if name.startswith("429"):
                self._opens[kind] = now + fault.seconds
                return _closed(name, fault.seconds)
            if name in ("500", "503"):
                return refusal(int(name), "Error", "Internal Server Error" if name == "500" else "Unavailable")
            if name in ("502", "504"):
                page = f"<html><head><title>{name}</title></head><body>nginx</body></html>"
                return replace(BROWSER_CHECK, body=page.encode(), status=int(name))
            if name == "html":
                return BROWSER_CHECK
            if name == "challenge":
                return refusal(403, "ChallengeRequiredError", "Challenge verification required")
            if name == "forbidden":
                return refusal(*FORBIDDEN)
            if name.startswith("expired"):
                return refusal(int(name[-3:]), *_EXPIRED)
            if name == "wrong-host":
                return say({"notes": [], "count": 0})
        return None


def _closed(name: str, wait: float) -> HttpResponse:
    limit, now = Limit(36, 3600), time.time()
    headers = limit.headers(0, wait, now) if name == "429-headers" else {}
    headers |= {"retry-after": str(math.ceil(wait))} if name == "429-retry-after" else {}
    return limit.refusal(limit.requests + 1, wait, now, headers, reset_time=name == "429-body")


def _corrupted(triggered: Iterable[Fault], answer: HttpResponse, query: Query, store: FixtureStore) -> HttpResponse:
    """Returns *answer* with the changes that the *triggered* faults make to its content, such as repeated notes.

    The fault ``edits`` leaves *answer* unchanged and edits two reviews in *store*, for later requests.
    """

    def with_notes(change: Callable[[list[Note]], list[Note]]) -> HttpResponse:
        tree = json.loads(answer.body)
        return replace(answer, body=json.dumps(tree | {"notes": change(tree["notes"])}).encode())

    for fault in triggered:
        body, middle = answer.body, len(answer.body) // 2
        if fault.name == "bad-archive" and answer.kind == ZIP:
            answer = replace(answer, body=body[:middle] + bytes([body[middle] ^ 255]) + body[middle + 1 :])
        elif fault.name == "malformed":
            answer = replace(answer, body=body[:middle])
        elif fault.name == "edits":
            store.edit_two_reviews()
        elif fault.name == "empty-page" and "after" in query:
            answer = with_notes(lambda notes: [])
        elif fault.name == "duplicates" and "after" in query:
            before = [name for name in sorted(store.notes) if name <= query["after"]]
            whole = store.listing({key: query[key] for key in query if key not in ("after", "limit")})
            known = {note["id"]: note for note in json.loads(whole.body)["notes"]}
            again = [known[name] for name in before if name in known][-3:]
            answer = with_notes(lambda notes, again=again: again + notes)
    return answer


@dataclass(frozen=True, slots=True)
class Account:
    """The only account that can log in; *code*: the one-time code that the login also requires, if any."""

    username: str
    password: str = field(repr=False)
    code: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server received, its *kind*, such as ``notes`` or ``pdf``, and the *status* of the answer."""

    api: Api
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    kind: str
    status: int


class Loopback:
    """The two servers, one for each API version. They run while the context is open, at the URLs `v1` and `v2`.

    *notes*: each note is served by the API version whose form it has. *versions* (its *histories*), *pdf*: as in
    `FixtureStore`. *account*: must log in, if given; requests without a token then get the browser check.
    *limits*: kind of request → limit. *port*: that of API v1; API v2 gets the next. 0: any free ports.
    """

    def __init__(
        self,
        notes: Iterable[Mapping[str, Any]],
        *,
        versions: Mapping[str, Sequence[Note]] = {},
        pdf: Callable[[str], bytes | None] = lambda _: None,
        account: Account | None = None,
        limits: Mapping[str, Limit] = {},
        fault: Iterable[Fault] = (),
        port: int = 0,
    ):
        held = list(notes)
        self.fixture_stores = {
            api: FixtureStore(api, [note for note in held if ("invitations" in note) == (api == 2)], versions, pdf)
            for api in (1, 2)
        }
        self.account = account
        self.windows = Windows(limits)
        self.faults = Faults(fault)
        self.requests: list[Request] = []
        self._tokens: set[str] = set()
        self._lock = threading.Lock()
        self._hosts = {api: _bound(partial(self.answer, api), port and port + api - 1) for api in (1, 2)}

    @property
    def v1(self) -> str:
        """URL of the server of API v1."""
        return f"http://127.0.0.1:{self._hosts[1].server_address[1]}"

    @property
    def v2(self) -> str:
        """URL of the server of API v2."""
        return f"http://127.0.0.1:{self._hosts[2].server_address[1]}"

    @property
    def counts(self) -> Counter[str]:
        """Kind of request → number of requests received."""
        with self._lock:
            return Counter(request.kind for request in self.requests)

    @property
    def early(self) -> Counter[str]:
        """Kind of request → number of requests sent too early: after a refusal (429) and before the stated time."""
        return self.windows.early + self.faults.early

    def __enter__(self) -> Loopback:
        for host in self._hosts.values():
            threading.Thread(target=host.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for host in self._hosts.values():
            host.shutdown()
            host.server_close()

    def answer(
        self, api: Api, method: str, target: str, token: str | None, body: bytes
    ) -> tuple[HttpResponse, Fault | None]:
        """Records one request, and returns its answer and the fault that disturbs the transfer of the answer, if any.

        *target*: path and query of the URL.
        """
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        kind = _KINDS.get(parts.path, "other")
        triggered = self.faults.due(kind)
        try:
            response = self.faults.instead(triggered, kind)
            if response is None:
                headers = self.windows.take(kind)
                if method == "POST":
                    response = self._logged_in(parts.path, body)
                elif self.account is not None and token not in self._tokens:
                    response = BROWSER_CHECK if token is None else refusal(401, *_EXPIRED)
                else:
                    response = self._answer(self.fixture_stores[api], parts.path, query, triggered)
                response = replace(response, headers={**headers, **response.headers})
            elif any(fault.name.startswith("expired") for fault in triggered):
                self._tokens.clear()
        except Refused as refused:
            response = refused.answer
        with self._lock:
            self.requests.append(Request(api, method, parts.path, tuple(query.items()), kind, response.status))
        disturbing = (fault for fault in triggered if fault.name in ("reset", "slow", "stall", "truncated"))
        return response, next(disturbing, None)

    def _answer(self, store: FixtureStore, path: str, query: dict[str, str], triggered: list[Fault]) -> HttpResponse:
        if path == "/notes":
            if any(fault.name == "short-pages" for fault in triggered):
                query = {**query, "limit": str(min(100, int(query.get("limit", "1000"))))}
            answer = store.listing(query)
        elif path in ("/notes/edits", "/references"):
            answer = store.versions(path.rpartition("/")[2], query)
        elif path == "/attachment" and "ids" in query:
            answer = store.archive(query["ids"].split(","))
        elif path in ("/pdf", "/attachment"):
            return store.file(query.get("id", ""))
        else:
            raise not_found("Path", path)
        return _corrupted(triggered, answer, query, store)

    def _logged_in(self, path: str, body: bytes) -> HttpResponse:
        try:
            login = json.loads(body or b"{}")
        except ValueError:
            raise invalid("body", "the body is not JSON") from None
        if path not in ("/login", "/mfa/verify"):
            raise not_found("Path", path)
        if path == "/login" and self.account is not None:
            if (login.get("id"), login.get("password")) != (self.account.username, self.account.password):
                return refusal(401, "UnauthorizedError", "Invalid username or password")
            if self.account.code is not None:
                methods = {"mfaMethods": ["totp"], "preferredMethod": "totp"}
                return say({"mfaPending": True, "mfaPendingToken": secrets.token_hex(8)} | methods)
        elif self.account is not None and login.get("code") != self.account.code:
            return refusal(401, "UnauthorizedError", "Invalid verification code")
        person = {"id": _PERSON, "profile": {"id": _PERSON}}
        # The service's form (JWT); openreview-py does not check the signature.
        payload = {"user": person, "exp": int(time.time()) + 86400, "jti": secrets.token_hex(8)}
        parts = (json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, payload))
        written = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
        token = ".".join([*written, secrets.token_urlsafe(16)])
        self._tokens.add(token)
        return say({"token": token, "user": person})


def _bound(answering: Callable[..., tuple[HttpResponse, Fault | None]], port: int) -> ThreadingHTTPServer:
    """Returns a server bound to *port* of this machine (0: any); raises `SettingsError` if it cannot be used."""
    try:
        return _Host(("127.0.0.1", port), type("Handler", (_Handler,), {"answering": staticmethod(answering)}))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"port {port} cannot be served: {reason}; name another with --port") from None


class _Host(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors of clients that close the connection, and prints all other errors, which are bugs."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    answering: Callable[..., tuple[HttpResponse, Fault | None]]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        token = self.headers.get("authorization", "").removeprefix("Bearer ") or None
        answer, fault = self.answering(self.command, self.path, token, body)
        if fault is not None and fault.name == "reset":
            # Closing without lingering sends a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        sent, half = answer.body, len(answer.body) // 2
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        if fault is None:
            self.wfile.write(sent)
        elif fault.name == "truncated":
            self.wfile.write(sent[:half])
            self.close_connection = True
        elif fault.name == "stall":
            self.wfile.write(sent[:half])
            time.sleep(fault.seconds)
            self.wfile.write(sent[half:])
        else:
            drop = -(-len(sent) // 20)
            starts = range(0, len(sent), drop)
            for start in starts:
                self.wfile.write(sent[start : start + drop])
                time.sleep(fault.seconds / len(starts))

    do_POST = do_GET

    def log_message(self, format: str, *_: object) -> None:
        """Prints nothing, because the server keeps a list of all requests."""
