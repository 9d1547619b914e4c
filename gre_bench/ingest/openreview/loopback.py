"""The loopback OpenReview: one HTTP server on this machine for each API version, serving given notes and PDFs.

Tests use it, and so can users who want to try fetching without an account:
``python -m gre_bench.ingest.openreview.loopback``. It imitates the service's login, pages and request limits, and
records all requests. It can inject the faults that `FAULTS` lists by name, to test that a client survives them.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import secrets
import signal
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
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gre_bench.core.errors import GreBenchError, SettingsError, Stopped
from gre_bench.ingest.openreview.answers import (
    BROWSER_CHECK,
    EXPIRED,
    FORBIDDEN,
    REPORTED_LIMITS,
    ZIP,
    Api,
    FixtureStore,
    HttpResponse,
    Limit,
    Note,
    Refused,
    html_page,
    invalid,
    not_found,
    refusal,
    say,
)
from gre_bench.ingest.records.notes import created_by, fields_of
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot import Snapshot

BAD_INPUT = 2
KINDS = {
    "/notes": "notes",
    "/notes/edits": "edits",
    "/references": "references",
    "/pdf": "pdf",
    "/attachment": "attachment",
    "/login": "login",
    "/mfa/verify": "mfa",
}
"""Path of a request → its kind."""


_LISTINGS, _ITEMS = ("notes",), ("edits", "references", "pdf", "attachment")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, in words in *what*, and the requests that it affects: those of the kinds *on*, numbered from 1.

    *first*: the number of the first affected request; after it, every *every*-th is affected (0: none). *seconds*: how
    long a refusal (429) or a slow body lasts. *error*: the refusal that is sent: its status, name and message.
    """

    name: str
    what: str
    on: tuple[str, ...] = (*_LISTINGS, *_ITEMS)
    first: int = 2
    every: int = 0
    seconds: float = 1.0
    error: tuple[int, str, str] | None = None

    def affects(self, number: int) -> bool:
        """Whether the fault affects request *number*, counted from 1 over the requests of the kinds `on`."""
        past = number - self.first
        return past == 0 or (past > 0 and self.every > 0 and past % self.every == 0)


