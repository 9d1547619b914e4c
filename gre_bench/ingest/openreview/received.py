"""Reads the notes in a journal without duplicates, and counts what was received, repeated or not shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from gre_bench.ingest.openreview.journal import Journal

Note = dict[str, Any]


def received(journal: Journal) -> Iterator[Note]:
    """Yields every note in the journal once, each submission before its replies.

    If a note was received several times, the copy with the latest change date is used.
    """
    newest: dict[str, tuple[int, int]] = {}
    for index, note in enumerate(_copies(journal)):
        if isinstance(note.get("id"), str):
            newest[note["id"]] = max(newest.get(note["id"], (-1, 0)), (_changed(note), -index))
    for index, note in enumerate(_copies(journal)):
        if not isinstance(note.get("id"), str) or newest[note["id"]][1] == -index:
            yield note


def copies(journal: Journal) -> int:
    """Returns the number of surplus copies: notes received, minus distinct note ids."""
    ids = [note.get("id") for note in _copies(journal)]
    return len(ids) - len(set(map(str, ids)))


def listed_of(journal: Journal, invitation: str) -> tuple[int, int]:
    """Returns (notes received, notes counted by the service) for the listing of *invitation*.

    The second number is the service's latest count; 0 if it states none.
    """
    pages = journal.listing(invitation)
    ids = {str(note.get("id")) for page in pages for note in journal.page_notes(page)}
    return len(ids), (pages[-1].count or 0) if pages else 0


def lacking(journal: Journal) -> tuple[str, ...]:
    """Returns the ids of submissions whose listing did not contain all of their replies."""
    incomplete = []
    for page in journal.pages:
        for note in journal.page_notes(page):
            replies = _details(note).get("replies")
            if not isinstance(replies, list) or _stated(note) > len(replies):
                incomplete.append(str(note.get("id")))
    return tuple(dict.fromkeys(incomplete))


def not_shown(journal: Journal) -> int:
    """Returns the number of replies that the service counts but does not show, over all forums fetched as a whole."""
    stated = {str(note.get("id")): _stated(note) for page in journal.pages for note in journal.page_notes(page)}
    return sum(
        max(0, (journal.counted[forum] or 0) - len(notes), stated.get(forum, 0) - (len(notes) - 1))
        for forum, notes in journal.forums.items()
    )


def _stated(note: Note) -> int:
    """Returns the number of replies that the service states for the submission *note*; 0 if it states none."""
    count = _details(note).get("replyCount")
    return count if isinstance(count, int) else 0


def _details(note: Note) -> Note:
    return note["details"] if isinstance(note.get("details"), dict) else {}


def _copies(journal: Journal) -> Iterator[Note]:
    """Yields all received notes, repeated ones included: each submission of a listing, then its replies by date."""
    for page in journal.pages:
        for note in journal.page_notes(page):
            details = _details(note)
            whole = journal.forums.get(str(note.get("id")))
            replies = details.get("replies") or [] if whole is None else whole
            rest = {name: value for name, value in details.items() if name not in ("replies", "directReplies")}
            plain = {name: value for name, value in note.items() if name != "details"}
            yield plain | ({"details": rest} if rest else {})
            yield from sorted((reply for reply in replies if reply.get("id") != note.get("id")), key=_age)


def _age(note: Note) -> tuple[int, str]:
    date = note.get("tcdate") or note.get("cdate")
    return (date if isinstance(date, int) else 0, str(note.get("id")))


def _changed(note: Note) -> int:
    dates = [note.get(name) for name in ("tmdate", "mdate", "tcdate")]
    return max((date for date in dates if isinstance(date, int)), default=0)


def numbers_of(
    notes: Iterable[Note], papers: Collection[str], api: int
) -> Iterator[tuple[str, int | None, str | None]]:
    """Yields (paper id, submission number, the PDF's name in the note) for each of *papers*.

    *notes*: notes that include the submissions of *papers*, in the form of the API version *api*.
    *papers*: paper ids. A number or name that the note does not state is None.
    """
    for note in notes:
        if isinstance(note.get("id"), str) and note["id"] in papers and note["id"] == note.get("forum"):
            stated = (note.get("content") or {}).get("pdf")
            stated = stated.get("value") if api == 2 and isinstance(stated, dict) else stated
            number = note.get("number")
            yield note["id"], number if isinstance(number, int) else None, stated if isinstance(stated, str) else None
