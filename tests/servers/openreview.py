"""A fake OpenReview on loopback: one HTTP server for each API version, which serves given notes and PDFs.

Tests use it. Users with a clone can use it to try fetching without an account: ``python -m tests.servers.openreview``.
It imitates the service's login, pages and request limits, and records all requests. It can inject the faults that
`FAULTS` lists by name, to test that a client survives them.

Under API v1, a note has plain content and one invitation. Under API v2, content values are ``{"value": ...}`` and a
note has a list of invitations. A host does not have the notes of the other API: listing them gives an empty list and no
error. The rules and messages of refusals are from recorded responses, except the message of the request limit, which is
as users reported it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import itertools
import json
import math
import os
import secrets
import sys
import threading
import time
import zipfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.ingest.records.notes import find_creating_invitation, list_invitations, unwrap_fields
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.versions import apply_edit
from gre_bench.ingest.snapshot import Snapshot
from tests.servers.scripted import Handler, wait_until_stopped

Api = Literal[1, 2]
Note = dict[str, Any]
Query = Mapping[str, str]

ZIP = "application/zip"
PAGE, BATCH = 1000, 50
"""The most notes on a page and the most files in an archive; requests for more are refused."""
FORBIDDEN = (403, "ForbiddenError", "You don't have permission to read this item")
EXPIRED = ("TokenExpiredError", "Token has expired, please log in again")
KNOWN_KEYS = {"details", "sort", "limit", "offset", "after", "count", "id", "forum", "invitation"}
"""Parameters of a listing, in addition to ``content.<field>``. Others are refused, so that typos are noticed."""
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    body: bytes
    status: int = 200
    kind: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def html_page(title: str, body: str, status: int = 200) -> HttpResponse:
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>{body}</body></html>\n"
    return HttpResponse(page.encode(), status, "text/html; charset=utf-8")


BROWSER_CHECK = html_page("Verifying your browser | OpenReview", "…")
"""The HTML page with status 200 that the service sends to anonymous clients."""


class Refused(Exception):
    """Raised to refuse a request. Its argument is the answer to send."""


def json_response(tree: Any, **more: Any) -> HttpResponse:
    return HttpResponse(json.dumps(tree).encode(), **more)


def refusal(status: int, name: str, message: str, headers: Mapping[str, str] = {}, **details: Any) -> HttpResponse:
    """Returns an error in the service's form, with a new request number, ``YYYY-MM-DD-N``, in message and details."""
    number = f"{datetime.now(UTC):%Y-%m-%d}-{next(_NUMBERS)}"
    tree = {"name": name, "message": f"{message} ({number})", "status": status, "details": details | {"reqId": number}}
    return json_response(tree, status=status, headers=headers)


def invalid_error(path: str, message: str, **details: Any) -> Refused:
    return Refused(refusal(400, "ValidationError", message, path=path, **details))


