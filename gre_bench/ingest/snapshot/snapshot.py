"""A frozen snapshot of a venue-year: raw notes with their versions, PDFs or texts, and the SHA-256 of every file.

    <folder>/manifest.json       format, venue, year, source, time, counts, and each file's SHA-256 and bytes
             notes.jsonl         the notes as they were received, one per line, a submission before its replies
             histories.jsonl     note_id and its versions as they were received, if they were requested
             reviews.jsonl       which version of each review counts, of how many, and by which rule
             papers.jsonl        each paper's PDF, which version that is, its licence, whether it was sampled
             pdfs/<sha256>.pdf   every distinct PDF
             texts.parquet       paper_id, text: if the user has texts

A snapshot never changes once it exists (`gre_bench.ingest.snapshot.making`). Everything that is read from it is checked
against the manifest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.strict import load_json
from gre_bench.ingest.records.source_files import read_texts
from gre_bench.ingest.snapshot.manifest import (
    HISTORIES,
    MANIFEST,
    NOTES,
    PAPERS,
    REVIEWS,
    TEXTS,
    Frozen,
    Manifest,
    changed,
    read_manifest,
)


@dataclass(frozen=True)
class Snapshot:
    """An open snapshot. Methods that read a damaged file of it raise `SourceError`."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Opens the snapshot in *folder*, and checks its manifest and the sizes of its files.

        Raises `SourceError` if the snapshot is missing, damaged or of another format. `verify` checks the whole files.
        """
        manifest = read_manifest(folder)
        for file in manifest.files:
            path = folder / file.name
            linked = path.is_symlink() or (path.parent != folder and path.parent.is_symlink())
            if linked or not path.is_file():
                raise SourceError(f"snapshot {folder}: {file.name} is missing, or a link; fetch or import it again")
            if path.stat().st_size != file.bytes:
                raise changed(folder, file.name)
        return cls(folder, manifest)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the names and hashes of the files; it does not depend on when the snapshot was made."""
        return self.manifest.digest

    def verify(self) -> None:
        """Reads every file again and compares it with the manifest.

        Raises `SourceError` for the first file that differs, is missing, or does not belong to the snapshot. The
        message names that file.
        """
        if read_manifest(self.folder) != self.manifest:
            raise changed(self.folder, MANIFEST)
        for file in self.manifest.files:
            self._bytes(file)
        known = {MANIFEST, *(file.name for file in self.manifest.files)}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name not in known and not (name == "pdfs" and path.is_dir()):
                raise SourceError(f"snapshot {self.folder}: {name} does not belong to it")

    def notes(self) -> Iterator[dict[str, Any]]:
        """Returns the raw notes, a submission before its replies."""
        return self._rows(NOTES)

    def reviewed(self) -> Iterator[dict[str, Any]]:
        """Yields the raw notes, each review with the content of the version that counts (see `reviews`)."""
        from gre_bench.ingest.records.review_versions import versions_of

        due = {review["review_id"]: review["version"] for review in self.reviews() if review["version"] is not None}
        histories = dict(self.histories()) if due else {}
        for note in self.notes():
            if isinstance(note.get("id"), str) and note["id"] in due:
                known = {version.version_id: version for version in versions_of(histories[note["id"]])}
                note = note | {"content": known[due[note["id"]]].content}
            yield note

    def reviews(self) -> Iterator[dict[str, Any]]:
        """Yields a row for each review, which says which version of the review counts.

        Columns: review_id, paper_id, versions (how many there are), version (the id of the one that counts; None for
        the current note), written_at (epoch ms), rule (why that version counts), licence.
        """
        return self._rows(REVIEWS)

    def histories(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yields (note id, the versions of the note as received) for each note whose versions were requested."""
        for row in self._rows(HISTORIES):
            yield row["note_id"], row["versions"]

    def papers(self) -> dict[str, dict[str, Any]]:
        """Returns {paper id: the paper's row in ``papers.jsonl``}.

        The columns are pdf (SHA-256 or None), pdf_problem, pdf_version_status, licence and sampled.
        """
        return self._papers

    def pdf(self, paper_id: str) -> bytes | None:
        """Returns the bytes of a paper's PDF; None if the snapshot has no PDF of the paper."""
        sha256 = self._papers.get(paper_id, {}).get("pdf")
        return self._bytes(self._files[f"pdfs/{sha256}.pdf"]) if sha256 else None

    def text(self, paper_id: str) -> str | None:
        """Returns the user's text of a paper; None if the snapshot has no text of the paper."""
        return self._texts.get(paper_id)

    @cached_property
    def _files(self) -> dict[str, Frozen]:
        return {file.name: file for file in self.manifest.files}

    @cached_property
    def _papers(self) -> dict[str, dict[str, Any]]:
        return {row["paper_id"]: row for row in self._rows(PAPERS)}

    @cached_property
    def _texts(self) -> dict[str, str]:
        if TEXTS not in self._files:
            return {}
        self._bytes(self._files[TEXTS])
        return read_texts(self.folder / TEXTS)

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        if name in self._files:
            for number, line in enumerate(self._bytes(self._files[name]).splitlines(), start=1):
                try:
                    yield load_json(line)
                except ValueError as error:
                    raise SourceError(f"snapshot {self.folder}: {name}, line {number} is not JSON: {error}") from None

    def _bytes(self, file: Frozen) -> bytes:
        try:
            data = read_bytes(self.folder / file.name)
        except OSError as error:
            raise SourceError(f"snapshot {self.folder}: {file.name} cannot be read: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise changed(self.folder, file.name)
        return data
