"""Finds the changes between two snapshots: notes added, edited, withdrawn or removed, and changed PDFs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gre_bench.ingest.records.notes import creating, invitations_of, kind_of, plain
from gre_bench.ingest.snapshot.snapshot import Snapshot

STATUSES = ("withdrawn", "desk_rejected")
SHOWN, SHORT = 6, 60


@dataclass(frozen=True, slots=True)
class Seen:
    """The parts of a note that are compared between snapshots.

    - *status*: ``withdrawn``, ``desk_rejected``, or empty, as its invitations or its field ``venueid`` state.
    - *fields*: {name of a field: hash of its value}.
    - *shown*: {name of a field: its value} for values that are short enough for a message.
    """

    kind: str
    forum: str
    status: str
    deleted: bool
    fields: Mapping[str, str]
    shown: Mapping[str, str]


def changes(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Returns the changes from the snapshot *before* to the snapshot *after* as a dictionary.

    - ``since``: the digest of *before*.
    - ``counts``: {event and kind of note, such as "edited Official_Review": how many}.
    - ``lines``: one line of text for each change.
    """
    old, new = _seen(before.notes()), _seen(after.notes())
    lines: list[str] = []
    counts: dict[str, int] = {}

    def note(change: str, note_id: str, seen: Seen, more: str = "") -> None:
        counts[f"{change} {seen.kind}"] = counts.get(f"{change} {seen.kind}", 0) + 1
        where = "" if note_id == seen.forum else f" of paper {seen.forum}"
        lines.append(f"{change} {seen.kind} {note_id}{where}{more}")

    for note_id in sorted(new.keys() | old.keys()):
        was, now = old.get(note_id), new.get(note_id)
        if was is None and now is not None:
            note("new", note_id, now)
        elif now is None and was is not None:
            note("deleted", note_id, was, ": it is not there any more")
        elif was is not None and now is not None:
            if now.deleted and not was.deleted:
                note("deleted", note_id, now)
            elif now.status != was.status and now.status:
                note(now.status, note_id, now)
            elif fields := sorted({name for name, _ in was.fields.items() ^ now.fields.items()}):
                shown = ", ".join(_shown(was, now, name) for name in fields[:SHOWN])
                more = f" and {len(fields) - SHOWN} more" if len(fields) > SHOWN else ""
                note("edited", note_id, now, f": {shown}{more}")
    for paper_id, row in sorted(after.papers().items()):
        was_pdf = before.papers().get(paper_id, {}).get("pdf")
        if row.get("pdf") and was_pdf and row["pdf"] != was_pdf:
            counts["another PDF"] = counts.get("another PDF", 0) + 1
            lines.append(f"another PDF of paper {paper_id}")
    return {"since": before.digest, "counts": counts, "lines": lines}


def _seen(notes: Iterable[Mapping[str, Any]]) -> dict[str, Seen]:
    results = {}
    for note in notes:
        if not isinstance(note.get("id"), str):
            continue
        stated = note.get("content")
        content = stated if isinstance(stated, Mapping) else {}
        values = {name: plain(value) for name, value in content.items()}
        listed = invitations_of(note)
        marks = [*listed, str(values.get("venueid") or "")]
        results[note["id"]] = Seen(
            kind=kind_of(creating(listed)) if listed else "note",
            forum=str(note.get("forum")),
            status=next((kind for kind in STATUSES if any(f"{kind}_" in mark.lower() for mark in marks)), ""),
            deleted=note.get("ddate") is not None,
            fields={
                name: hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
                for name, value in values.items()
            },
            shown={name: str(value) for name, value in values.items() if len(str(value)) <= SHORT},
        )
    return results


def _shown(was: Seen, now: Seen, name: str) -> str:
    """Returns the name of a changed field, followed by its old and new value if both are short."""
    if name not in was.fields:
        return f"{name} added"
    if name not in now.fields:
        return f"{name} removed"
    if name in was.shown and name in now.shown:
        return f"{name} {was.shown[name]!r} → {now.shown[name]!r}"
    return name
