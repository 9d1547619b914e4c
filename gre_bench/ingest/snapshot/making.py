"""Makes a snapshot: writes it under a temporary name, and renames it when it is complete.

A snapshot is never changed afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import Edition
from gre_bench.ingest.records.source_files import is_text
from gre_bench.ingest.snapshot.manifest import (
    HISTORIES,
    MANIFEST,
    NOTES,
    PAPERS,
    REVIEWS,
    TEXTS,
    Frozen,
    sealed,
)
from gre_bench.ingest.snapshot.snapshot import Snapshot

Row = dict[str, Any]
UNSTATED: Row = {"pdf": None, "pdf_problem": None, "pdf_version_status": "unknown", "licence": None, "sampled": None}
"""Facts about a paper that are unknown if a user supplies its files."""


def make_snapshot(
    folder: Path,
    edition: Edition,
    notes: Iterable[Row],
    *,
    pdfs: Mapping[str, Path] = {},
    texts: Mapping[str, str] = {},
    papers: Mapping[str, Row] = {},
    histories: Mapping[str, Sequence[Row]] = {},
    reviews: Iterable[Row] = (),
    source: str,
    previous: str | None = None,
    remarks: Sequence[str] = (),
    counts: Mapping[str, int] = {},
    grouped: bool = False,
    link: bool = False,
) -> Snapshot:
    """Freezes notes, and the PDFs and texts of their papers, in the new *folder*.

    - *notes*: the raw notes of the *edition*.
    - *pdfs*, *texts*: {paper id: path of its PDF} and {paper id: its text}. Those of papers without a note are counted
      and left out.
    - *papers*: {paper id: known facts about the paper}; `UNSTATED` has the names of the facts.
    - *histories*: {note id: the versions of the note}.
    - *reviews*: the rows that `Snapshot.reviews` will return.
    - *source*, *remarks*, *counts*: stated in the manifest as they are.
    - *previous*: the digest of the preceding snapshot of the venue-year, if any.
    - *grouped*: whether *notes* already come paper by paper, each submission first.
    - *link*: whether the PDF files are named by their SHA-256 and never change. The snapshot then uses hard links.

    Raises `SourceError` if *folder* exists, or if a PDF cannot be read or does not match its name.
    """
    if folder.exists():
        raise SourceError(f"snapshot {folder} exists already, and a snapshot never changes; name another folder")
    beside = folder.parent / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        (beside / "pdfs").mkdir(parents=True)
        known, count, file = _put_notes(beside, notes if grouped else ordered(notes))
        files, shas = [file], dict[str, str]()
        mine = {paper_id: path for paper_id, path in pdfs.items() if paper_id in known}
        files += _put_pdfs(beside, mine, shas, link)
        rows = {paper_id: {**UNSTATED, **papers.get(paper_id, {})} for paper_id in {*shas, *papers} & known}
        put = [{"paper_id": key} | rows[key] | {"pdf": shas.get(key)} for key in sorted(rows)]
        files.append(_put_rows(beside, PAPERS, put))
        if histories:
            listed = [{"note_id": key, "versions": list(histories[key])} for key in sorted(histories)]
            files.append(_put_rows(beside, HISTORIES, listed))
        if rows := list(reviews):
            files.append(_put_rows(beside, REVIEWS, rows))
        files += _put_texts(beside, {paper_id: text for paper_id, text in texts.items() if paper_id in known})
        stated = {
            "notes": count,
            "papers": len(known),
            "pdfs": len(shas),
            "texts": len(texts.keys() & known),
            "pdfs_left_out": len(pdfs.keys() - known),
            "texts_left_out": len(texts.keys() - known),
        }
        manifest = sealed(edition, source, stated | dict(counts), files, previous, remarks)
        (beside / MANIFEST).write_bytes(manifest.written())
        beside.rename(folder)
    except OSError as error:
        raise SourceError(f"snapshot {folder} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Snapshot(folder, manifest)


def ordered(notes: Iterable[Row]) -> Iterator[Row]:
    """Yields *notes* paper by paper (forum by forum), each submission before its replies.

    Papers are in the order of their first note. Raises `SourceError` for a note that is not a JSON object.
    """
    forums: dict[object, list[Row]] = {}
    for number, note in enumerate(notes, start=1):
        if not isinstance(note, dict):
            raise SourceError(f"note {number} is not a JSON object")
        forum = note.get("forum")
        forums.setdefault(forum if isinstance(forum, str) else number, []).append(note)
    for forum, members in forums.items():
        yield from sorted(members, key=lambda note: note.get("id") != forum)


def _put_notes(beside: Path, notes: Iterable[Row]) -> tuple[set[str], int, Frozen]:
    """Writes *notes* to *beside*, the temporary folder of the snapshot.

    Returns the ids of the submissions, the number of notes, and the entry of the file for the manifest.
    """
    papers: set[str] = set()
    count = 0

    def lines() -> Iterator[Row]:
        nonlocal count
        for note in notes:
            count += 1
            if is_text(note.get("id")) and note["id"] == note.get("forum"):
                papers.add(note["id"])
            yield note

    file = _put_rows(beside, NOTES, lines())
    return papers, count, file


def _put_rows(beside: Path, name: str, rows: Iterable[Row]) -> Frozen:
    whole, size = hashlib.sha256(), 0
    with (beside / name).open("wb") as file:
        for row in rows:
            line = (json.dumps(row) + "\n").encode()
            whole.update(line)
            size += len(line)
            file.write(line)
    return Frozen(name=name, sha256=whole.hexdigest(), bytes=size)


def _put_pdfs(beside: Path, pdfs: Mapping[str, Path], shas: dict[str, str], link: bool) -> list[Frozen]:
    """Writes *pdfs* ({paper id: path}) to *beside*, the temporary folder of the snapshot.

    Returns the entries of the files for the manifest. Equal PDFs are written once. The SHA-256 of each paper's PDF is
    added to *shas*. *link* is as in `make_snapshot`.
    """
    files: dict[str, Frozen] = {}
    for paper_id, path in sorted(pdfs.items()):
        try:
            data = read_bytes(path)
        except OSError as error:
            raise SourceError(f"the PDF of paper {paper_id!a}, {path}, cannot be read: {error.strerror}") from None
        sha256 = shas[paper_id] = hashlib.sha256(data).hexdigest()
        if link and path.stem != sha256:
            raise SourceError(f"the PDF of paper {paper_id!a}, {path}, is not as it was received; fetch it again")
        if sha256 not in files:
            name = f"pdfs/{sha256}.pdf"
            _put_bytes(beside / name, data, path if link else None)
            files[sha256] = Frozen(name=name, sha256=sha256, bytes=len(data))
    return [files[sha256] for sha256 in sorted(files)]


def _put_bytes(path: Path, data: bytes, shared: Path | None) -> None:
    if shared is not None:
        try:
            return os.link(shared, path)
        except OSError:
            pass  # on another file system, or one without links, a copy serves as well
    path.write_bytes(data)


def _put_texts(beside: Path, texts: Mapping[str, str]) -> Iterator[Frozen]:
    if not texts:
        return
    import pandas

    ids = sorted(texts)
    table = pandas.DataFrame({"paper_id": ids, "text": [texts[paper_id] for paper_id in ids]}, dtype="str")
    data = table.to_parquet(None, index=False)
    (beside / TEXTS).write_bytes(data)
    yield Frozen(name=TEXTS, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
