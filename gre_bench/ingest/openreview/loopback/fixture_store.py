"""The contents of one host of the loopback OpenReview, its limits, and the answers made from them.

Under API v1, a note has plain content and one invitation. Under API v2, content values are ``{"value": ...}`` and a
note has a list of invitations. The rules of both APIs follow recorded responses. A host does not have the notes of the
other API. As at the real service, listing them gives an empty list and no error.

Refusals are worded as the real service words them. Most come from recorded responses, such as the browser check; that
of the request limit comes from reports of the service's users.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import re
import threading
import time
import zipfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from gre_bench.ingest.records.notes import creating, invitations_of, plain

Api = Literal[1, 2]
Note = dict[str, Any]
Query = Mapping[str, str]

JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
PDF, ZIP = "application/pdf", "application/zip"
PAGE = 1000
"""The most notes on a page; requests for more are refused."""
BATCH = 50
"""The most files in an archive."""

_NUMBERS = itertools.count(1)
_PAGING = {"details", "sort", "limit", "offset", "after", "count", "stream", "trash"}
_FIELDS = {"forum", "replyto", "number", "domain", "original"}
_FILTERS = {"id", "invitation", "signature", "signatures", "mintcdate", *_FIELDS}
_SORTED_BY = {"id", "number", "cdate", "mdate", "tcdate", "tmdate", "ddate"}


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One HTTP response.

    *kind*: the content type.
    *chunked*: send the body in chunks without stating its length, as the service does for streamed listings.
    """

    body: bytes
    status: int = 200
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False


class Refused(Exception):
    """Raised to refuse a request; the server then sends *answer*."""

    def __init__(self, answer: HttpResponse):
        super().__init__(answer.status)
        self.answer = answer


def say(tree: Any, **more: Any) -> HttpResponse:
    """Returns a response with *tree* as JSON. *more*: other fields of `HttpResponse`, such as ``status``."""
    return HttpResponse(json.dumps(tree).encode(), **more)


def refusal(
    status: int, name: str, message: str, headers: Mapping[str, str] | None = None, **details: Any
) -> HttpResponse:
    """Returns an error response in the service's form: JSON with name, message, status and details.

    *name*: the error's class, such as ``NotFoundError``. *details*: entries of the JSON's ``details``. A new request
    number, ``YYYY-MM-DD-N``, is added to the message and to the details.
    """
    number = f"{datetime.now(UTC):%Y-%m-%d}-{next(_NUMBERS)}"
    tree = {"name": name, "message": f"{message} ({number})", "status": status, "details": details | {"reqId": number}}
    return say(tree, status=status, headers=headers or {})


def invalid(path: str, message: str, **details: Any) -> Refused:
    """Returns the exception that refuses a request (400) because its query parameter *path* has a bad value."""
    return Refused(refusal(400, "ValidationError", message, path=path, **details))


def not_found(kind: str, name: str) -> Refused:
    """Returns the exception that refuses a request (404) because the item *name*, such as a ``Note``, is missing."""
    return Refused(refusal(404, "NotFoundError", f"{kind} Not Found: {name}", path="id", value=name))


def browser_check() -> HttpResponse:
    """Returns the browser check: the HTML page with status 200 that the service sends to anonymous clients."""
    head = "<head><title>Verifying your browser | OpenReview</title></head>"
    return HttpResponse(f"<!DOCTYPE html>\n<html>{head}<body>…</body></html>\n".encode(), kind=HTML)


def forbidden() -> HttpResponse:
    """Returns the response to a request for an item that the account may not see (403)."""
    return refusal(403, "ForbiddenError", "You don't have permission to read this item")


def token_expired(status: int = 401) -> HttpResponse:
    """Returns the response to a request whose login token has expired."""
    return refusal(status, "TokenExpiredError", "Token has expired, please log in again")


