"""Applies the query of a request to the loopback OpenReview: filters notes, sorts them, and selects a page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Literal

from gre_bench.ingest.openreview.loopback.answers import invalid

Api = Literal[1, 2]
Note = dict[str, Any]
Query = Mapping[str, str]

PAGE = 1000
"""The most notes on a page; requests for more are refused."""

_PAGING = {"details", "sort", "limit", "offset", "after", "count", "stream", "trash"}
_FIELDS = {"forum", "replyto", "number", "domain", "original"}
_FILTERS = {"id", "invitation", "signature", "signatures", "mintcdate", *_FIELDS}
_SORTED_BY = {"id", "number", "cdate", "mdate", "tcdate", "tmdate", "ddate"}


def check(query: Query) -> None:
    """Raises `Refused` if *query* has an unknown parameter. Otherwise a client's misspelt filter would go unnoticed."""
    unknown = [key for key in query if key not in _PAGING | _FILTERS and not key.startswith("content.")]
    if unknown:
        raise invalid(unknown[0], f"property {unknown[0]} must NOT be given")


def fits(note: Note, query: Query, api: Api) -> bool:
    """Whether *note* passes all filters of *query*.

    A deleted note passes only if the query names its id or asks for the trash.
    """
    if note.get("ddate") is not None and query.get("trash") != "true" and "id" not in query:
        return False
    for key, value in query.items():
        if key.startswith("content."):
            held = note["content"].get(key.removeprefix("content."))
            held = held.get("value") if api == 2 and isinstance(held, dict) else held
            kept = value == held or (isinstance(held, list) and value in held)
        elif key == "id" or key in _FIELDS:
            kept = str(note.get(key)) == value
        elif key == "invitation":
            kept = value in note["invitations"] if api == 2 else _is_invited(note, value)
        elif key in ("signature", "signatures"):
            kept = value in note.get("signatures", ())
        else:
            kept = key != "mintcdate" or note.get("tcdate", 0) >= number(query, key, 0)
        if not kept:
            return False
    return True


def ordered(notes: list[Note], sort: str) -> list[Note]:
    """Returns *notes* in the order *sort*: a field, and a direction after a colon, such as ``tcdate:desc``.

    Raises `Refused` for an unknown field.
    """
    field, _, way = sort.partition(":")
    if field not in _SORTED_BY:
        raise invalid("sort", f"sort must be one of {', '.join(sorted(_SORTED_BY))}")
    return sorted(notes, key=lambda note: note["id"] if field == "id" else note.get(field) or 0, reverse=way == "desc")


def page(notes: list[Note], query: Query) -> list[Note]:
    """Returns the page of *notes* that *query* asks for.

    The page starts after the note id ``after``, or at the position ``offset``. It holds at most ``limit`` notes. A
    query with ``stream=true`` gets all notes.
    Raises `Refused` for a limit above `PAGE` or an unknown id in ``after``.
    """
    limit, offset = number(query, "limit", PAGE), number(query, "offset", 0)
    if limit > PAGE:
        raise invalid("limit", f"limit must be <= {PAGE}", comparison="<=", limit=PAGE, invalidValue=limit)
    if query.get("stream") == "true":
        return notes
    if (after := query.get("after")) is not None:
        ids = [note["id"] for note in notes]
        if query.get("sort") == "id":
            offset = bisect_right(ids, after)
        elif after in ids:
            offset = ids.index(after) + 1
        else:
            raise invalid("after", f"after {after} is not in the listing")
    return notes[offset : offset + limit]


def number(query: Query, key: str, default: int) -> int:
    """Returns the parameter *key* of *query* as an integer, or *default* if it is missing.

    Raises `Refused` for a value that is no integer of at least 0.
    """
    value = query.get(key, str(default))
    if not value.isdecimal():
        raise invalid(key, f"{key} must be integer", invalidValue=value)
    return int(value)


def _is_invited(note: Note, wanted: str) -> bool:
    prefix = wanted.removesuffix(".*")
    if re.search(r"[*+?\[\](){}|\\^$]", prefix):
        raise invalid("invitation", "invitation must be a prefix regex")
    invitation = note.get("invitation") or ""
    return invitation == wanted if prefix == wanted else invitation.startswith(prefix)
