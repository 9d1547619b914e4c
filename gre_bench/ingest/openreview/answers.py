"""The contents of one host of the loopback OpenReview, and the answers made from them.

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
import time
import zipfile
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from gre_bench.ingest.records.notes import created_by, fields_of, invitations_of

Api = Literal[1, 2]
Note = dict[str, Any]
Query = Mapping[str, str]

ZIP = "application/zip"
PAGE, BATCH = 1000, 50
"""The most notes on a page and the most files in an archive; requests for more are refused."""
FORBIDDEN = (403, "ForbiddenError", "You don't have permission to read this item")
EXPIRED = ("TokenExpiredError", "Token has expired, please log in again")
KNOWN_KEYS = {"details", "sort", "limit", "offset", "after", "count", "id", "forum", "invitation"}
"""Parameters of a listing, besides ``content.<field>``; others are refused, so that a misspelt one is noticed."""
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One HTTP response; *kind* is the content type."""

    body: bytes
    status: int = 200
    kind: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def html_page(title: str, body: str, status: int = 200) -> HttpResponse:
    return HttpResponse(
        f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>{body}</body></html>\n".encode(),
        status,
        "text/html; charset=utf-8",
    )


BROWSER_CHECK = html_page("Verifying your browser | OpenReview", "…")
"""The HTML page with status 200 that the service sends to anonymous clients."""


class Refused(Exception):
    """Raised to refuse a request; the server then sends *answer*."""

    def __init__(self, answer: HttpResponse):
        super().__init__(answer.status)
        self.answer = answer


def say(tree: Any, **more: Any) -> HttpResponse:
    """Returns a response with *tree* as JSON. *more*: other fields of `HttpResponse`, such as ``status``."""
    return HttpResponse(json.dumps(tree).encode(), **more)


def refusal(status: int, name: str, message: str, headers: Mapping[str, str] = {}, **details: Any) -> HttpResponse:
    """Returns an error response in the service's form: JSON with name, message, status and details.

    *name*: the error's class, such as ``NotFoundError``. A new request number, ``YYYY-MM-DD-N``, is added to the
    message and to the details.
    """
    number = f"{datetime.now(UTC):%Y-%m-%d}-{next(_NUMBERS)}"
    tree = {"name": name, "message": f"{message} ({number})", "status": status, "details": details | {"reqId": number}}
    return say(tree, status=status, headers=headers)


def invalid(path: str, message: str, **details: Any) -> Refused:
    """Returns the exception that refuses a request (400) because its query parameter *path* has a bad value."""
    return Refused(refusal(400, "ValidationError", message, path=path, **details))


