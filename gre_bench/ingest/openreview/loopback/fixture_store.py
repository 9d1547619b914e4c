"""The contents of one host of the loopback OpenReview, and the answers made from them.

Under API v1, a note has plain content and one invitation. Under API v2, content values are ``{"value": ...}`` and a
note has a list of invitations. The rules of both APIs follow recorded responses. A host does not have the notes of the
other API. As at the real service, listing them gives an empty list and no error.
"""

from __future__ import annotations

import hashlib
import io
import threading
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gre_bench.ingest.openreview.loopback.answers import (
    PDF,
    ZIP,
    HttpResponse,
    Refused,
    forbidden,
    invalid,
    not_found,
    say,
)
from gre_bench.ingest.openreview.loopback.query import Api, Note, Query, check, fits, ordered, page

BATCH = 50
"""The most files in an archive."""


class FixtureStore:
    """The notes of one API version with their versions and PDFs, and the answers to requests for them.

    *notes*: notes without an id or a forum are left out, because the real service has none.
    *versions*: note id → the note's versions in the service's form. A note without an entry gets one version.
    *pdf*: takes the id of a note or of a version, and returns the PDF's bytes; None if there is no PDF.
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
        for note in self._notes.values():
            note.pop("details", None)
        self._forums: defaultdict[str, list[str]] = defaultdict(list)
        for note in self._notes.values():
            self._forums[note["forum"]].append(note["id"])
        self._versions = {note_id: [dict(version) for version in versions.get(note_id, ())] for note_id in self._notes}

    def listing(self, query: Query) -> HttpResponse:
        """Answers ``/notes``: returns one page of the notes that match the filters of *query*.

        Notes are sorted as the parameter ``sort`` says; without it, the newest come first.
        """
        check(query)
        with self._lock:
            if "id" in query and query["id"] not in self._notes:
                raise not_found("Note", query["id"])
            results = [note for note in self._notes.values() if fits(note, query, self.api)]
            some = page(ordered(results, query.get("sort", "cdate:desc")), query)
            listed = [self._with_details(note, query) for note in some]
        return self._counted("notes", listed, len(results), query)

    def edits(self, query: Query) -> HttpResponse:
        """Answers ``/notes/edits``: returns all edits of one note, or the edit with a given id.

        The list is empty under API v1.
        """
        return self._listed("edits", "note.id", query) if self.api == 2 else say({"edits": []})

    def references(self, query: Query) -> HttpResponse:
        """Answers ``/references``: returns all versions of one note, or the version with a given id.

        The list is empty under API v2.
        """
        return self._listed("references", "referent", query) if self.api == 1 else say({"references": []})

    def groups(self, query: Query) -> HttpResponse:
        """Answers ``/groups?id=``: returns the group of a venue that has notes here.

        Under API v2 the group also states the venue's domain and content, such as the name of its submissions.
        """
        name = query.get("id", "")
        with self._lock:
            papers = [note for note in self._notes.values() if note["id"] == note["forum"]]
            domains = {_domain(note): creating(note) for note in papers}
        if name not in domains:
            raise not_found("Group", name)
        group: Note = {"id": name, "domain": name if self.api == 2 else None, "readers": ["everyone"], "nonreaders": []}
        group |= {"signatures": [name], "signatories": [name], "writers": [name]}
        if self.api == 2:
            kind = domains[name].rpartition("/-/")[2]
            content = {"submission_name": kind, "submission_id": domains[name], "submission_venue_id": f"{name}/{kind}"}
            for outcome in ("withdrawn", "desk_rejected", "rejected"):
                content[f"{outcome}_venue_id"] = f"{name}/{outcome.title()}_{kind}"
            group["content"] = {key: {"value": value} for key, value in content.items()}
        return say({"groups": [group], "count": 1})

    def file(self, item: str) -> HttpResponse:
        """Returns a response with the PDF of one note or version. *item*: its id."""
        with self._lock:
            known = item in self._notes or any(
                version["id"] == item for history in self._versions.values() for version in history
            )
        self._allow(item)
        data = self.pdf(item) if known else None
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
        if len(set(items)) == 1:  # like the service, which then sends no archive
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
        """Marks a note as deleted. Listings then omit the note, unless the query asks for the trash.

        *at_ms*: the time of the deletion (epoch ms); None: now.
        """
        with self._lock:
            self._notes[note_id] = self._notes[note_id] | {"ddate": at_ms or int(time.time() * 1000)}

    def reviews(self) -> list[str]:
        """Returns the ids of the official reviews, sorted."""
        with self._lock:
            return sorted(key for key, note in self._notes.items() if creating(note).endswith("Official_Review"))

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

    def _listed(self, name: str, by: str, query: Query) -> HttpResponse:
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
        some = page(ordered(matches, query.get("sort", "tcdate:desc")), query)
        return self._counted(name, some, len(matches), query)

    def _counted(self, name: str, listed: list[Note], count: int, query: Query) -> HttpResponse:
        """Returns a response with one page of results and, in some cases, the number of all results.

        The number is stated as at the real service. Under API v1, it always is. Under API v2, it is if the query asks
        for it or has an offset.
        *name*: the key of the results, such as ``notes``. *listed*: the results on the page.
        *count*: the number of all results.
        """
        counted = self.api == 1 or "offset" in query or query.get("count") == "true"
        tree = {name: listed} | ({"count": count} if counted else {})
        return say(tree, chunked=query.get("stream") == "true")

    def _known_versions(self, note_id: str) -> list[Note]:
        return self._versions[note_id] or [self._version(self._notes[note_id], note_id, None)]

    def _version(self, note: Note, named: str, at_ms: int | None) -> Note:
        """Returns an entry for *note* in the form in which the service lists the versions of a note.

        *named*: a text from which the entry's id is made.
        *at_ms*: the version's date (epoch ms); None: the dates of *note*.
        """
        version_id = hashlib.sha256(f"version {named}".encode()).hexdigest()[:10]
        dates = {key: at_ms or note[key] for key in ("tcdate", "cdate", "tmdate", "mdate") if note.get(key)}
        if self.api == 1:
            return note | {"id": version_id, "referent": note["id"]} | dates
        envelope = {key: note[key] for key in ("domain", "readers", "writers", "signatures") if key in note}
        inner = {key: note[key] for key in ("id", "forum", "replyto", "license", "content") if key in note}
        return {"id": version_id, "invitation": creating(note), "note": inner} | envelope | dates


def creating(note: Mapping[str, Any]) -> str:
    """Returns the invitation under which a note was created: the first of its invitations that is not an edit."""
    listed = note.get("invitations") or [note.get("invitation", "")]
    return next((invitation for invitation in listed if not invitation.endswith("/-/Edit")), listed[0])


def _domain(note: Note) -> str:
    return note.get("domain") or creating(note).partition("/-/")[0]