def not_found_error(kind: str, name: str) -> Refused:
    return Refused(refusal(404, "NotFoundError", f"{kind} Not Found: {name}", path="id", value=name))


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of *requests* requests in a time window of *seconds* seconds."""

    requests: int
    seconds: float

    def headers(self, remaining: int, wait: float, now: float) -> dict[str, str]:
        """Returns the headers that state the limit at *now* (epoch seconds). *wait*: the seconds left of the window."""
        stated = {"limit": str(self.requests), "remaining": str(remaining)}
        return {
            **{f"x-ratelimit-{name}": value for name, value in stated.items()},
            **{f"ratelimit-{name}": value for name, value in stated.items()},
            "x-ratelimit-reset": str(math.ceil(now + wait)),
            "ratelimit-policy": f"{self.requests};w={math.ceil(self.seconds)}",
            "ratelimit-reset": str(max(1, math.ceil(wait))),
        }

    def refusal(
        self, made: int, wait: float, now: float, headers: Mapping[str, str], reset_time: bool = True
    ) -> HttpResponse:
        """Returns the refusal (429) of request number *made* in the window, which exceeds the limit.

        *reset_time*: whether the details state the end of the window; a refused login's details do not.
        """
        minutes, seconds = divmod(math.ceil(wait), 60)
        spelt = f"{minutes} minutes and {seconds} seconds" if minutes else f"{seconds} seconds"
        reset = datetime.fromtimestamp(now + wait, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        details = {"resetTime": reset, "used": made, "current": made} if reset_time else {}
        message = (
            f"Too many requests: You have made {made} requests, surpassing the limit of {self.requests} requests. "
            f"Please try again in {spelt}"
        )
        return refusal(429, "RateLimitError", message, headers, limit=self.requests, remaining=0, **details)


REPORTED_LIMITS: Mapping[str, Limit] = {
    "notes": Limit(500, 3600),
    "pdf": Limit(36, 3600),
    "attachment": Limit(36, 3600),
    "login": Limit(3, 60),
}
"""Kind of request → limit. The first is from headers recorded in 2026-09, the others are from reported refusals."""


class FixtureStore:
    """The notes of one API version with their versions and PDFs, and the answers to requests for them.

    *notes*: notes without an id or a forum are left out, because the real service has no such notes. *histories*: note
    id → its versions as sent; a note without an entry has one version. *pdf*: note id → its PDF, or None. `refused`:
    ids of notes for which requests for PDFs and versions are refused (403).
    """

    def __init__(
        self,
        api: Api,
        notes: Iterable[Mapping[str, Any]],
        histories: Mapping[str, Sequence[Note]],
        pdf: Callable[[str], bytes | None],
    ):
        self.api, self.pdf = api, lambda item: pdf(item) if item in self.notes else None
        self.refused: set[str] = set()
        self.notes: dict[str, Note] = {}
        for note in notes:
            if isinstance(note.get("id"), str) and isinstance(note.get("forum"), str):
                self.notes[note["id"]] = {"content": {}, **{key: note[key] for key in note if key != "details"}}
        self._forums: defaultdict[str, list[str]] = defaultdict(list)
        for note in self.notes.values():
            self._forums[note["forum"]].append(note["id"])
        self._versions = {note_id: [*histories.get(note_id, ())] for note_id in self.notes}

    def listing(self, query: Query) -> HttpResponse:
        """Answers ``/notes``: one page of the notes that match the filters of *query*."""
        unknown = [key for key in query if key not in KNOWN_KEYS and not key.startswith("content.")]
        if unknown:
            raise invalid_error(unknown[0], f"property {unknown[0]} must NOT be given")
        if "id" in query and query["id"] not in self.notes:
            raise not_found_error("Note", query["id"])
        results = [note for note in self.notes.values() if self._fits(note, query)]
        listed = [self._with_details(note, query) for note in self._page(results, query)]
        return self._counted("notes", listed, len(results), query)

    def versions(self, name: str, query: Query) -> HttpResponse:
        """Answers ``/notes/edits`` (API v2) or ``/references`` (v1): a note's versions; the other API lists none."""
        if name != ("edits" if self.api == 2 else "references"):
            return json_response({name: []})
        by = "note.id" if self.api == 2 else "referent"
        if by not in query:
            raise invalid_error(by, f"must have {by}")
        self._allow(query[by])
        matches = self._known_versions(query[by]) if query[by] in self.notes else []
        return self._counted(name, self._page(matches, query), len(matches), query)

    def file(self, item: str) -> HttpResponse:
        self._allow(item)
        if (data := self.pdf(item)) is None:
            raise not_found_error("Attachment", item)
        return HttpResponse(data, kind="application/pdf")

    def archive(self, items: Sequence[str]) -> HttpResponse:
        """Returns the PDFs of the notes *items*, at most `BATCH`, as a zip archive; for one note, the PDF itself.

        Files are named ``<submission number>_pdf.pdf``; notes without a PDF are left out.
        """
        if len(set(items)) > BATCH:
            raise invalid_error("ids", f"ids must NOT have more than {BATCH} unique items", limit=BATCH)
        if len(set(items)) == 1:
            return self.file(items[0])
        self._allow(*items)
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as archive:
            for item in dict.fromkeys(items):
                if (data := self.pdf(item)) is not None:
                    # The date is fixed, so that the same files give the same bytes.
                    entry = zipfile.ZipInfo(f"{self.notes[item].get('number', item)}_pdf.pdf", (2020, 1, 1, 0, 0, 0))
                    archive.writestr(entry, data)
        return HttpResponse(whole.getvalue(), kind=ZIP)

    def edit(self, note_id: str, at_ms: int | None = None, **fields: Any) -> None:
        """Changes content *fields* of a note at *at_ms* (epoch ms) and keeps its earlier version.

        A field's value is the new text or number. Under API v2, it may also be a mapping of only the changed parts of
        the field, such as ``{"readers": {"delete": True}}``.
        """
        at_ms = at_ms or int(time.time() * 1000)
        note, known = self.notes[note_id], self._known_versions(note_id)
        content, after = fields, note["content"] | fields
        if self.api == 2:
            content = {key: value if isinstance(value, dict) else {"value": value} for key, value in fields.items()}
            after = apply_edit(note["content"], content)
        changed = note | {"content": after, "tmdate": at_ms}
        changed |= {"mdate": at_ms} if "mdate" in note else {}
        self.notes[note_id] = changed
        shown = changed | {"content": content} if self.api == 2 else changed
        self._versions[note_id] = [*known, self._version(shown, f"{note_id} {at_ms}", at_ms)]

    def delete(self, note_id: str) -> None:
        """Marks a note as deleted now."""
        self.notes[note_id] = self.notes[note_id] | {"ddate": int(time.time() * 1000)}

    def _allow(self, *items: str) -> None:
        if self.refused & {*items}:
            raise Refused(refusal(*FORBIDDEN))

    def _fits(self, note: Note, query: Query) -> bool:
        """Whether *note* passes all filters of *query*; a deleted note passes only if *query* asks for its id."""
        if note.get("ddate") is not None and "id" not in query:
            return False
        for key, value in query.items():
            if key == "invitation":
                held = list_invitations(note)
            elif key in ("id", "forum"):
                held = note.get(key)
            elif key.startswith("content."):
                held = unwrap_fields(note).get(key.removeprefix("content."))
            else:
                continue
            if value != held and not (isinstance(held, list) and value in held):
                return False
        return True

    def _page(self, notes: list[Note], query: Query) -> list[Note]:
        """Returns the page of *notes* that *query* asks for, by its ``sort``, or the newest first.

        It starts at the position ``offset``, or after the id ``after`` of notes that are sorted by id.
        """
        name, _, way = query.get("sort", "tcdate:desc").partition(":")
        notes = sorted(notes, key=lambda note: note.get(name) or 0, reverse=way == "desc")
        limit, offset = _number(query, "limit", PAGE), _number(query, "offset", 0)
        if limit > PAGE:
            raise invalid_error("limit", f"limit must be <= {PAGE}", comparison="<=", limit=PAGE, invalidValue=limit)
        if (after := query.get("after")) is not None:
            offset = bisect_right([note["id"] for note in notes], after)
        return notes[offset : offset + limit]

    def _with_details(self, note: Note, query: Query) -> Note:
        if query.get("details") != "replies":
            # As observed for API v1 notes that are requested by id.
            return note | {"details": {"writable": False}} if self.api == 1 and "id" in query else note
        others = (self.notes[key] for key in self._forums[note["id"]] if key != note["id"])
        return note | {"details": {"replies": [other for other in others if other.get("ddate") is None]}}

    def _counted(self, name: str, listed: list[Note], count: int, query: Query) -> HttpResponse:
        # Like the real service, API v2 states the number only if the query asks for it or has an offset.
        counted = self.api == 1 or "offset" in query or query.get("count") == "true"
        return json_response({name: listed} | ({"count": count} if counted else {}))

    def _known_versions(self, note_id: str) -> list[Note]:
        return self._versions[note_id] or [self._version(self.notes[note_id], note_id, None)]

    def _version(self, note: Note, named: str, at_ms: int | None) -> Note:
        """Returns *note* in the form in which the service lists versions.

        *named*: the source of the version's id. *at_ms*: the date of the version; None means the note's own dates.
        """
        version_id = hashlib.sha256(f"version {named}".encode()).hexdigest()[:10]
        dates = {key: at_ms or note[key] for key in ("tcdate", "cdate", "tmdate", "mdate") if note.get(key)}
        if self.api == 1:
            return note | {"id": version_id, "referent": note["id"]} | dates
        envelope = {key: note[key] for key in ("domain", "readers", "writers", "signatures") if key in note}
        inner = {key: note[key] for key in ("id", "forum", "replyto", "license", "content") if key in note}
        return {"id": version_id, "invitation": find_creating_invitation(note), "note": inner} | envelope | dates