@dataclass(frozen=True, slots=True)
class Limit:
    """At most *requests* requests in a time window of *seconds* seconds."""

    requests: int
    seconds: float

    def headers(self, remaining: int, wait: float, now: float) -> dict[str, str]:
        """Returns the seven headers in which the service states the limit.

        *remaining*: the requests that the current window still allows. *wait*: seconds until the window ends.
        *now*: the current time in epoch seconds.
        """
        return {
            "x-ratelimit-limit": str(self.requests),
            "x-ratelimit-remaining": str(remaining),
            "x-ratelimit-reset": str(math.ceil(now + wait)),
            "ratelimit-policy": f"{self.requests};w={math.ceil(self.seconds)}",
            "ratelimit-limit": str(self.requests),
            "ratelimit-remaining": str(remaining),
            "ratelimit-reset": str(max(1, math.ceil(wait))),
        }

    def refusal(
        self, made: int, wait: float, now: float, headers: Mapping[str, str], reset_time: bool = True
    ) -> HttpResponse:
        """Returns the response to a request beyond the limit (429).

        *made*: the number of requests in the current time window, this one included.
        *reset_time*: whether the details state the end of the window; those of a refused login do not.
        """
        minutes, seconds = divmod(math.ceil(wait), 60)
        spelt = f"{minutes} minutes and {seconds} seconds" if minutes else f"{seconds} seconds"
        reset = datetime.fromtimestamp(now + wait, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        details = {"resetTime": reset, "used": made, "current": made} if reset_time else {}
        return refusal(
            429,
            "RateLimitError",
            f"Too many requests: You have made {made} requests, surpassing the limit of {self.requests} requests. "
            f"Please try again in {spelt}",
            headers,
            limit=self.requests,
            remaining=0,
            **details,
        )


REPORTED_LIMITS: Mapping[str, Limit] = {
    "notes": Limit(500, 3600),
    "pdf": Limit(36, 3600),
    "attachment": Limit(36, 3600),
    "login": Limit(3, 60),
}
"""Kind of request → limit; the first from headers recorded in 2026-09, the others from reported refusals."""


class Windows:
    """Counts requests in the current time window of each kind.

    A window opens with the first request of its kind, and the next window opens with the first request after its end.
    *limits*: kind of request → limit. *early*: kind → requests sent after a refusal and before the end of the window.
    """

    def __init__(self, limits: Mapping[str, Limit]):
        self.limits = limits
        self.early: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ends: dict[str, float] = {}
        self._made: Counter[str] = Counter()

    def take(self, kind: str) -> dict[str, str]:
        """Counts one request of *kind* and returns the headers that state its limit; none if it has no limit.

        Raises `Refused` with a 429 if the window allows no more requests.
        """
        limit = self.limits.get(kind)
        if limit is None:
            return {}
        with self._lock:
            now = time.time()
            if now >= self._ends.get(kind, 0.0):
                self._ends[kind], self._made[kind] = now + limit.seconds, 0
            self._made[kind] += 1
            made, wait = self._made[kind], self._ends[kind] - now
            self.early[kind] += made > limit.requests + 1
        headers = limit.headers(max(0, limit.requests - made), wait, now)
        if made > limit.requests:
            headers["retry-after"] = headers["ratelimit-reset"]
            raise Refused(limit.refusal(made, wait, now, headers))
        return headers


class FixtureStore:
    """The notes of one API version with their versions and PDFs, and the answers to requests for them.

    *notes*: notes without an id or a forum are left out, because the real service has none.
    *versions*: note id → the note's versions in the service's form. A note without an entry gets one version.
    *pdf*: takes the id of a note, and returns the bytes of its PDF; None if there is no PDF.
    `refused`: ids of notes; requests for their PDFs and versions are refused (403).
    """

    def __init__(
        self,
        api: Api,
        notes: Iterable[Mapping[str, Any]],
        versions: Mapping[str, Sequence[Note]] = {},
        pdf: Callable[[str], bytes | None] = lambda _: None,
    ):
        self.api: Api = api
        self.pdf = pdf
        self.refused: set[str] = set()
        self._lock = threading.RLock()
        usable = [note for note in notes if isinstance(note.get("id"), str) and isinstance(note.get("forum"), str)]
        self._notes = {note["id"]: {"content": {}, **note} for note in usable}
        self._forums: defaultdict[str, list[str]] = defaultdict(list)
        for note in self._notes.values():
            note.pop("details", None)
            self._forums[note["forum"]].append(note["id"])
        self._versions = {note_id: [dict(version) for version in versions.get(note_id, ())] for note_id in self._notes}

    def listing(self, query: Query) -> HttpResponse:
        """Answers ``/notes``: returns one page of the notes that match the filters of *query*.

        Notes are sorted as the parameter ``sort`` says; without it, the newest come first. An unknown parameter is
        refused, because a client's misspelt filter would go unnoticed.
        """
        unknown = [key for key in query if key not in _PAGING | _FILTERS and not key.startswith("content.")]
        if unknown:
            raise invalid(unknown[0], f"property {unknown[0]} must NOT be given")
        with self._lock:
            if "id" in query and query["id"] not in self._notes:
                raise not_found("Note", query["id"])
            results = [note for note in self._notes.values() if _fits(note, query, self.api)]
            some = _page(results, query, "cdate:desc")
            listed = [self._with_details(note, query) for note in some]
        return self._counted("notes", listed, len(results), query)

    def versions(self, name: str, query: Query) -> HttpResponse:
        """Answers ``/notes/edits`` and ``/references``: returns all versions of one note, or that with a given id.

        *name*: ``edits`` (API v2) or ``references`` (API v1). The other API's list is empty.
        """
        if name != ("edits" if self.api == 2 else "references"):
            return say({name: []})
        by = "note.id" if self.api == 2 else "referent"
        with self._lock:
            if "id" in query:
                every = (version for note_id in self._notes for version in self._known_versions(note_id))
                matches = [version for version in every if version["id"] == query["id"]]
                if not matches:
                    raise not_found(name[:-1].title(), query["id"])
            elif by in query:
                self._allow(query[by])
                matches = self._known_versions(query[by]) if query[by] in self._notes else []
            else:
                raise invalid(by, f"must have one of id, {by}")
            matches = [version for version in matches if version.get("ddate") is None or query.get("trash") == "true"]
        return self._counted(name, _page(matches, query, "tcdate:desc"), len(matches), query)

    def file(self, item: str) -> HttpResponse:
        """Returns a response with the PDF of the note with the id *item*."""
        self._allow(item)
        data = self.pdf(item) if item in self._notes else None
        if data is None:
            raise not_found("Attachment", item)
        return HttpResponse(data, kind=PDF)

    def archive(self, items: Sequence[str]) -> HttpResponse:
        """Returns a response with a zip archive of the PDFs of at most `BATCH` notes.

        *items*: ids of notes. Files are named ``<submission number>_pdf.pdf``; notes without a PDF are left out. For a
        single note, the PDF itself is sent, as the real service does.
        """
        if len(set(items)) > BATCH:
            raise invalid("ids", f"ids must NOT have more than {BATCH} unique items", limit=BATCH)
        if len(set(items)) == 1:
            return self.file(items[0])
        self._allow(*items)
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as archive:
            for item in dict.fromkeys(items):
                data = self.pdf(item) if item in self._notes else None
                if data is not None:
                    # A fixed date, so that the same files give the same bytes.
                    entry = zipfile.ZipInfo(f"{self._notes[item].get('number', item)}_pdf.pdf", (2020, 1, 1, 0, 0, 0))
                    archive.writestr(entry, data)
        return HttpResponse(whole.getvalue(), kind=ZIP)

    def add(self, note: Mapping[str, Any]) -> None:
        """Adds the new note *note*, without earlier versions."""
        with self._lock:
            self._notes[note["id"]] = dict(note)
            self._forums[note["forum"]].append(note["id"])
            self._versions[note["id"]] = []

    def edit(self, note_id: str, at_ms: int | None = None, **fields: Any) -> None:
        """Changes a note's content and keeps its earlier version.

        *at_ms*: the time of the edit (epoch ms); None: now.
        *fields*: name of a content field → new value, as a plain text or number.
        """
        at_ms = at_ms or int(time.time() * 1000)
        with self._lock:
            note, known = self._notes[note_id], self._known_versions(note_id)
            content = {key: {"value": value} for key, value in fields.items()} if self.api == 2 else fields
            changed = note | {"content": note["content"] | content, "tmdate": at_ms}
            changed |= {"mdate": at_ms} if "mdate" in note else {}
            self._notes[note_id] = changed
            shown = changed | {"content": content} if self.api == 2 else changed
            self._versions[note_id] = [*known, self._version(shown, f"{note_id} {at_ms}", at_ms)]

    def delete(self, note_id: str, at_ms: int | None = None) -> None:
        """Marks a note as deleted at *at_ms* (epoch ms; None: now). Only a query for the trash lists it then."""
        with self._lock:
            self._notes[note_id] = self._notes[note_id] | {"ddate": at_ms or int(time.time() * 1000)}

    def reviews(self) -> list[str]:
        """Returns the ids of the official reviews, sorted."""
        with self._lock:
            return sorted(key for key, note in self._notes.items() if _created_by(note).endswith("Official_Review"))

    def get(self, note_id: str) -> Note:
        """Returns the current version of a note."""
        with self._lock:
            return self._notes[note_id]

    def __len__(self) -> int:
        return len(self._notes)

    def _allow(self, *items: str) -> None:
        if self.refused & {*items}:
            raise Refused(forbidden())

    def _with_details(self, note: Note, query: Query) -> Note:
        wanted = set(filter(None, query.get("details", "").split(",")))
        if not wanted:
            # Observed on notes of API v1 that were requested by id.
            return note | {"details": {"writable": False}} if self.api == 1 and "id" in query else note
        others = (self._notes[key] for key in self._forums[note["id"]] if key != note["id"])
        replies = [other for other in others if other.get("ddate") is None]
        direct = [other for other in replies if other.get("replyto") == note["id"]]
        known = {
            "replies": replies,
            "replyCount": len(replies),
            "directReplies": direct,
            "directReplyCount": len(direct),
            "revisions": len(self._known_versions(note["id"])) > 1,
            "writable": False,
        }
        return note | {"details": {key: known[key] for key in known if key in wanted}}

    def _counted(self, name: str, listed: list[Note], count: int, query: Query) -> HttpResponse:
        """Returns a response with one page of results under the key *name*, and their number *count*.

        As at the real service, API v2 states the number only if the query asks for it or has an offset.
        """
        counted = self.api == 1 or "offset" in query or query.get("count") == "true"
        tree = {name: listed} | ({"count": count} if counted else {})
        return say(tree, chunked=query.get("stream") == "true")

    def _known_versions(self, note_id: str) -> list[Note]:
        return self._versions[note_id] or [self._version(self._notes[note_id], note_id, None)]

    def _version(self, note: Note, named: str, at_ms: int | None) -> Note:
        """Returns an entry for *note* as the service lists versions; its id is made of the text *named*.

        *at_ms*: the version's date (epoch ms); None: the dates of *note*.
        """
        version_id = hashlib.sha256(f"version {named}".encode()).hexdigest()[:10]
        dates = {key: at_ms or note[key] for key in ("tcdate", "cdate", "tmdate", "mdate") if note.get(key)}
        if self.api == 1:
            return note | {"id": version_id, "referent": note["id"]} | dates
        envelope = {key: note[key] for key in ("domain", "readers", "writers", "signatures") if key in note}
        inner = {key: note[key] for key in ("id", "forum", "replyto", "license", "content") if key in note}
        return {"id": version_id, "invitation": _created_by(note), "note": inner} | envelope | dates


def _created_by(note: Mapping[str, Any]) -> str:
    listed = invitations_of(note)
    return creating(listed) if listed else ""


def _fits(note: Note, query: Query, api: Api) -> bool:
    """Whether *note* passes all filters of *query*; a deleted one only if its id or the trash is asked for."""
    if note.get("ddate") is not None and query.get("trash") != "true" and "id" not in query:
        return False
    for key, value in query.items():
        if key.startswith("content."):
            held = plain(note["content"].get(key.removeprefix("content.")))
            kept = value == held or (isinstance(held, list) and value in held)
        elif key == "id" or key in _FIELDS:
            kept = str(note.get(key)) == value
        elif key == "invitation":
            kept = value in note["invitations"] if api == 2 else _is_invited(note, value)
        elif key in ("signature", "signatures"):
            kept = value in note.get("signatures", ())
        else:
            kept = key != "mintcdate" or note.get("tcdate", 0) >= _number(query, key, 0)
        if not kept:
            return False
    return True


def _is_invited(note: Note, wanted: str) -> bool:
    prefix = wanted.removesuffix(".*")
    if re.search(r"[*+?\[\](){}|\\^$]", prefix):
        raise invalid("invitation", "invitation must be a prefix regex")
    invitation = note.get("invitation") or ""
    return invitation == wanted if prefix == wanted else invitation.startswith(prefix)


def _page(notes: list[Note], query: Query, sort: str) -> list[Note]:
    """Returns the page of *notes* that *query* asks for, sorted as it says, by default as *sort*.

    An order is a field, and a direction after a colon, such as ``tcdate:desc``. The page starts after the note id
    ``after``, or at the position ``offset``. It holds at most ``limit`` notes. A query with ``stream=true`` gets all
    notes. Raises `Refused` for an unknown field, a limit above `PAGE` or an unknown id in ``after``.
    """
    sort = query.get("sort", sort)
    field_name, _, way = sort.partition(":")
    if field_name not in _SORTED_BY:
        raise invalid("sort", f"sort must be one of {', '.join(sorted(_SORTED_BY))}")
    notes = sorted(
        notes, key=lambda note: note["id"] if field_name == "id" else note.get(field_name) or 0, reverse=way == "desc"
    )
    limit, offset = _number(query, "limit", PAGE), _number(query, "offset", 0)
    if limit > PAGE:
        raise invalid("limit", f"limit must be <= {PAGE}", comparison="<=", limit=PAGE, invalidValue=limit)
    if query.get("stream") == "true":
        return notes
    if (after := query.get("after")) is not None:
        ids = [note["id"] for note in notes]
        if sort == "id":
            offset = bisect_right(ids, after)
        elif after in ids:
            offset = ids.index(after) + 1
        else:
            raise invalid("after", f"after {after} is not in the listing")
    return notes[offset : offset + limit]


def _number(query: Query, key: str, default: int) -> int:
    value = query.get(key, str(default))
    if not value.isdecimal():
        raise invalid(key, f"{key} must be integer", invalidValue=value)
    return int(value)
