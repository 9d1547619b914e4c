"""The loopback OpenReview: one HTTP server on this machine for each API version, serving given notes and PDFs.

Tests use it, and so can users who want to try fetching without an account. It imitates the service's login, pages,
streams and request limits. It can inject faults, and it records all requests.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gre_bench.ingest.openreview.loopback.answers import (
    HttpResponse,
    Refused,
    browser_check,
    invalid,
    not_found,
    refusal,
    say,
    token_expired,
)
from gre_bench.ingest.openreview.loopback.fault_injection import Fault, Faults, corrupted, shortened, wire
from gre_bench.ingest.openreview.loopback.fixture_store import FixtureStore
from gre_bench.ingest.openreview.loopback.host import bound_server
from gre_bench.ingest.openreview.loopback.limits import Limit, Windows
from gre_bench.ingest.openreview.loopback.query import Api, Note

PORT = 3000
"""openreview-py's default port for API v1; v2 is at the next port."""

_KINDS = {
    "/notes": "notes",
    "/notes/edits": "edits",
    "/references": "references",
    "/groups": "groups",
    "/profiles": "profiles",
    "/pdf": "pdf",
    "/references/pdf": "pdf",
    "/attachment": "attachment",
    "/notes/edits/attachment": "attachment",
    "/login": "login",
    "/mfa/challenge": "mfa",
    "/mfa/verify": "mfa",
}
_PERSON = "~Loopback_User1"


@dataclass(frozen=True, slots=True)
class Account:
    """The only account that can log in.

    *code*: the one-time code that the login also requires, as with an authenticator app; None: no second factor.
    """

    username: str
    password: str = field(repr=False)
    code: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server received.

    *query*: the parameters as (name, value).
    *kind*: the kind of request, such as ``notes`` or ``pdf``; each kind has its own limit.
    *status*: the HTTP status of the answer.
    """

    api: Api
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    kind: str
    status: int


class Loopback:
    """The two servers, one for each API version. They run while the context is open, at the URLs `v1` and `v2`.

    *notes*: each note is served by the API version whose form it has.
    *versions*, *pdf*: as in `FixtureStore`.
    *account*: the account that must log in. Requests without a token then get the browser check. None: no login needed.
    *limits*: kind of request → limit. *fault*: the faults to inject.
    *port*: the port of API v1; API v2 gets the next port. 0: any free ports.
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
        self._hosts = {api: bound_server(partial(self.answer, api), port and port + api - 1) for api in (1, 2)}

    @property
    def v1(self) -> str:
        """URL of the server of API v1."""
        return self._url(1)

    @property
    def v2(self) -> str:
        """URL of the server of API v2."""
        return self._url(2)

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

        *target*: path and query of the URL. *token*: the login token; None if the request has none.
        """
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        kind = _KINDS.get(parts.path, "other")
        triggered = self.faults.due(kind)
        try:
            response = self.faults.instead(triggered, kind)
            if response is None:
                headers = self.windows.take(kind)
                response = self._answer(self.fixture_stores[api], method, parts.path, query, token, body, triggered)
                response = replace(response, headers={**headers, **response.headers})
            elif any(fault.name.startswith("expired") for fault in triggered):
                self._tokens.clear()
        except Refused as refused:
            response = refused.answer
        with self._lock:
            self.requests.append(Request(api, method, parts.path, tuple(query.items()), kind, response.status))
        return response, wire(triggered)

    def _answer(
        self,
        fixture_store: FixtureStore,
        method: str,
        path: str,
        query: dict[str, str],
        token: str | None,
        body: bytes,
        triggered: list[Fault],
    ) -> HttpResponse:
        if method == "POST":
            return self._logged_in(path, body)
        if self.account is not None and token not in self._tokens:
            return browser_check() if token is None else token_expired()
        if path == "/notes":
            return corrupted(triggered, fixture_store.listing(shortened(triggered, query)), query, fixture_store)
        if path in ("/notes/edits", "/references", "/groups"):
            handler = {
                "/notes/edits": fixture_store.edits,
                "/references": fixture_store.references,
                "/groups": fixture_store.groups,
            }[path]
            return corrupted(triggered, handler(query), query, fixture_store)
        if path == "/attachment" and "ids" in query:
            return corrupted(triggered, fixture_store.archive(query["ids"].split(",")), query, fixture_store)
        if path in ("/pdf", "/references/pdf", "/attachment", "/notes/edits/attachment"):
            return fixture_store.file(query.get("id", ""))
        if path == "/profiles":
            return say({"profiles": [{"id": _PERSON, "content": {"names": []}}], "count": 1})
        raise not_found("Path", path)

    def _logged_in(self, path: str, body: bytes) -> HttpResponse:
        try:
            login = json.loads(body or b"{}")
        except ValueError:
            raise invalid("body", "the body is not JSON") from None
        if path == "/mfa/challenge":
            return say({})
        if path == "/login" and self.account is not None:
            if (login.get("id"), login.get("password")) != (self.account.username, self.account.password):
                return refusal(401, "UnauthorizedError", "Invalid username or password")
            if self.account.code is not None:
                methods = {"mfaMethods": ["totp"], "preferredMethod": "totp"}
                return say({"mfaPending": True, "mfaPendingToken": secrets.token_hex(8)} | methods)
        elif path == "/mfa/verify" and self.account is not None:
            if login.get("code") != self.account.code:
                return refusal(401, "UnauthorizedError", "Invalid verification code")
        elif path != "/login":
            raise not_found("Path", path)
        person = {"id": _PERSON, "profile": {"id": _PERSON}}
        token = _token({"user": person, "exp": int(time.time()) + 86400})
        self._tokens.add(token)
        return say({"token": token, "user": person})

    def _url(self, api: Api) -> str:
        return f"http://127.0.0.1:{self._hosts[api].server_address[1]}"


def _token(payload: dict[str, Any]) -> str:
    """Returns a new login token with *payload*, in the form of the service's tokens (JWT).

    Its signature is random, because openreview-py does not check it.
    """
    parts = ({"alg": "HS256", "typ": "JWT"}, payload | {"jti": secrets.token_hex(8)})
    written = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    return ".".join([*written, secrets.token_urlsafe(16)])