def _number(query: Query, key: str, default: int) -> int:
    value = query.get(key, str(default))
    if not value.isdecimal():
        raise invalid_error(key, f"{key} must be integer", invalidValue=value)
    return int(value)


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
    """A fault, and the requests that it affects.

    *on*: the kinds of affected requests, which are numbered from 1. *first*: the number of the first affected request.
    *every*: after that, every *every*-th request is affected (0: none). *seconds*: how long a refusal (429) or a slow
    body lasts. *error*: (status, name, message) of the refusal that is sent.
    """

    name: str
    on: tuple[str, ...] = (*_LISTINGS, *_ITEMS)
    first: int = 2
    every: int = 0
    seconds: float = 1.0
    error: tuple[int, str, str] | None = None

    def affects(self, number: int) -> bool:
        past = number - self.first
        return past == 0 or (past > 0 and self.every > 0 and past % self.every == 0)


_CHALLENGE = (403, "ChallengeRequiredError", "Challenge verification required")
_FAULTS = (
    Fault("429-retry-after"),  # the wait in this header alone, in ratelimit-* headers alone, in resetTime, in words
    Fault("429-headers"),
    Fault("429-body"),
    Fault("429-login", on=("login",), first=1),
    Fault("500", error=(500, "Error", "Internal Server Error")),
    Fault("502"),  # 502 and 504 come in HTML
    Fault("503", error=(503, "Error", "Unavailable")),
    Fault("504"),
    Fault("reset"),  # the connection, before an answer
    Fault("slow"),  # a body that comes in drops
    Fault("stall"),  # a body that stops in its middle for a while
    Fault("truncated"),  # the connection closed in the middle of the body
    Fault("malformed", on=("notes", "edits", "references")),  # half of the JSON as if it were whole
    Fault("html"),  # the browser check, an HTML page with status 200
    Fault("challenge", error=_CHALLENGE),
    Fault("forbidden", on=_ITEMS, first=1, error=FORBIDDEN),
    Fault("bad-archive", on=("attachment",), first=1),  # a byte changed in its middle
    Fault("expired-401", error=(401, *EXPIRED)),  # all tokens so far
    Fault("expired-403", error=(403, *EXPIRED)),
    Fault("wrong-host", on=_LISTINGS, first=1, every=1),  # empty listings, as on the host of the other API
    Fault("short-pages", on=_LISTINGS, first=1, every=1),  # at most 100 notes a page
    Fault("empty-page", on=_LISTINGS),  # in the middle of a listing
    Fault("duplicates", on=_LISTINGS),  # a page that begins with the last notes of the one before
    Fault("edits", on=_LISTINGS, first=1),  # a first and a last review edited after the first page
    Fault("readers", on=_LISTINGS, first=1),  # the readers of every field of these reviews edited, and no value
)
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _FAULTS}


