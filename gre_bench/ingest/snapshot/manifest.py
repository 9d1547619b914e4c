"""The manifest of a snapshot: what the snapshot holds, each file's SHA-256, and a seal (a hash of all the rest)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import Edition, digest

FORMAT = 2
MANIFEST, NOTES, PAPERS, TEXTS = "manifest.json", "notes.jsonl", "papers.jsonl", "texts.parquet"
HISTORIES, REVIEWS = "histories.jsonl", "reviews.jsonl"

_FILE = r"^(?:(?:notes|papers|histories|reviews)\.jsonl|texts\.parquet|pdfs/[0-9a-f]{64}\.pdf)$"
_SHA256 = r"^[0-9a-f]{64}$"


class Frozen(BaseModel):
    """A file of a snapshot: its name, SHA-256 and size in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=_FILE)
    sha256: str = Field(pattern=_SHA256)
    bytes: int = Field(ge=0)


class Manifest(BaseModel):
    """The contents of ``manifest.json``.

    - *format*: the version of the format of snapshots.
    - *source*: where the notes came from.
    - *created_at*: when the snapshot was made, in ISO 8601.
    - *previous*: the digest of the preceding snapshot of the same venue-year; None if there is none.
    - *remarks*: warnings for readers, such as that the form of the notes is unverified.
    - *counts*: how many notes, papers, PDFs and texts there are, and further counts.
    - *files*: all files of the snapshot except ``manifest.json``.
    - *digest*: a hash of the names and hashes of these files.
    - *seal*: a hash of all other fields of the manifest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[2]
    venue: str
    year: int
    source: str
    created_at: str
    previous: str | None = None
    remarks: list[str] = []
    counts: dict[str, int]
    files: list[Frozen]
    digest: str
    seal: str

    def written(self) -> bytes:
        """Returns the manifest as the bytes of ``manifest.json``."""
        return (json.dumps(self.model_dump(), indent=1) + "\n").encode()

    def is_sound(self) -> bool:
        """Whether digest and seal match the rest of the manifest, and the files include the notes."""
        sealed = self.digest == digest_of(self.files) and self.seal == digest(self.model_dump(exclude={"seal"}))
        return sealed and any(file.name == NOTES for file in self.files)


def sealed(
    edition: Edition,
    source: str,
    counts: dict[str, int],
    files: list[Frozen],
    previous: str | None = None,
    remarks: Sequence[str] = (),
) -> Manifest:
    """Returns a manifest with the present time, the digest of *files*, and the seal.

    All arguments are as in `Manifest`; *edition* gives venue and year.
    """
    values = {
        "format": FORMAT,
        "venue": edition.venue,
        "year": edition.year,
        "source": source.encode("utf-8", "replace").decode(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "previous": previous,
        "remarks": list(remarks),
        "counts": counts,
        "files": [file.model_dump() for file in files],
        "digest": digest_of(files),
    }
    return Manifest.model_validate(values | {"files": files, "seal": digest(values)})


def read_manifest(folder: Path) -> Manifest:
    """Returns the manifest of the snapshot in *folder*.

    Raises `SourceError` if the manifest is missing, damaged or of another format.
    """
    try:
        data = read_bytes(folder / MANIFEST)
    except OSError as error:
        raise SourceError(f"no snapshot at {folder}: {MANIFEST} cannot be read: {error.strerror}") from None
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        raise changed(folder, MANIFEST) from None
    if isinstance(tree, dict) and tree.get("format") != FORMAT:
        raise SourceError(f"snapshot {folder} is of format {tree.get('format')!r:.20}; known is format {FORMAT}")
    try:
        manifest = Manifest.model_validate(tree)
    except ValidationError:
        raise changed(folder, MANIFEST) from None
    if not manifest.is_sound() or manifest.written() != data:
        raise changed(folder, MANIFEST)
    return manifest


def digest_of(files: Iterable[Frozen]) -> str:
    """Returns the SHA-256 (hex) over the names and hashes of *files*."""
    return digest([[file.name, file.sha256] for file in files])


def changed(folder: Path, name: str) -> SourceError:
    """Returns the error to raise if the file *name* of the snapshot in *folder* has changed."""
    return SourceError(f"snapshot {folder}: {name} is not as it was written; fetch or import it again")
