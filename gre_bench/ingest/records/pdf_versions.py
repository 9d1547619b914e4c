"""Decides which version of a paper its PDF is: the reviewed one, a later one, or the camera-ready one.

OpenReview gives the latest PDF of a paper, but reviewers may have read an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gre_bench.ingest.records.review_versions import changed_at, versions_of

Note = Mapping[str, Any]
Status = Literal["submitted", "revised_after_review", "camera_ready", "unknown"]

_FINAL = ("camera_ready", "camera-ready", "final_version")
_AFTER_REVIEW = ("rebuttal_revision", "discussion_revision")


def pdf_version_status(
    note: Note, history: Sequence[Note] | None, released_ms: int | None, decided_ms: int | None = None
) -> Status:
    """Returns which version of the paper the current PDF of the submission *note* is.

    - *history*: the note's edits (API v2) or references (API v1); None if they were not requested.
    - *released_ms*: when authors could first answer the reviews (epoch ms); None if unknown.
    - *decided_ms*: when the paper was accepted (epoch ms); None if it was not.
    """
    changed = changed_at(note)
    if changed is None or (released_ms is not None and changed < released_ms):
        return "submitted"
    if history:
        return _by_history(history, released_ms, decided_ms)
    invitations = [str(invitation).lower() for invitation in note.get("invitations") or [note.get("invitation") or ""]]
    if any(mark in invitation for invitation in invitations for mark in _FINAL):
        return "camera_ready"
    if any(mark in invitation for invitation in invitations for mark in _AFTER_REVIEW):
        return "revised_after_review"
    return "unknown"


def is_due(note: Note, released_ms: int | None) -> bool:
    """Whether the history of the submission *note* is needed to decide which version its PDF is.

    *released_ms* is as in `pdf_version_status`.
    """
    return pdf_version_status(note, None, released_ms) == "unknown"


def _by_history(history: Sequence[Note], released_ms: int | None, decided_ms: int | None) -> Status:
    by_id = {str(edit.get("id")): edit for edit in history}
    last, previous = None, None
    for version in versions_of(history):
        stated = version.content.get("pdf")
        if stated is not None and stated != previous:
            last, previous = version, stated
    if last is None:
        return "unknown"
    invitation = str(by_id[last.version_id].get("invitation") or "").lower()
    if any(mark in invitation for mark in _FINAL):
        return "camera_ready"
    if released_ms is None:
        return "unknown"
    if last.written_at < released_ms:
        return "submitted"
    return "camera_ready" if decided_ms is not None and last.written_at >= decided_ms else "revised_after_review"