def fault(name: str, **changes: object) -> Fault:
    """Returns the fault *name*, with the fields in *changes* replaced; raises `SettingsError` for an unknown name."""
    if name not in FAULTS:
        raise SettingsError(f"no fault {name!r:.40}; known are {', '.join(FAULTS)}")
    return replace(FAULTS[name], **changes)


@dataclass(frozen=True, slots=True)
class Account:
    """The only account that can log in. *code*: the one-time code that the login also requires, if any."""

    username: str
    password: str = field(repr=False)
    code: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server received. *status*: the status of the answer."""

    path: str
    query: tuple[tuple[str, str], ...]
    kind: str
    status: int


class Loopback:
    """The two servers, one for each API version. They run while the context is open, at the URLs `v1` and `v2`.

    *notes*: each note is served by the API version whose form it has. *versions*: the *histories* of `FixtureStore`.
    *pdf*: as in `FixtureStore`. *account*: the account that must log in, if given; requests without a token then get
    the browser check.
    *limits*: by kind of request; a window opens with the first request after the end of the last one. *port*: that of
    API v1; API v2 gets the next. 0: any free ports.

    `triggered`: name of a fault → how often it was injected. `early`: kind of request → how many came after a refusal
    (429) and before the stated time.
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
        self._hosts = {api: _bind_server(partial(self.answer, api), port and port + api - 1) for api in (1, 2)}
        self.v1, self.v2 = (f"http://127.0.0.1:{host.server_address[1]}" for host in self._hosts.values())

    @property
    def counts(self) -> Counter[str]:
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
        """Records one request; returns its answer, and the fault that disturbs the transfer of the answer, if any."""
        parts = urlsplit(target)
        query, kind = dict(parse_qsl(parts.query, keep_blank_values=True)), KINDS.get(parts.path, "other")
        with self._lock:
            possible = [fault for fault in self.faults if kind in fault.on]
            self._seen.update(fault.name for fault in possible)
            triggered = {fault.name: fault for fault in possible if fault.affects(self._seen[fault.name])}
            self.triggered.update(triggered.keys())
            try:
                response = self._instead(triggered.values(), kind)
                if response is None:
                    headers = self._window(kind)
                    if method == "POST":
                        response = self._logged_in(parts.path, body)
                    elif self.account is not None and token not in self._tokens:
                        response = BROWSER_CHECK if token is None else refusal(401, *EXPIRED)
                    else:
                        response = _answer_with_faults(self.stores[api], parts.path, query, triggered)
                    response = replace(response, headers={**headers, **response.headers})
            except Refused as refused:
                response = refused.args[0]
            self.requests.append(Request(parts.path, tuple(query.items()), kind, response.status))
        disturbing = (triggered[name] for name in triggered if name in ("reset", "slow", "stall", "truncated"))
        return response, next(disturbing, None)

    def _window(self, kind: str) -> dict[str, str]:
        """Counts a request of *kind*; returns the headers that state the limit, or raises `Refused` (429) above it."""
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
        """Returns the answer that replaces the real one, if any; after a fault 429, the refusal until the wait ends."""
        now = time.time()
        if now < self._refused_until.get(kind, 0.0):
            self.early[kind] += 1
            return _refusal_while_closed("429-body", self._refused_until[kind] - now)
        for fault in triggered:
            if fault.name.startswith("429"):
                self._refused_until[kind] = now + fault.seconds
                return _refusal_while_closed(fault.name, fault.seconds)
            if fault.error:
                if fault.name.startswith("expired"):
                    self._tokens.clear()
                return refusal(*fault.error)
            if fault.name in ("502", "504"):
                return html_page(fault.name, "nginx", int(fault.name))
            if fault.name == "html":
                return BROWSER_CHECK
            if fault.name == "wrong-host":
                return json_response({"notes": [], "count": 0})
        return None

    def _logged_in(self, path: str, body: bytes) -> HttpResponse:
        try:
            login = json.loads(body or b"{}")
        except ValueError:
            raise invalid_error("body", "the body is not JSON") from None
        if path not in ("/login", "/mfa/verify"):
            raise not_found_error("Path", path)
        if path == "/login" and self.account is not None:
            if (login.get("id"), login.get("password")) != (self.account.username, self.account.password):
                return refusal(401, "UnauthorizedError", "Invalid username or password")
            if self.account.code is not None:
                methods = {"mfaMethods": ["totp"], "preferredMethod": "totp"}
                return json_response({"mfaPending": True, "mfaPendingToken": secrets.token_hex(8)} | methods)
        elif self.account is not None and login.get("code") != self.account.code:
            return refusal(401, "UnauthorizedError", "Invalid verification code")
        person = {"id": "~Loopback_User1", "profile": {"id": "~Loopback_User1"}}
        # The token has the service's form (JWT), but openreview-py does not check its signature.
        payload = {"user": person, "exp": int(time.time()) + 86400, "jti": secrets.token_hex(8)}
        parts = (json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, payload))
        written = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
        token = ".".join([*written, secrets.token_urlsafe(16)])
        self._tokens.add(token)
        return json_response({"token": token, "user": person})