_KNOWN = (
    Fault("429-retry-after", "429 with Retry-After alone"),
    Fault("429-headers", "429 with ratelimit-* headers alone"),
    Fault("429-body", "429 with resetTime in its body alone"),
    Fault("429-login", "a login refused with 429, the wait in words alone", on=("login",), first=1),
    Fault("500", "500 Internal Server Error", error=(500, "Error", "Internal Server Error")),
    Fault("502", "502 Bad Gateway, in HTML"),
    Fault("503", "503 Service Unavailable", error=(503, "Error", "Unavailable")),
    Fault("504", "504 Gateway Timeout, in HTML"),
    Fault("reset", "the connection reset before an answer"),
    Fault("slow", "a body that comes in drops"),
    Fault("stall", "a body that stops in its middle for a while"),
    Fault("truncated", "the connection closed in the middle of the body"),
    Fault("malformed", "half of the JSON as if it were whole", on=("notes", "edits", "references")),
    Fault("html", "the browser check: an HTML page with status 200"),
    Fault(
        "challenge",
        "the browser check, told by 403",
        error=(403, "ChallengeRequiredError", "Challenge verification required"),
    ),
    Fault("forbidden", "an item that is not for the one who asks", on=_ITEMS, first=1, error=FORBIDDEN),
    Fault("bad-archive", "an archive of PDFs with a byte changed in its middle", on=("attachment",), first=1),
    Fault("expired-401", "all tokens so far expired, told by 401", error=(401, *EXPIRED)),
    Fault("expired-403", "all tokens so far expired, told by 403", error=(403, *EXPIRED)),
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


@dataclass(frozen=True, slots=True)
class Account:
    """The only account that can log in; *code*: the one-time code that the login also requires, if any."""

    username: str
    password: str = field(repr=False)
    code: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server received, its *kind*, such as ``notes`` or ``pdf``, and the *status* of the answer."""

    path: str
    query: tuple[tuple[str, str], ...]
    kind: str
    status: int


class Loopback:
    """The two servers, one for each API version. They run while the context is open, at the URLs `v1` and `v2`.

    *notes*: each note is served by the API version whose form it has. *versions* (its *histories*), *pdf*: as in
    `FixtureStore`. *account*: must log in, if given; requests without a token then get the browser check.
    *limits*: kind of request → limit. A window opens with the first request of its kind after the end of the last one.
    *faults*: those to inject. *port*: that of API v1; API v2 gets the next. 0: any free ports.

    `triggered`: name of a fault → how often it was injected. `early`: kind of request → number of requests sent too
    early, after a refusal (429) and before the stated time.
    """

    def __init__(
        self,
        notes: Iterable[Mapping[str, Any]],
        *,
        versions: Mapping[str, Sequence[Note]] = {},
        pdf: Callable[[str], bytes | None] = lambda _: None,
        account: Account | None = None,
        limits: Mapping[str, Limit] = {},
        faults: Iterable[Fault] = (),
        port: int = 0,
    ):
        held = list(notes)
        self.stores = {
            api: FixtureStore(api, [note for note in held if ("invitations" in note) == (api == 2)], versions, pdf)
            for api in (1, 2)
        }
        self.account, self.limits, self.faults = account, limits, tuple(faults)
        self.requests: list[Request] = []
        self.triggered: Counter[str] = Counter()
        self.early: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._made: Counter[str] = Counter()
        self._ends: dict[str, float] = {}
        self._refused_until: dict[str, float] = {}
        self._tokens: set[str] = set()
        self._lock = threading.Lock()
        self._hosts = {api: _bound(partial(self.answer, api), port and port + api - 1) for api in (1, 2)}
        self.v1, self.v2 = (f"http://127.0.0.1:{host.server_address[1]}" for host in self._hosts.values())

    @property
    def counts(self) -> Counter[str]:
        """Kind of request → number of requests received."""
        with self._lock:
            return Counter(request.kind for request in self.requests)

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
        query, kind = dict(parse_qsl(parts.query, keep_blank_values=True)), KINDS.get(parts.path, "other")
        with self._lock:
            triggered = []
            for fault in self.faults:
                if kind in fault.on:
                    self._seen[fault.name] += 1
                    if fault.affects(self._seen[fault.name]):
                        self.triggered[fault.name] += 1
                        triggered.append(fault)
            try:
                response = self._instead(triggered, kind)
                if response is None:
                    headers = self._window(kind)
                    if method == "POST":
                        response = self._logged_in(parts.path, body)
                    elif self.account is not None and token not in self._tokens:
                        response = BROWSER_CHECK if token is None else refusal(401, *EXPIRED)
                    else:
                        response = _answered(self.stores[api], parts.path, query, triggered)
                    response = replace(response, headers={**headers, **response.headers})
            except Refused as refused:
                response = refused.answer
            self.requests.append(Request(parts.path, tuple(query.items()), kind, response.status))
        disturbing = (fault for fault in triggered if fault.name in ("reset", "slow", "stall", "truncated"))
        return response, next(disturbing, None)

    def _window(self, kind: str) -> dict[str, str]:
        """Counts one request of *kind* and returns the headers that state its limit; none if it has no limit.

        Raises `Refused` with a 429 if the current window allows no more requests.
        """
        limit, now = self.limits.get(kind), time.time()
        if limit is None:
            return {}
        if now >= self._ends.get(kind, 0.0):
            self._ends[kind], self._made[kind] = now + limit.seconds, 0
        self._made[kind] += 1
        made, wait = self._made[kind], self._ends[kind] - now
        headers = limit.headers(max(0, limit.requests - made), wait, now)
        if made > limit.requests:
            self.early[kind] += made > limit.requests + 1
            headers["retry-after"] = headers["ratelimit-reset"]
            raise Refused(limit.refusal(made, wait, now, headers))
        return headers

    def _instead(self, triggered: Iterable[Fault], kind: str) -> HttpResponse | None:
        """Returns the response that replaces the real answer; None if the real answer is to be sent.

        After a fault 429, later requests of *kind* are refused too until the wait is over.
        """
        now = time.time()
        if now < self._refused_until.get(kind, 0.0):
            self.early[kind] += 1
            return _closed("429-body", self._refused_until[kind] - now)
        for fault in triggered:
            if fault.name.startswith("429"):
                self._refused_until[kind] = now + fault.seconds
                return _closed(fault.name, fault.seconds)
            if fault.error:
                if fault.name.startswith("expired"):
                    self._tokens.clear()
                return refusal(*fault.error)
            if fault.name in ("502", "504"):
                return html_page(fault.name, "nginx", int(fault.name))
            if fault.name == "html":
                return BROWSER_CHECK
            if fault.name == "wrong-host":
                return say({"notes": [], "count": 0})
        return None

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
        person = {"id": "~Loopback_User1", "profile": {"id": "~Loopback_User1"}}
        # The service's form (JWT); openreview-py does not check the signature.
        payload = {"user": person, "exp": int(time.time()) + 86400, "jti": secrets.token_hex(8)}
        parts = (json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, payload))
        written = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
        token = ".".join([*written, secrets.token_urlsafe(16)])
        self._tokens.add(token)
        return say({"token": token, "user": person})


def _closed(name: str, wait: float) -> HttpResponse:
    limit, now = Limit(36, 3600), time.time()
    headers = limit.headers(0, wait, now) if name == "429-headers" else {}
    headers |= {"retry-after": str(math.ceil(wait))} if name == "429-retry-after" else {}
    return limit.refusal(limit.requests + 1, wait, now, headers, reset_time=name == "429-body")


def _answered(store: FixtureStore, path: str, query: dict[str, str], triggered: list[Fault]) -> HttpResponse:
    """Returns the answer of *store*, with the changes that the *triggered* faults make to its content.

    The fault ``edits`` edits two reviews in *store*, for later requests.
    """
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
    for name in (fault.name for fault in triggered):
        body, middle = answer.body, len(answer.body) // 2
        if name == "bad-archive" and answer.kind == ZIP:
            answer = replace(answer, body=body[:middle] + bytes([body[middle] ^ 255]) + body[middle + 1 :])
        elif name == "malformed":
            answer = replace(answer, body=body[:middle])
        elif name == "edits":
            reviews = sorted(key for key, note in store.notes.items() if created_by(note).endswith("Official_Review"))
            for review in {*reviews[:1], *reviews[-1:]}:
                held = fields_of(store.notes[review])
                longest = max(held, key=lambda key: len(held[key]) if isinstance(held[key], str) else 0)
                store.edit(review, None, **{longest: f"{held[longest]}\n\nEdited after the discussion."})
        elif name in ("empty-page", "duplicates") and "after" in query:
            tree = json.loads(body)
            notes = []
            if name == "duplicates":
                whole = store.listing({key: query[key] for key in query if key not in ("after", "limit")})
                known = {note["id"]: note for note in json.loads(whole.body)["notes"]}
                again = [known[key] for key in sorted(known) if key <= query["after"]][-3:]
                notes = again + tree["notes"]
            answer = replace(answer, body=json.dumps(tree | {"notes": notes}).encode())
    return answer


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
        disturbed = fault.name if fault else ""
        if disturbed == "reset":
            # Closing without lingering sends a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(answer.status)
        for name, value in {"content-type": answer.kind, **answer.headers, "content-length": len(answer.body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        parts = {"slow": 20, "stall": 2, "truncated": 2}.get(disturbed, 1)
        size = -(-len(answer.body) // parts) or 1
        pieces = [answer.body[start : start + size] for start in range(0, len(answer.body), size)]
        if disturbed == "truncated":
            pieces, self.close_connection = pieces[:1], True
        for place, piece in enumerate(pieces):
            if place and fault is not None:
                time.sleep(fault.seconds / (len(pieces) - 1))
            self.wfile.write(piece)

    do_POST = do_GET

    def log_message(self, format: str, *_: object) -> None:
        """Prints nothing, because the server keeps a list of all requests."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the loopback server until it is stopped, and returns the exit code.

    Bad input prints one line on standard error and gives the code `BAD_INPUT`.
    """

    def stop(number: int, _: Any) -> None:
        raise Stopped(signal.Signals(number).name)

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, stop)
    parser = argparse.ArgumentParser(
        prog="python -m gre_bench.ingest.openreview.loopback",
        description="Serve notes and PDFs on this machine as OpenReview does, both API versions, until stopped. "
        "It needs no account.",
        epilog=f"Faults: {', '.join(FAULTS)}.",
    )
    add = parser.add_argument
    add("source", metavar="SOURCE", type=Path, help="folder of a snapshot, or file of notes (.jsonl or .jsonl.gz)")
    add("--pdfs", metavar="FOLDER", type=Path, help="the papers' PDFs, <paper id>.pdf, beside a file of notes")
    add("--port", metavar="N", type=int, default=3000, help="port of API v1; v2 has the next; 0: free ones (3000)")
    add("--fault", metavar="NAME", action="append", default=[], help="a fault to inject, by its name; repeatable")
    add("--every", metavar="N", type=int, default=0, help="inject the faults at every N-th request, not once")
    add("--seconds", metavar="S", type=float, default=1.0, help="how long a refusal or a slow answer lasts (1)")
    add("--limits", action="store_true", help="refuse requests beyond the limits that users reported")
    add("--hour", metavar="S", type=float, default=3600.0, help="seconds that an hour of these limits lasts (3600)")
    add("--login", action="store_true", help="serve only the account in OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD")
    try:
        _serve(parser.parse_args(arguments))
    except GreBenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def _serve(arguments: argparse.Namespace) -> None:
    """Serves as *arguments* say until it is stopped; raises `SettingsError` for what cannot be used."""
    if not 0 <= arguments.port <= 65534 or arguments.every < 0 or arguments.seconds < 0 or arguments.hour <= 0:
        raise SettingsError("--port is 0 to 65534, --every and --seconds are at least 0, --hour is above 0")
    more: dict[str, Any] = {"port": arguments.port}
    if arguments.login:
        username, password = os.environ.get("OPENREVIEW_USERNAME"), os.environ.get("OPENREVIEW_PASSWORD")
        if not username or not password:
            raise SettingsError("--login takes the account from OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD; set both")
        more["account"] = Account(username, password)
    if arguments.limits:
        more["limits"] = {
            kind: Limit(limit.requests, limit.seconds * arguments.hour / 3600)
            for kind, limit in REPORTED_LIMITS.items()
        }
    when = {"seconds": arguments.seconds, **({"every": arguments.every} if arguments.every else {})}
    more["faults"] = [fault(name, **when) for name in arguments.fault]
    source, pdfs = arguments.source, arguments.pdfs
    if source.is_dir():
        if pdfs is not None:
            raise SettingsError(f"{source} is a snapshot and has PDFs of its own; leave out --pdfs")
        snapshot = Snapshot.open(source)
        more |= {"notes": snapshot.notes(), "versions": dict(snapshot.histories()), "pdf": snapshot.pdf}
    else:
        if pdfs is not None and not pdfs.is_dir():
            raise SettingsError(f"--pdfs {pdfs} is no folder; name the one that has the papers' PDFs, <paper id>.pdf")
        files = {path.stem: path for path in pdfs.glob("*.pdf")} if pdfs else {}
        more["notes"] = read_notes_file(source)
        more["pdf"] = lambda paper: files[paper].read_bytes() if paper in files else None
    with Loopback(**more) as loopback:
        print(f"API v1 ({len(loopback.stores[1].notes)} notes): {loopback.v1}")
        print(f"API v2 ({len(loopback.stores[2].notes)} notes): {loopback.v2}")
        print("Ctrl-C stops it", flush=True)
        try:
            while True:
                time.sleep(0.5)
        except (Stopped, KeyboardInterrupt):
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(loopback.counts.items()))
            print(f"stopped; requests: {counts or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
