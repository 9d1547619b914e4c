"""Decides which version of a review counts, and which version of a paper the PDF holds.

OpenReview serves the latest PDF of a paper, but reviewers may have read an earlier version. The version of a review
that counts is the last one before the rebuttal opened: reviewers edit their reviews after the authors answer, but a
benchmark of reviewing needs the reviewer's own view. OpenReview stores the history of a note in two forms:

- API v1 stores references. Each has the whole content of the note. A reference may be overwritten in place, so its
  content is dated by its last change.
- API v2 stores edits. An edit has only what it sets: fields, or single parts of a field, such as its readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gre_bench.ingest.records.notes import list_invitations, unwrap_fields, unwrap_value

Note = Mapping[str, Any]
Rule = Literal["unedited", "before_rebuttal", "late", "no_date", "not_public", "not_asked"]
"""Why a version of a review counts.

- *unedited*: the review was not edited since the rebuttal opened.
- *before_rebuttal*: it is the last version before the rebuttal opened.
- *late*: it is the first version, because none precedes the rebuttal.

For the other reasons, the latest version counts:

- *no_date*: it is unknown when the rebuttal opened.
- *not_public*: earlier versions are not public.
- *not_asked*: earlier versions were not requested, because the paper is not in the sample.
"""


@dataclass(frozen=True, slots=True)
class NoteVersion:
    """A version of a note: its invitation, and the *content* of the note from *written_at* (epoch ms) on."""

    version_id: str
    written_at: int
    content: Mapping[str, Any]
    invitation: str


@dataclass(frozen=True, slots=True)
class ChosenReviewVersion:
    """The version of a review that counts. *version_id*: its id; None if it is the current note.

    *written_at*: epoch ms; None if not stated. *versions*: how many versions there are. *rule*: why this one counts.
    """

    version_id: str | None
    written_at: int | None
    versions: int
    rule: Rule


def list_versions(history: Sequence[Note]) -> list[NoteVersion]:
    """Returns the versions in *history* that change content and are not deleted, oldest first."""
    versions: list[NoteVersion] = []
    content: dict[str, Any] = {}
    for note in sorted((note for note in history if note.get("ddate") is None), key=_find_writing_date):
        edit = isinstance(note.get("note"), Mapping)
        inner = note["note"] if edit else note
        changes = inner["content"] if isinstance(inner.get("content"), Mapping) else {}
        before, content = content, apply_edit(content, changes) if edit else {**content, **changes}
        if content != before:
            invitation = str(note.get("invitation") or "")
            versions.append(NoteVersion(str(note.get("id")), _find_writing_date(note), content, invitation))
    return versions


def apply_edit(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the *content* of a note of API v2 after an edit with the content *changes*.

    An edit sets or deletes parts of a field, such as its value or its readers; other parts stay unchanged. The result
    leaves out a field that has no value after the edit.
    """
    after = dict(content)
    for name, change in changes.items():
        held = after.pop(name, {})
        held, change = (field if isinstance(field, Mapping) else {"value": field} for field in (held, change))
        parts = {part: value for part, value in {**held, **change}.items() if not _is_deletion(value)}
        if "value" in parts and not _is_deletion(change):
            after[name] = parts
    return after


def needs_history(note: Note, rebuttal_ms: int | None) -> bool:
    """Whether `choose_version` needs the history of the review *note* to find the version that counts."""
    changed = find_last_change_ms(note)
    return changed is not None and (rebuttal_ms is None or changed >= rebuttal_ms)


def find_last_change_ms(note: Note) -> int | None:
    """Returns when *note* was last changed (epoch ms); None if it never was."""
    made = _find_first_date(note, "tcdate", "cdate")
    last = max(
        (date for name in ("tmdate", "mdate") if (date := _find_first_date(note, name)) is not None), default=None
    )
    return last if last is not None and (made is None or last > made) else None


def choose_version(note: Note, history: Sequence[Note] | None, rebuttal_ms: int | None) -> ChosenReviewVersion:
    """Returns the version of the review *note* that counts.

    - *history*: its edits or references; None if they were not requested, empty if OpenReview does not show them.
    - *rebuttal_ms*: when the rebuttal opened (epoch ms); None if unknown.
    """
    now = find_last_change_ms(note) or _find_first_date(note, "tcdate", "cdate")
    if not needs_history(note, rebuttal_ms):
        return ChosenReviewVersion(None, now, len(list_versions(history or ())) or 1, "unedited")
    if history is None:
        return ChosenReviewVersion(None, now, 1, "not_asked")
    versions = list_versions(history)
    if not versions:
        return ChosenReviewVersion(None, now, 1, "not_public")
    if rebuttal_ms is None:
        return ChosenReviewVersion(None, now, len(versions), "no_date" if len(versions) > 1 else "unedited")
    before = [version for version in versions if version.written_at < rebuttal_ms]
    chosen = before[-1] if before else versions[0]
    if before and unwrap_fields({"content": chosen.content}) == unwrap_fields(note):
        # What changed after the rebuttal opened was not the text, but the readers or a signature.
        return ChosenReviewVersion(None, chosen.written_at, len(versions), "unedited")
    return ChosenReviewVersion(
        chosen.version_id, chosen.written_at, len(versions), "before_rebuttal" if before else "late"
    )


def _find_writing_date(note: Note) -> int:
    edit = isinstance(note.get("note"), Mapping)
    dates = (_find_first_date(note, name) for name in (("tcdate", "cdate") if edit else ("tmdate", "tcdate")))
    return next(filter(None, dates), 0)


def _is_deletion(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("delete") is True


def _find_first_date(note: Note, *names: str) -> int | None:
    values = (value for value in map(note.get, names) if isinstance(value, int | float) and not isinstance(value, bool))
    return next(map(int, values), None)


Status = Literal["submitted", "revised_after_review", "camera_ready", "unknown"]


def find_pdf_version_status(
    note: Note, history: Sequence[Note] | None, released_ms: int | None, decided_ms: int | None = None
) -> Status:
    """Returns which version the current PDF of the submission *note* holds: submitted, revised or camera-ready.

    Returns ``unknown`` if that cannot be decided.

    *history*: as in `choose_version`. *released_ms*: see `VenueYear.released_ms`. *decided_ms*: when the paper was
    accepted (epoch ms); None if it was not.
    """
    changed = find_last_change_ms(note)
    if changed is None or (released_ms is not None and changed < released_ms):
        return "submitted"
    last, previous = None, None
    for version in list_versions(history or ()):
        stated = unwrap_value(version.content.get("pdf"))
        if stated is not None and stated != previous:
            last, previous = version, stated
    invitations = " ".join(list_invitations(note)) if not history else last.invitation if last else ""
    if any(mark in invitations.lower() for mark in ("camera_ready", "camera-ready", "final_version")):
        return "camera_ready"
    if not history:
        after = any(mark in invitations.lower() for mark in ("rebuttal_revision", "discussion_revision"))
        return "revised_after_review" if after else "unknown"
    if last is None or released_ms is None:
        return "unknown"
    if last.written_at < released_ms:
        return "submitted"
    return "camera_ready" if decided_ms is not None and last.written_at >= decided_ms else "revised_after_review"


def pdf_needs_history(note: Note, released_ms: int | None) -> bool:
    """Whether the history of the submission *note* is needed to decide which version of the paper its PDF holds."""
    return find_pdf_version_status(note, None, released_ms) == "unknown"