def _refusal_while_closed(name: str, wait: float) -> HttpResponse:
    limit, now = Limit(36, 3600), time.time()
    headers = limit.headers(0, wait, now) if name == "429-headers" else {}
    headers |= {"retry-after": str(math.ceil(wait))} if name == "429-retry-after" else {}
    return limit.refusal(limit.requests + 1, wait, now, headers, reset_time=name == "429-body")


def _answer_with_faults(
    store: FixtureStore, path: str, query: dict[str, str], triggered: Mapping[str, Fault]
) -> HttpResponse:
    """Returns the answer of *store*, modified by the *triggered* faults; the fault ``edits`` edits two reviews."""
    if path == "/notes":
        if "short-pages" in triggered:
            query = {**query, "limit": str(min(100, int(query.get("limit", "1000"))))}
        answer = store.listing(query)
    elif path in ("/notes/edits", "/references"):
        answer = store.versions(path.rpartition("/")[2], query)
    elif path == "/attachment" and "ids" in query:
        answer = store.archive(query["ids"].split(","))
    elif path in ("/pdf", "/attachment"):
        return store.file(query.get("id", ""))
    else:
        raise not_found_error("Path", path)
    for name in triggered:
        body, middle = answer.body, len(answer.body) // 2
        if name == "bad-archive" and answer.kind == ZIP:
            answer = replace(answer, body=body[:middle] + bytes([body[middle] ^ 255]) + body[middle + 1 :])
        elif name == "malformed":
            answer = replace(answer, body=body[:middle])
        elif name in ("edits", "readers"):
            reviews = sorted(
                key for key, note in store.notes.items() if find_creating_invitation(note).endswith("Official_Review")
            )
            for review in {*reviews[:1], *reviews[-1:]}:
                held = unwrap_fields(store.notes[review])
                if name == "readers":
                    store.edit(review, None, **{key: {"readers": {"delete": True}} for key in held})
                    continue
                longest = max(held, key=lambda key: len(held[key]) if isinstance(held[key], str) else 0)
                store.edit(review, None, **{longest: f"{held[longest]}\n\nEdited after the discussion."})
        elif name in ("empty-page", "duplicates") and "after" in query:
            tree, notes = json.loads(body), []
            if name == "duplicates":
                whole = store.listing({key: query[key] for key in query if key not in ("after", "limit")})
                known = {note["id"]: note for note in json.loads(whole.body)["notes"]}
                again = [known[key] for key in sorted(known) if key <= query["after"]][-3:]
                notes = again + tree["notes"]
            answer = replace(answer, body=json.dumps(tree | {"notes": notes}).encode())
    return answer


