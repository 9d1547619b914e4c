"""Injects faults into the answers of the loopback OpenReview, to test that a client survives them.

`FAULTS` lists the faults by name. Each `Fault` states the kinds of requests that it affects, and which requests of
these kinds: for example the second one, or every tenth.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gre_bench.core.errors import SettingsError
from gre_bench.ingest.openreview.loopback.answers import (
    ZIP,
    HttpResponse,
    browser_check,
    challenge,
    forbidden,
    refusal,
    say,
    token_expired,
    too_many,
)
from gre_bench.ingest.openreview.loopback.fixture_store import FixtureStore
from gre_bench.ingest.openreview.loopback.limits import Limit, limit_headers
from gre_bench.ingest.openreview.loopback.query import Note, Query

_LISTINGS = ("notes",)
_ALL = ("notes", "edits", "references", "groups", "pdf", "attachment")
_ITEMS = ("edits", "references", "pdf", "attachment")
_AGAIN = 3
_CLOSED = Limit(36, 3600)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, and the requests that it affects. Requests of the kinds *on* are numbered 1, 2, 3 and so on.

    *what*: the fault in words.
    *on*: the kinds of requests that are numbered and may be affected.
    *first*: the number of the first affected request.
    *every*: after the first, every *every*-th request is affected; 0: only the first.
    *times*: the most requests affected in total; 0: no maximum.
    *seconds*: how long a refusal (429) or a slow body lasts.
    """

    name: str
    what: str
    on: tuple[str, ...] = _ALL
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
    Fault("malformed", "half of the JSON as if it were whole", on=("notes", "edits", "references", "groups")),
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
    Fault("shifting", "pages by offset shift by one note after the first", on=_LISTINGS, first=1, every=1),
    Fault("edits", "a first and a last review edited after the first page", on=_LISTINGS, first=1),
)
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _KNOWN}

_WIRE = ("reset", "slow", "stall", "truncated")


def fault(name: str, **changes: object) -> Fault:
    """Returns the fault *name* with some of its fields changed; raises `SettingsError` for an unknown name.

    *changes*: new values of the fields of `Fault`, such as ``every=10``.
    """
    if name not in FAULTS:
        raise SettingsError(f"no fault {name!r:.40}; known are {', '.join(FAULTS)}")
    return replace(FAULTS[name], **changes)


class Faults:
    """The active faults of one server, with counts of the requests received.

    *several*: the active faults.
    *triggered*: name of a fault → how often it was triggered.
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

        *triggered*: the faults that affect this request. *kind*: the kind of the request.
        After a fault 429, later requests of *kind* are refused too until the wait is over.
        """
        now = time.time()
        if now < self._opens.get(kind, 0.0):
            self.early[kind] += 1
            return _closed("429-body", self._opens[kind] - now)
        for fault in triggered:
            if fault.name.startswith("429"):
                self._opens[kind] = now + fault.seconds
                return _closed(fault.name, fault.seconds)
            if fault.name in ("500", "503"):
                return refusal(
                    int(fault.name), "Error", "Internal Server Error" if fault.name == "500" else "Unavailable"
                )
            if fault.name in ("502", "504"):
                page = f"<html><head><title>{fault.name}</title></head><body>nginx</body></html>"
                return replace(browser_check(), body=page.encode(), status=int(fault.name))
            if fault.name == "html":
                return browser_check()
            if fault.name == "challenge":
                return challenge()
            if fault.name == "forbidden":
                return forbidden()
            if fault.name.startswith("expired"):
                return token_expired(int(fault.name[-3:]))
            if fault.name == "wrong-host":
                return say({"notes": [], "count": 0})
        return None


def wire(triggered: Iterable[Fault]) -> Fault | None:
    """Returns the first of the *triggered* faults that disturbs the transfer of bytes, such as ``reset``.

    Returns None if none of the faults does.
    """
    return next((fault for fault in triggered if fault.name in _WIRE), None)


