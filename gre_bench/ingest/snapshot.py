"""Makes and reads snapshots of a venue-year: raw notes with versions, PDFs or texts, and the SHA-256 of every file.

    <folder>/manifest.json       format, venue, year, source, time, counts, and each file's SHA-256 and bytes
             notes.jsonl         the notes as received, one per line, a submission before its replies
             histories.jsonl     note_id and its versions as received, if they were requested
             reviews.jsonl       for each review: which version counts and why, and how many versions there are
             papers.jsonl        for each paper: PDF, version of the PDF, licence, and whether the paper was sampled
             pdfs/<sha256>.pdf   every distinct PDF
             texts.parquet       paper_id and text, if the user supplies texts

A snapshot never changes once it exists. All data that is read from it is checked against the manifest.
`compare_snapshots` compares two snapshots.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import Edition, digest
from gre_bench.core.strict import load_json
from gre_bench.ingest.records.cells import Row, is_utf8_text
from gre_bench.ingest.records.notes import find_creating_invitation, list_invitations, parse_note_kind, unwrap_fields
from gre_bench.ingest.records.row_files import read_paper_texts
from gre_bench.ingest.records.versions import list_versions

FORMAT = 2
MANIFEST, NOTES, PAPERS, TEXTS = "manifest.json", "notes.jsonl", "papers.jsonl", "texts.parquet"
HISTORIES, REVIEWS = "histories.jsonl", "reviews.jsonl"

_SHOWN, _SHORT = 6, 60
"""How many changed fields of a note are listed at most, and how many characters a value may have to be shown."""
_FREE = re.compile(r"(?:CC0(?:[ -]1\.0)?|CC[ -]BY(?:[ -]SA)?[ -]\d\.\d)", re.I)
_FILE = r"^(?:(?:notes|papers|histories|reviews)\.jsonl|texts\.parquet|pdfs/[0-9a-f]{64}\.pdf)$"


class SnapshotFile(BaseModel, frozen=True, extra="forbid", strict=True):
    """A file of a snapshot."""

    name: str = Field(pattern=_FILE)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)


class Manifest(BaseModel, frozen=True, extra="forbid", strict=True):
    """The contents of ``manifest.json``.

    - *previous*: the digest of the preceding snapshot of the same venue-year, if there is one.
    - *remarks*: warnings for readers, such as that the form of the notes is unverified.
    - *digest*: a hash of the names and hashes of all *files*; *seal*: a hash of all other fields.
    """

    format: Literal[2]
    venue: str
    year: int
    source: str
    created_at: str
    previous: str | None = None
    remarks: list[str] = []
    counts: dict[str, int]
    files: list[SnapshotFile]
    digest: str
    seal: str

    def to_json_bytes(self) -> bytes:
        return (json.dumps(self.model_dump(), indent=1) + "\n").encode()


def _read_manifest(folder: Path) -> Manifest:
    try:
        data = read_bytes(folder / MANIFEST)
        tree = json.loads(data)
        if isinstance(tree, dict) and tree.get("format") != FORMAT:
            raise SourceError(f"snapshot {folder} is of format {tree.get('format')!r:.20}; known is format {FORMAT}")
        manifest = Manifest.model_validate(tree)
    except OSError as error:
        raise SourceError(f"no snapshot at {folder}: {MANIFEST} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise _changed_file_error(folder, MANIFEST) from None
    seals = _digest_file_entries(manifest.files), digest(manifest.model_dump(exclude={"seal"}))
    whole = seals == (manifest.digest, manifest.seal) and any(file.name == NOTES for file in manifest.files)
    if not whole or manifest.to_json_bytes() != data:
        raise _changed_file_error(folder, MANIFEST)
    return manifest


def _digest_file_entries(files: Iterable[SnapshotFile]) -> str:
    return digest([[file.name, file.sha256] for file in files])


def _changed_file_error(folder: Path, name: str) -> SourceError:
    return SourceError(f"snapshot {folder}: {name} is not as it was written; fetch or import it again")


@dataclass(frozen=True)
class Snapshot:
    """An open snapshot. Methods raise `SourceError` if they read a damaged file."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Opens the snapshot in *folder*, and checks its manifest and file sizes; `verify` checks the contents.

        Raises `SourceError` if the snapshot is missing, damaged or of another format.
        """
        manifest = _read_manifest(folder)
        for file in manifest.files:
            path = folder / file.name
            linked = path.is_symlink() or (path.parent != folder and path.parent.is_symlink())
            if linked or not path.is_file():
                raise SourceError(f"snapshot {folder}: {file.name} is missing, or a link; fetch or import it again")
            if path.stat().st_size != file.bytes:
                raise _changed_file_error(folder, file.name)
        return cls(folder, manifest)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the names and hashes of the files, independent of when the snapshot was made."""
        return self.manifest.digest

    def verify(self) -> None:
        """Reads every file again; raises `SourceError` for the first file that differs, is missing, or is unlisted."""
        if _read_manifest(self.folder) != self.manifest:
            raise _changed_file_error(self.folder, MANIFEST)
        for file in self.manifest.files:
            self._read_checked_file(file)
        known = {MANIFEST, *(file.name for file in self.manifest.files)}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name not in known and not (name == "pdfs" and path.is_dir()):
                raise SourceError(f"snapshot {self.folder}: {name} does not belong to it")

    def notes(self) -> Iterator[dict[str, Any]]:
        """Yields the raw notes, each submission before its replies."""
        return self._read_rows(NOTES)

    def list_notes_as_counted(self) -> Iterator[dict[str, Any]]:
        """Yields the raw notes, each review with the content of the version that counts (see `reviews`)."""
        due = {review["review_id"]: review["version"] for review in self.reviews() if review["version"] is not None}
        histories = dict(self.histories()) if due else {}
        for note in self.notes():
            if isinstance(note.get("id"), str) and note["id"] in due:
                known = {version.version_id: version for version in list_versions(histories[note["id"]])}
                note = note | {"content": known[due[note["id"]]].content}
            yield note

    def reviews(self) -> Iterator[dict[str, Any]]:
        """Yields a row for each review that states which of its versions counts.

        Columns: review_id, paper_id, versions (how many), version (id of the version that counts; None for the current
        note), written_at (epoch ms), rule (why that version counts), licence.
        """
        return self._read_rows(REVIEWS)

    def histories(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yields (note id, its versions as received) for each note whose versions were requested."""
        for row in self._read_rows(HISTORIES):
            yield row["note_id"], row["versions"]

    def papers(self) -> dict[str, dict[str, Any]]:
        """Returns {paper id: its row}: pdf (SHA-256 or None), pdf_problem, pdf_version_status, licence, sampled."""
        return self._paper_rows

    def pdf(self, paper_id: str) -> bytes | None:
        sha256 = self._paper_rows.get(paper_id, {}).get("pdf")
        return self._read_checked_file(self._files_by_name[f"pdfs/{sha256}.pdf"]) if sha256 else None

    def text(self, paper_id: str) -> str | None:
        return self._paper_texts.get(paper_id)

    @cached_property
    def _files_by_name(self) -> dict[str, SnapshotFile]:
        return {file.name: file for file in self.manifest.files}

    @cached_property
    def _paper_rows(self) -> dict[str, dict[str, Any]]:
        return {row["paper_id"]: row for row in self._read_rows(PAPERS)}

    @cached_property
    def _paper_texts(self) -> dict[str, str]:
        if TEXTS not in self._files_by_name:
            return {}
        self._read_checked_file(self._files_by_name[TEXTS])
        return read_paper_texts(self.folder / TEXTS)

    def _read_rows(self, name: str) -> Iterator[dict[str, Any]]:
        if name in self._files_by_name:
            for number, line in enumerate(self._read_checked_file(self._files_by_name[name]).splitlines(), start=1):
                try:
                    yield load_json(line)
                except ValueError as error:
                    raise SourceError(f"snapshot {self.folder}: {name}, line {number} is not JSON: {error}") from None

    def _read_checked_file(self, file: SnapshotFile) -> bytes:
        try:
            data = read_bytes(self.folder / file.name)
        except OSError as error:
            raise SourceError(f"snapshot {self.folder}: {file.name} cannot be read: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise _changed_file_error(self.folder, file.name)
        return data


UNSTATED: Row = {"pdf": None, "pdf_problem": None, "pdf_version_status": "unknown", "licence": None, "sampled": None}
"""What a snapshot records of a paper by default, for example if a user supplies the files."""


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
    """Makes, in *folder*, a snapshot of the raw *notes* of the *edition* with the PDFs and texts of their papers.

    - *pdfs*, *texts*: keyed by paper id. PDFs and texts of papers without a note are counted and left out.
    - *papers*: paper id → a dict with some of the keys of `UNSTATED`. They state facts about the paper's PDF, its
      licence, and whether the paper was sampled. A missing key gets the value in `UNSTATED`.
    - *histories*: {note id: its versions}.
    - *reviews*: the rows of `Snapshot.reviews`. *source*, *remarks*, *counts*, *previous*: as in `Manifest`.
    - *grouped*: whether *notes* are already grouped by paper, each submission first.
    - *link*: whether the PDF files are named by their SHA-256 and never change, so that they can be hard-linked.

    Raises `SourceError` if *folder* exists or cannot be written, or if a PDF cannot be read. With *link*, it is also
    raised if a PDF file's name is not the SHA-256 of its content.
    """
    if folder.exists():
        raise SourceError(f"snapshot {folder} exists already, and a snapshot never changes; name another folder")
    beside = folder.parent / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        (beside / "pdfs").mkdir(parents=True)
        known, count = set[str](), 0

        def counted() -> Iterator[Row]:
            nonlocal count
            for note in notes if grouped else _group_by_forum(notes):
                count += 1
                if is_utf8_text(note.get("id")) and note["id"] == note.get("forum"):
                    known.add(note["id"])
                yield note

        files = [_write_jsonl_file(beside / NOTES, counted())]
        pdf_files, shas = _write_pdfs(beside, {name: path for name, path in pdfs.items() if name in known}, link)
        rows = {paper_id: {**UNSTATED, **papers.get(paper_id, {})} for paper_id in {*shas, *papers} & known}
        put = [{"paper_id": key} | rows[key] | {"pdf": shas.get(key)} for key in sorted(rows)]
        files += [*pdf_files, _write_jsonl_file(beside / PAPERS, put)]
        if histories:
            versions = [{"note_id": key, "versions": list(histories[key])} for key in sorted(histories)]
            files.append(_write_jsonl_file(beside / HISTORIES, versions))
        if chosen := list(reviews):
            files.append(_write_jsonl_file(beside / REVIEWS, chosen))
        if kept := {paper_id: text for paper_id, text in sorted(texts.items()) if paper_id in known}:
            import pandas

            table = pandas.DataFrame({"paper_id": [*kept], "text": [*kept.values()]}, dtype="str")
            data = table.to_parquet(None, index=False)
            (beside / TEXTS).write_bytes(data)
            files.append(_make_file_entry(TEXTS, data))
        left_out = {"pdfs_left_out": len(pdfs.keys() - known), "texts_left_out": len(texts.keys() - known)}
        stated = {"notes": count, "papers": len(known), "pdfs": len(shas), "texts": len(kept)} | left_out
        values = {
            "format": FORMAT,
            "venue": edition.venue,
            "year": edition.year,
            "source": source.encode("utf-8", "replace").decode(),
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "previous": previous,
            "remarks": list(remarks),
            "counts": stated | dict(counts),
            "files": [file.model_dump() for file in files],
            "digest": _digest_file_entries(files),
        }
        manifest = Manifest.model_validate(values | {"files": files, "seal": digest(values)})
        (beside / MANIFEST).write_bytes(manifest.to_json_bytes())
        beside.rename(folder)
    except OSError as error:
        raise SourceError(f"snapshot {folder} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Snapshot(folder, manifest)


def _group_by_forum(notes: Iterable[Row]) -> Iterator[Row]:
    """Yields *notes* grouped by forum, each submission first; forums are in order of first occurrence."""
    forums: dict[object, list[Row]] = {}
    for number, note in enumerate(notes, start=1):
        if not isinstance(note, dict):
            raise SourceError(f"note {number} is not a JSON object")
        forum = note.get("forum")
        forums.setdefault(forum if isinstance(forum, str) else number, []).append(note)
    for forum, members in forums.items():
        yield from sorted(members, key=lambda note: note.get("id") != forum)


def _make_file_entry(name: str, data: bytes) -> SnapshotFile:
    return SnapshotFile(name=name, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def _write_jsonl_file(path: Path, rows: Iterable[Row]) -> SnapshotFile:
    whole, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for row in rows:
            line = (json.dumps(row) + "\n").encode()
            whole.update(line)
            size += file.write(line)
    return SnapshotFile(name=path.name, sha256=whole.hexdigest(), bytes=size)


def _write_pdfs(beside: Path, pdfs: Mapping[str, Path], link: bool) -> tuple[list[SnapshotFile], dict[str, str]]:
    """Writes each distinct PDF into the folder *beside*; returns (entries of the manifest, {paper id: SHA-256})."""
    files, shas = dict[str, SnapshotFile](), dict[str, str]()
    for paper_id, path in sorted(pdfs.items()):
        try:
            data = read_bytes(path)
        except OSError as error:
            raise SourceError(f"the PDF of paper {paper_id!a}, {path}, cannot be read: {error.strerror}") from None
        sha256 = shas[paper_id] = hashlib.sha256(data).hexdigest()
        name = f"pdfs/{sha256}.pdf"
        if link and path.stem != sha256:
            raise SourceError(f"the PDF of paper {paper_id!a}, {path}, is not as it was received; fetch it again")
        if name in files:
            continue
        files[name] = _make_file_entry(name, data)
        if link:
            with suppress(OSError):  # if the file system has no links, or is another one, the file is copied instead
                os.link(path, beside / name)
                continue
        (beside / name).write_bytes(data)
    return [files[name] for name in sorted(files)], shas


def compare_snapshots(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Returns the changes from the snapshot *before* to the snapshot *after*.

    ``since``: the digest of *before*. ``counts``: {event and kind of note, such as "edited Official_Review": how many}.
    ``lines``: one line of text per change.
    """
    old, new = _collect_compared_properties(before.notes()), _collect_compared_properties(after.notes())
    lines: list[str] = []
    counts: Counter[str] = Counter()
    for note_id in sorted(new.keys() | old.keys()):
        was, now = old.get(note_id), new.get(note_id)
        event, more = "", ""
        if was is None:
            event = "new"
        elif now is None:
            event, more = "deleted", ": it is not there any more"
        elif now.deleted and not was.deleted:
            event = "deleted"
        elif now.status != was.status and now.status:
            event = now.status
        elif edits := _describe_changed_fields(was.fields, now.fields):
            event, more = "edited", f": {format_name_list(edits, _SHOWN)}"
        if event and (note := now or was):
            counts[f"{event} {note.kind}"] += 1
            where = "" if note_id == note.forum else f" of paper {note.forum}"
            lines.append(f"{event} {note.kind} {note_id}{where}{more}")
    for paper_id, row in sorted(after.papers().items()):
        was_pdf = before.papers().get(paper_id, {}).get("pdf")
        if row.get("pdf") and was_pdf and row["pdf"] != was_pdf:
            counts["another PDF"] += 1
            lines.append(f"another PDF of paper {paper_id}")
    return {"since": before.digest, "counts": dict(counts), "lines": lines}


class _ComparedProperties(NamedTuple):
    """The properties of a note that are compared. *status*: ``withdrawn``, ``desk_rejected`` or empty.

    *fields*: {name of a field: (hash of its value, and the value if it is short enough for a message)}.
    """

    kind: str
    forum: str
    status: str
    deleted: bool
    fields: dict[str, tuple[str, str | None]]


def _collect_compared_properties(notes: Iterable[Row]) -> dict[str, _ComparedProperties]:
    """Returns id of a note → the properties of it that are compared; notes without an id are left out."""
    results = {}
    for note in notes:
        if not isinstance(note.get("id"), str):
            continue
        fields = {}
        for name, value in (values := unwrap_fields(note)).items():
            sha256 = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
            fields[name] = sha256, (text if len(text := str(value)) <= _SHORT else None)
        marks = [mark.lower() for mark in (*list_invitations(note), str(values.get("venueid") or ""))]
        apart = ("withdrawn", "desk_rejected")
        status = next((kind for kind in apart if any(f"{kind}_" in mark for mark in marks)), "")
        kind = parse_note_kind(find_creating_invitation(note)) if list_invitations(note) else "note"
        results[note["id"]] = _ComparedProperties(
            kind, str(note.get("forum")), status, note.get("ddate") is not None, fields
        )
    return results


def _describe_changed_fields(
    was: Mapping[str, tuple[str, str | None]], now: Mapping[str, tuple[str, str | None]]
) -> list[str]:
    """Returns the changed fields of a note, sorted, each with its old and new value if both are short."""
    edits = []
    for name in sorted({name for name, _ in was.items() ^ now.items()}):
        if name not in was or name not in now:
            edits.append(f"{name} {'removed' if name in was else 'added'}")
        else:
            old, new = was[name][1], now[name][1]
            edits.append(name if old is None or new is None else f"{name} {old!r} → {new!r}")
    return edits


def is_redistributable(licence: str | None) -> bool:
    """Whether *licence* allows anyone to redistribute a text for any purpose, as CC0, CC BY and CC BY-SA do.

    A text without a licence must not be redistributed. Licences that exclude commercial use or changes do not suffice,
    because users of the benchmark may do both.
    """
    return licence is not None and _FREE.fullmatch(licence.strip()) is not None