def _bind_server(answering: Callable[..., tuple[HttpResponse, Fault | None]], port: int) -> ThreadingHTTPServer:
    try:
        return _Host(("127.0.0.1", port), type("Handler", (_Handler,), {"answering": staticmethod(answering)}))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"port {port} cannot be served: {reason}; name another with --port") from None


class _Host(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints errors, which are bugs, unless the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(Handler):
    answering: Callable[..., tuple[HttpResponse, Fault | None]]

    def do_GET(self) -> None:
        token = self.headers.get("authorization", "").removeprefix("Bearer ") or None
        answer, fault = self.answering(self.command, self.path, token, self.read())
        disturbed = fault.name if fault else ""
        if disturbed == "reset":
            return self.reset()
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


def main(arguments: list[str] | None = None) -> int:
    """Runs the loopback server until it is stopped; returns the exit code: 2, with a one-line message, on bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.openreview",
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
        return 2
    return 0


def _serve(arguments: argparse.Namespace) -> None:
    if not 0 <= arguments.port <= 65534 or arguments.every < 0 or arguments.seconds < 0 or arguments.hour <= 0:
        raise SettingsError("--port is 0 to 65534, --every and --seconds are at least 0, --hour is above 0")
    more: dict[str, Any] = {"port": arguments.port}
    if arguments.login:
        username, password = os.environ.get("OPENREVIEW_USERNAME"), os.environ.get("OPENREVIEW_PASSWORD")
        if not username or not password:
            raise SettingsError("--login takes the account from OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD; set both")
        more["account"] = Account(username, password)
    if arguments.limits:
        known, hour = REPORTED_LIMITS.items(), arguments.hour
        more["limits"] = {kind: replace(limit, seconds=limit.seconds * hour / 3600) for kind, limit in known}
    when = {"seconds": arguments.seconds} | ({"every": arguments.every} if arguments.every else {})
    more["faults"] = [fault(name, **when) for name in arguments.fault]
    source, pdfs = arguments.source, arguments.pdfs
    if source.is_dir():
        if pdfs is not None:
            raise SettingsError(f"{source} is a snapshot and has PDFs of its own; leave out --pdfs")
        snapshot = Snapshot.open(source)
        more |= {"notes": snapshot.notes(), "versions": dict(snapshot.histories()), "pdf": snapshot.pdf}
    else:
        if pdfs is not None and not pdfs.is_dir():
            raise SettingsError(
                f"--pdfs {pdfs} is not a folder; name the one that has the papers' PDFs, <paper id>.pdf"
            )
        files = {path.stem: path for path in pdfs.glob("*.pdf")} if pdfs else {}
        more["notes"] = read_notes_file(source)
        more["pdf"] = lambda paper: files[paper].read_bytes() if paper in files else None
    with Loopback(**more) as loopback:
        print(f"API v1 ({len(loopback.stores[1].notes)} notes): {loopback.v1}")
        print(f"API v2 ({len(loopback.stores[2].notes)} notes): {loopback.v2}")
        wait_until_stopped()
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(loopback.counts.items()))
        print(f"stopped; requests: {counts or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
