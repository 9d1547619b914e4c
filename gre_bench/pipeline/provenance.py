"""Tells where the texts of a snapshot come from: the version of each review, each paper's PDF, and the licences.

A fetched snapshot states all three. A snapshot made from a user's own notes holds only the notes. Each note may state
its own licence (OpenReview API v2).
"""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

from gre_bench.ingest.snapshot.snapshot import UNSTATED, Snapshot

AS_GIVEN = "as_given"
"""The rule for a review whose history was not fetched: it counts as it is in the file."""


def versions(snapshot: Snapshot, kept: Set[str]) -> list[dict[str, Any]]:
    """Returns rows of the table ``review_versions``: which version of each review was imported.

    *kept*: the ids of the imported reviews. Other reviews have no row.
    """
    fetched = {row["review_id"]: row for row in snapshot.reviews() if row["review_id"] in kept}
    unknown = {"versions": 1, "version": None, "written_at": None, "rule": AS_GIVEN}
    unfetched = {
        note_id: unknown | {"review_id": note_id, "licence": licence}
        for note_id, licence in licences(snapshot, kept - fetched.keys()).items()
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
        for row in (unfetched | fetched).values()
    ]


def papers(snapshot: Snapshot, kept: Set[str]) -> list[dict[str, Any]]:
    """Returns rows of the table ``paper_sources``: where the PDF of each paper comes from, and its licence.

    *kept*: the ids of the imported papers. Other papers have no row.
    """
    known = snapshot.papers()
    stated = licences(snapshot, kept - {name for name, row in known.items() if row["licence"]})
    names = ("pdf_problem", "pdf_version_status")
    rows = {paper_id: {**UNSTATED, **known.get(paper_id, {})} for paper_id in (known.keys() | stated.keys()) & kept}
    return [
        {"paper_id": paper_id, "pdf_sha256": row["pdf"], "licence": row["licence"] or stated.get(paper_id)}
        | {name: row[name] for name in names}
        for paper_id, row in sorted(rows.items())
    ]


def licences(snapshot: Snapshot, kept: Set[str]) -> dict[str, str]:
    """Returns note id → licence, for each note that states a licence.

    *kept*: the ids of the imported notes. Other notes are left out.
    """
    if not kept:
        return {}
    return {
        note["id"]: note["license"]
        for note in snapshot.notes()
        if isinstance(note.get("license"), str) and isinstance(note.get("id"), str) and note["id"] in kept
    }


def _moment(ms: Any) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, UTC) if ms else None