def shortened(triggered: Iterable[Fault], query: Query) -> Query:
    """Returns the query to answer in place of *query*.

    Its page limit is lowered to 100 if the fault ``short-pages`` is *triggered*; otherwise it is *query*.
    """
    if any(fault.name == "short-pages" for fault in triggered) and "stream" not in query:
        return {**query, "limit": str(min(100, int(query.get("limit", "1000"))))}
    return query


def corrupted(
    triggered: Iterable[Fault], answer: HttpResponse, query: Query, fixture_store: FixtureStore
) -> HttpResponse:
    """Returns *answer* with the changes that the *triggered* faults make to its content, such as repeated notes.

    The fault ``edits`` leaves *answer* unchanged and edits two reviews in *fixture_store*, for later requests.
    *query*: the query of the request. *fixture_store*: the contents of the host.
    """
    for fault in triggered:
        if fault.name == "bad-archive" and answer.kind == ZIP:
            middle = len(answer.body) // 2
            answer = replace(
                answer, body=answer.body[:middle] + bytes([answer.body[middle] ^ 255]) + answer.body[middle + 1 :]
            )
        elif fault.name == "malformed":
            answer = replace(answer, body=answer.body[: len(answer.body) // 2])
        elif fault.name == "edits":
            reviews = fixture_store.reviews()
            for review in dict.fromkeys([reviews[0], reviews[-1]] if reviews else []):
                fixture_store.edit(review, at_ms=None, **_edited(fixture_store.get(review)))
        elif fault.name == "empty-page" and "after" in query:
            answer = replace(answer, body=json.dumps(json.loads(answer.body) | {"notes": []}).encode())
        elif fault.name == "duplicates" and ("after" in query or "offset" in query):
            answer = _repeated(answer, query, fixture_store)
        elif fault.name == "shifting" and query.get("offset", "0") != "0":
            answer = _one_on(answer, query, fixture_store)
    return answer


def _repeated(answer: HttpResponse, query: Query, fixture_store: FixtureStore) -> HttpResponse:
    tree = json.loads(answer.body)
    whole = _whole(query, fixture_store)
    ids = [note["id"] for note in whole]
    at = ids.index(query["after"]) + 1 if query.get("after") in ids else int(query.get("offset", "0"))
    return replace(answer, body=json.dumps(tree | {"notes": whole[max(0, at - _AGAIN) : at] + tree["notes"]}).encode())


def _one_on(answer: HttpResponse, query: Query, fixture_store: FixtureStore) -> HttpResponse:
    """Returns the page that starts one note later, so that the client misses a note.

    This happens at the real service if a note before the page disappears from the listing between two requests.
    """
    tree, whole = json.loads(answer.body), _whole(query, fixture_store)
    at = int(query["offset"]) + 1
    return replace(answer, body=json.dumps(tree | {"notes": whole[at : at + len(tree["notes"])]}).encode())


def _whole(query: Query, fixture_store: FixtureStore) -> list[Note]:
    kept = {key: value for key, value in query.items() if key not in ("after", "offset", "limit")}
    return json.loads(fixture_store.listing(kept | {"stream": "true"}).body)["notes"]


def _edited(note: Note) -> dict[str, str]:
    """Returns {field: new text} for the longest text field of a review; the new text has one more sentence."""
    texts = {key: value.get("value") if isinstance(value, dict) else value for key, value in note["content"].items()}
    names = [key for key, text in texts.items() if isinstance(text, str)]
    longest = max(names, key=lambda key: len(str(texts[key])), default=None)
    return {longest: f"{texts[longest]}\n\nEdited after the discussion."} if longest else {}


def _closed(name: str, wait: float) -> HttpResponse:
    now = time.time()
    headers = limit_headers(_CLOSED, 0, wait, now) if name == "429-headers" else {}
    headers |= {"retry-after": str(math.ceil(wait))} if name == "429-retry-after" else {}
    in_body = name == "429-body"
    return too_many(_CLOSED.requests + 1, _CLOSED.requests, wait, now, headers, reset_time=in_body)
