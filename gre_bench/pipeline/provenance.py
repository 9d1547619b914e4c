"""Where the texts of a snapshot are from: which version of a review counts, which PDF a paper has, under which licence.

A fetched snapshot states all of it. One of a user's own notes holds the notes alone: there a licence is what the note
itself says, as OpenReview's API v2 gives it.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

from gre_bench.ingest.snapshot.making import UNSTATED
from gre_bench.ingest.snapshot.snapshot import Snapshot

AS_GIVEN = "as_given"
"""The rule by which a review counts whose history nobody asked for."""


def versions(snapshot: Snapshot, kept: Set[str]) -> list[dict[str, Any]]:
    """Which version of each review of *kept* counts; rows of the table ``review_versions``."""
    stated = {row["review_id"]: row for row in snapshot.reviews() if row["review_id"] in kept}
    unknown = {"versions": 1, "version": None, "written_at": None, "rule": AS_GIVEN}
    given = {
        note_id: unknown | {"review_id": note_id, "licence": licence}
        for note_id, licence in licences(snapshot, kept - stated.keys()).items()
    }
    return [
        {
            "review_id": row["review_id"],
            "versions": row["versions"],
            "version_id": row["version"],
            "written_at": _moment(row["written_at"]),
            "rule": row["rule"],
            "licence": row["licence"],
        }
        for row in (given | stated).values()
    ]


def papers(snapshot: Snapshot, kept: Set[str]) -> list[dict[str, Any]]:
    """Where the PDF of each paper of *kept* is from; rows of the table ``paper_sources``."""
    known = snapshot.papers()
    given = licences(snapshot, kept - {name for name, row in known.items() if row["licence"]})
    names = ("pdf_problem", "pdf_version_status")
    rows = {paper_id: {**UNSTATED, **known.get(paper_id, {})} for paper_id in (known.keys() | given.keys()) & kept}
    return [
        {"paper_id": paper_id, "pdf_sha256": row["pdf"], "licence": row["licence"] or given.get(paper_id)}
        | {name: row[name] for name in names}
        for paper_id, row in sorted(rows.items())
    ]


def licences(snapshot: Snapshot, kept: Set[str]) -> dict[str, str]:
    """By note id the licence that each note of *kept* states; those that state none are left out."""
    if not kept:
        return {}
    return {
        note["id"]: note["license"]
        for note in snapshot.notes()
        if isinstance(note.get("license"), str) and isinstance(note.get("id"), str) and note["id"] in kept
    }


def _moment(ms: Any) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, UTC) if ms else None
