"""Reads human reviews of a venue-year field by field, as the reviewers filled them in.

Only reviews that `read_notes` keeps are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gre_bench.ingest.records.notes import read_notes
from gre_bench.ingest.records.venues import Venue

SCORES = ("soundness", "presentation", "contribution")


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one review: *fields* is {name of a field: its value as text}.

    *written_ms* is when the review was first written (epoch ms); None if the note does not state it.
    """

    review_id: str
    paper_id: str
    fields: Mapping[str, str]
    written_ms: int | None


def review_fields(notes: Iterable[Mapping[str, Any]], venue: Venue) -> list[Fields]:
    """Returns the texts, subscores (`SCORES`), ``rating`` and ``confidence`` of every kept review of *notes*.

    A text field that a reviewer left out is present and empty. Scores that a reviewer did not give are absent, and so
    are fields that the venue does not have.
    """
    raw = [note for note in notes if isinstance(note, Mapping)]
    kept = {review.review_id: review.paper_id for review in read_notes(raw, venue).reviews}
    by_review: dict[str, Fields] = {}
    for note in raw:
        review_id = note.get("id")
        if isinstance(review_id, str) and review_id in kept and review_id not in by_review:
            by_review[review_id] = Fields(review_id, kept[review_id], _fields(note["content"], venue), _date(note))
    return list(by_review.values())


def _fields(content: Mapping[str, Any], venue: Venue) -> dict[str, str]:
    texts = {name: (_value(content, name, venue) or "").strip() for name, _ in venue.text}
    names = [name for name in SCORES if name in venue.other_fields]
    scores = {name: _value(content, name, venue) for name in names}
    scores |= {"rating": _value(content, venue.rating, venue) if venue.rating else None}
    scores |= {"confidence": _value(content, venue.confidence, venue) if venue.confidence else None}
    return texts | {name: score.strip() for name, score in scores.items() if score and score.strip()}


def _value(content: Mapping[str, Any], name: str, venue: Venue) -> str | None:
    """Returns the field *name* of a note's *content* as text; None if it is absent or neither text nor a number."""
    value = content.get(name)
    if venue.api == 2 and isinstance(value, Mapping):
        value = value.get("value")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return value if isinstance(value, str) else None


def _date(note: Mapping[str, Any]) -> int | None:
    for name in ("tcdate", "cdate"):
        value = note.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
