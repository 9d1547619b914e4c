"""Writes the publishable part of a snapshot: nothing that names people, and texts only if their licence allows it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.ingest.records.notes import read_notes
from gre_bench.ingest.records.venues import Venue
from gre_bench.ingest.snapshot.snapshot import Snapshot

_FREE = re.compile(r"(?:CC0(?:[ -]1\.0)?|CC[ -]BY(?:[ -]SA)?[ -]\d\.\d)", re.I)


def may_publish(licence: str | None) -> bool:
    """Whether *licence* allows anyone to pass on a text for any purpose, as CC0, CC BY and CC BY-SA do.

    A text without a licence may not be passed on. Licences that exclude commercial use or changes do not suffice,
    because users of the benchmark may do both.
    """
    return licence is not None and _FREE.fullmatch(licence.strip()) is not None


def public_rows(snapshot: Snapshot, venue: Venue) -> Iterator[dict[str, Any]]:
    """Yields a row for each kept paper and review: ids, scores, licence, SHA-256 of the text, and the text if allowed.

    The text is None if its licence does not allow publication. Nothing else of a note is included: no signatures,
    readers, writers, authors, or fields that may name somebody.
    """
    records = read_notes(snapshot.reviewed(), venue)
    licences = {note["id"]: note.get("license") for note in snapshot.notes() if isinstance(note.get("id"), str)}
    chosen = {row["review_id"]: row for row in snapshot.reviews()}
    papers = snapshot.papers()
    for paper in records.papers:
        more = {name: papers.get(paper.paper_id, {}).get(name) for name in ("pdf", "pdf_version_status", "sampled")}
        row = {"kind": "paper", "paper_id": paper.paper_id, "decision": records.decisions.get(paper.paper_id)}
        text = "\n\n".join(part for part in (paper.title, paper.abstract) if part)
        yield row | more | _text(text, licences.get(paper.paper_id))
    for review in records.reviews:
        more = {name: chosen.get(review.review_id, {}).get(name) for name in ("version", "written_at", "rule")}
        row = {"kind": "review", "paper_id": review.paper_id, "review_id": review.review_id, "rating": review.rating}
        yield row | more | _text(review.text or "", licences.get(review.review_id))


def write_public(snapshot: Snapshot, venue: Venue, path: Path) -> dict[str, int]:
    """Writes `public_rows` to the file *path*, one JSON object per line, and replaces an existing file in one step.

    Returns {``texts``: how many rows have a text, ``withheld``: how many do not}. Raises `SourceError` if *path* lies
    in the snapshot, which never changes, or if the file cannot be written.
    """
    counts = {"texts": 0, "withheld": 0}
    target = path.resolve()
    if target.is_relative_to(snapshot.folder.resolve()):
        raise SourceError(f"{path} is in the snapshot {snapshot.folder}, which never changes; name another place")
    if target.is_dir():
        raise SourceError(f"{path} is a folder; name a file")
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            for row in public_rows(snapshot, venue):
                counts["withheld" if row["text"] is None else "texts"] += 1
                file.write(json.dumps(row) + "\n")
        beside.replace(target)
    except OSError as error:
        raise SourceError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            beside.unlink()
    return counts


def _text(text: str, licence: object) -> dict[str, Any]:
    stated = licence if isinstance(licence, str) else None
    sha256 = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return {"licence": stated, "sha256": sha256, "text": text if may_publish(stated) else None}