def not_found(kind: str, name: str) -> Refused:
    """Returns the exception that refuses a request (404) because the item *name*, such as a ``Note``, is missing."""
    return Refused(refusal(404, "NotFoundError", f"{kind} Not Found: {name}", path="id", value=name))


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
        """Returns the response to request number *made* of the window, one beyond the limit (429).

        *reset_time*: whether the details state the end of the window; those of a refused login do not.
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
"""Kind of request → limit; the first from headers recorded in 2026-09, the others from reported refusals."""


class FixtureStore:
    """The notes of one API version with their versions and PDFs, and the answers to requests for them.

    *notes*: notes without an id or a forum are left out, because the real service has none.
    *histories*: note id → the note's versions in the service's form. A note without an entry gets one version.
    *pdf*: takes the id of a note, and returns the bytes of its PDF; None if there is no PDF.
    `refused`: ids of notes; requests for their PDFs and versions are refused (403).
    """

    def __init__(
        self,
        api: Api,
        notes: Iterable[Mapping[str, Any]],
        histories: Mapping[str, Sequence[Note]] = {},
        pdf: Callable[[str], bytes | None] = lambda _: None,
    ):
        self.api, self.pdf = api, pdf
        self.refused: set[str] = set()
        self.notes: dict[str, Note] = {}
        self._forums: defaultdict[str, list[str]] = defaultdict(list)
        for note in notes:
            if isinstance(note.get("id"), str) and isinstance(note.get("forum"), str):
                self.notes[note["id"]] = {"content": {}, **{key: note[key] for key in note if key != "details"}}
        for note in self.notes.values():
            self._forums[note["forum"]].append(note["id"])
        self._versions = {note_id: [*histories.get(note_id, ())] for note_id in self.notes}

    def listing(self, query: Query) -> HttpResponse:
        """Answers ``/notes``: returns one page of the notes that match the filters of *query*."""
        unknown = [key for key in query if key not in KNOWN_KEYS and not key.startswith("content.")]
        if unknown:
            raise invalid(unknown[0], f"property {unknown[0]} must NOT be given")
        if "id" in query and query["id"] not in self.notes:
            raise not_found("Note", query["id"])
        results = [note for note in self.notes.values() if self._fits(note, query)]
        listed = [self._with_details(note, query) for note in self._page(results, query)]
        return self._counted("notes", listed, len(results), query)

    def versions(self, name: str, query: Query) -> HttpResponse:
        """Answers ``/notes/edits`` and ``/references``: returns all versions of one note.

        *name*: ``edits`` (API v2) or ``references`` (API v1). The other API's list is empty.
        """
        if name != ("edits" if self.api == 2 else "references"):
            return say({name: []})
        by = "note.id" if self.api == 2 else "referent"
        if by not in query:
            raise invalid(by, f"must have {by}")
        self._allow(query[by])
        matches = self._known_versions(query[by]) if query[by] in self.notes else []
        return self._counted(name, self._page(matches, query), len(matches), query)

    def file(self, item: str) -> HttpResponse:
        """Returns a response with the PDF of the note with the id *item*."""
        self._allow(item)
        data = self.pdf(item) if item in self.notes else None
        if data is None:
            raise not_found("Attachment", item)
        return HttpResponse(data, kind="application/pdf")

    def archive(self, items: Sequence[str]) -> HttpResponse:
        """Returns a response with a zip archive of the PDFs of the notes with the ids *items*, at most `BATCH`.

        Files are named ``<submission number>_pdf.pdf``; notes without a PDF are left out. For a single note, the PDF
        itself is sent, as the real service does.
        """
        if len(set(items)) > BATCH:
            raise invalid("ids", f"ids must NOT have more than {BATCH} unique items", limit=BATCH)
        if len(set(items)) == 1:
            return self.file(items[0])
        self._allow(*items)
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as archive:
            for item in dict.fromkeys(items):
                data = self.pdf(item) if item in self.notes else None
                if data is not None:
                    # A fixed date, so that the same files give the same bytes.
                    entry = zipfile.ZipInfo(f"{self.notes[item].get('number', item)}_pdf.pdf", (2020, 1, 1, 0, 0, 0))
                    archive.writestr(entry, data)
        return HttpResponse(whole.getvalue(), kind=ZIP)

    def edit(self, note_id: str, at_ms: int | None = None, **fields: Any) -> None:
        """Changes content *fields* of a note, *at_ms* (epoch ms; None: now), and keeps its earlier version.

        *fields*: name → new value, as a plain text or number.
        """
        at_ms = at_ms or int(time.time() * 1000)
        note, known = self.notes[note_id], self._known_versions(note_id)
        content = {key: {"value": value} for key, value in fields.items()} if self.api == 2 else fields
        changed = note | {"content": note["content"] | content, "tmdate": at_ms}
        changed |= {"mdate": at_ms} if "mdate" in note else {}
        self.notes[note_id] = changed
        shown = changed | {"content": content} if self.api == 2 else changed
        self._versions[note_id] = [*known, self._version(shown, f"{note_id} {at_ms}", at_ms)]

    def delete(self, note_id: str) -> None:
        """Marks a note as deleted now; no listing shows it then, unless its id is asked for."""
        self.notes[note_id] = self.notes[note_id] | {"ddate": int(time.time() * 1000)}

    def _allow(self, *items: str) -> None:
        if self.refused & {*items}:
            raise Refused(refusal(*FORBIDDEN))

    def _fits(self, note: Note, query: Query) -> bool:
        """Whether *note* passes all filters of *query*; a deleted one only if its id is asked for."""
        if note.get("ddate") is not None and "id" not in query:
            return False
        for key, value in query.items():
            if key.startswith("content."):
                held = fields_of(note).get(key.removeprefix("content."))
                kept = value == held or (isinstance(held, list) and value in held)
            elif key in ("id", "forum"):
                kept = note.get(key) == value
            else:
                kept = key != "invitation" or value in invitations_of(note)
            if not kept:
                return False
        return True

    def _page(self, notes: list[Note], query: Query) -> list[Note]:
        """Returns the page of *notes* that *query* asks for, in the order of its field ``sort``, or the newest first.

        The page has at most ``limit`` notes, and starts at the position ``offset``, or after the id ``after`` of notes
        that are sorted by id. Raises `Refused` for a limit above `PAGE`.
        """
        name, _, way = query.get("sort", "tcdate:desc").partition(":")
        notes = sorted(notes, key=lambda note: note.get(name) or 0, reverse=way == "desc")
        limit, offset = _number(query, "limit", PAGE), _number(query, "offset", 0)
        if limit > PAGE:
            raise invalid("limit", f"limit must be <= {PAGE}", comparison="<=", limit=PAGE, invalidValue=limit)
        if (after := query.get("after")) is not None:
            offset = bisect_right([note["id"] for note in notes], after)
        return notes[offset : offset + limit]

    def _with_details(self, note: Note, query: Query) -> Note:
        if query.get("details") != "replies":
            # Observed on notes of API v1 that were requested by id.
            return note | {"details": {"writable": False}} if self.api == 1 and "id" in query else note
        others = (self.notes[key] for key in self._forums[note["id"]] if key != note["id"])
        return note | {"details": {"replies": [other for other in others if other.get("ddate") is None]}}

    def _counted(self, name: str, listed: list[Note], count: int, query: Query) -> HttpResponse:
        """Returns a response with one page of results under the key *name*, and their number *count*.

        As at the real service, API v2 states the number only if the query asks for it or has an offset.
        """
        counted = self.api == 1 or "offset" in query or query.get("count") == "true"
        return say({name: listed} | ({"count": count} if counted else {}))

    def _known_versions(self, note_id: str) -> list[Note]:
        return self._versions[note_id] or [self._version(self.notes[note_id], note_id, None)]

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
        return {"id": version_id, "invitation": created_by(note), "note": inner} | envelope | dates


def _number(query: Query, key: str, default: int) -> int:
    value = query.get(key, str(default))
    if not value.isdecimal():
        raise invalid(key, f"{key} must be integer", invalidValue=value)
    return int(value)
