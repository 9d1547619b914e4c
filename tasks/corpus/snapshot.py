"""A frozen snapshot of a venue-year: raw notes, PDFs or texts, and a manifest with the SHA-256 of every file.

    <folder>/manifest.json          format, venue, year, source, time, counts, and each file's SHA-256 and bytes
             notes.jsonl            the notes as they were received, one a line, a submission before its replies
             pdfs/<paper id>.pdf    another name for an id that is no safe file name; the manifest tells whose it is
             texts.parquet          paper_id, text: where the user has texts

Written beside and moved into place, never changed after; what is read from it is checked against the manifest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.errors import SourceError
from tasks.records import Edition, digest

FORMAT = 1
MANIFEST, NOTES, TEXTS = "manifest.json", "notes.jsonl", "texts.parquet"

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FILE = r"^(?:notes\.jsonl|texts\.parquet|pdfs/=?[A-Za-z0-9_-]{1,100}\.pdf)$"
_SHA256 = r"^[0-9a-f]{64}$"


class Frozen(BaseModel):
    """A file of a snapshot as it was written; *paper_id* says whose PDF it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=_FILE)
    sha256: str = Field(pattern=_SHA256)
    bytes: int = Field(ge=0)
    paper_id: str | None = None


class Manifest(BaseModel):
    """What ``manifest.json`` holds. *digest* is of the files alone, *seal* of everything else in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[1]
    venue: str
    year: int
    source: str
    created_at: str
    counts: dict[str, int]
    files: list[Frozen]
    digest: str
    seal: str

    def written(self) -> bytes:
        """The bytes of the file."""
        return (json.dumps(self.model_dump(), indent=1) + "\n").encode()

    def is_sound(self) -> bool:
        """Whether digest and seal are those of the contents, and notes are among them."""
        sealed = self.digest == _digest(self.files) and self.seal == digest(self.model_dump(exclude={"seal"}))
        return sealed and any(file.name == NOTES for file in self.files)


@dataclass(frozen=True)
class Snapshot:
    """An open snapshot. Reading a damaged file of it is a `SourceError`."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """The snapshot in *folder*; `SourceError` if it is missing, damaged or of another format.

        Looks at the manifest and at the sizes of the files; `verify` reads them all.
        """
        manifest = _manifest(folder)
        for file in manifest.files:
            path = folder / file.name
            if not path.is_file():
                raise SourceError(f"snapshot {folder}: {file.name} is missing; fetch or import it again")
            if path.stat().st_size != file.bytes:
                raise _changed(folder, file.name)
        return cls(folder, manifest)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the names and hashes of the files: what is in it, not when it was made."""
        return self.manifest.digest

    def verify(self) -> None:
        """Reads every file again; `SourceError` names the first that differs, is missing, or does not belong."""
        if _manifest(self.folder) != self.manifest:
            raise _changed(self.folder, MANIFEST)
        for file in self.manifest.files:
            self._bytes(file)
        known = {MANIFEST, *(file.name for file in self.manifest.files)}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name not in known and not (name == "pdfs" and path.is_dir()):
                raise SourceError(f"snapshot {self.folder}: {name} does not belong to it")

    def notes(self) -> Iterator[dict[str, Any]]:
        """The raw notes, a submission before its replies."""
        for line in self._bytes(self._files[NOTES]).splitlines():
            yield json.loads(line)

    def pdf(self, paper_id: str) -> bytes | None:
        """The PDF of a paper; None if there is none."""
        file = self._pdfs.get(paper_id)
        return self._bytes(file) if file else None

    def text(self, paper_id: str) -> str | None:
        """The text the user gave for a paper; None if there is none."""
        return self._texts.get(paper_id)

    @cached_property
    def _files(self) -> dict[str, Frozen]:
        return {file.name: file for file in self.manifest.files}

    @cached_property
    def _pdfs(self) -> dict[str, Frozen]:
        return {file.paper_id: file for file in self.manifest.files if file.paper_id is not None}

    @cached_property
    def _texts(self) -> dict[str, str]:
        if TEXTS not in self._files:
            return {}
        self._bytes(self._files[TEXTS])
        return read_texts(self.folder / TEXTS)

    def _bytes(self, file: Frozen) -> bytes:
        try:
            data = (self.folder / file.name).read_bytes()
        except OSError as error:
            raise SourceError(f"snapshot {self.folder}: {file.name} cannot be read: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise _changed(self.folder, file.name)
        return data


def make_snapshot(
    folder: Path,
    edition: Edition,
    notes: Iterable[dict[str, Any]],
    *,
    pdfs: Mapping[str, Path] = {},
    texts: Mapping[str, str] = {},
    source: str,
) -> Snapshot:
    """Freezes *notes*, and the PDFs and texts (by paper id) of the papers among them, in *folder*, which must be new.

    PDFs and texts of other papers are counted and left out. `SourceError` if a PDF cannot be read or *folder* is there.
    """
    if folder.exists():
        raise SourceError(f"snapshot {folder} is there already, and a snapshot is never changed; name another folder")
    ordered = _ordered(notes)
    papers = {note["id"] for note in ordered if _is_text(note.get("id")) and note["id"] == note.get("forum")}
    beside = folder.parent / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        (beside / "pdfs").mkdir(parents=True)
        files = [_put(beside, NOTES, "".join(json.dumps(note) + "\n" for note in ordered).encode())]
        files += _put_pdfs(beside, {paper_id: path for paper_id, path in pdfs.items() if paper_id in papers})
        files += _put_texts(beside, {paper_id: text for paper_id, text in texts.items() if paper_id in papers})
        counts = {
            "notes": len(ordered),
            "papers": len(papers),
            "pdfs": len(pdfs.keys() & papers),
            "texts": len(texts.keys() & papers),
            "pdfs_left_out": len(pdfs.keys() - papers),
            "texts_left_out": len(texts.keys() - papers),
        }
        manifest = _sealed(edition, source, counts, files)
        (beside / MANIFEST).write_bytes(manifest.written())
        beside.rename(folder)
    except OSError as error:
        raise SourceError(f"snapshot {folder} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Snapshot(folder, manifest)


def read_notes_file(path: Path) -> list[dict[str, Any]]:
    """The raw notes of *path* (.jsonl or .jsonl.gz), one a line; `SourceError` names the line that is none."""
    return [row for _, row in _json_lines(path)]


def read_texts(path: Path) -> dict[str, str]:
    """Texts by paper id from the columns ``paper_id`` and ``text`` or ``markdown`` of *path* (.parquet, .jsonl).

    A paper whose text is null or blank has none. `SourceError` for a row that cannot be used.
    """
    rows = _parquet(path) if path.suffix == ".parquet" else _json_lines(path)
    texts: dict[str, str] = {}
    for place, row in rows:
        paper_id, text = row.get("paper_id"), row["text"] if "text" in row else row.get("markdown")
        where = f"{path.name}, row {place}"
        if not isinstance(paper_id, str) or not paper_id:
            raise SourceError(f"{where}: paper_id is missing")
        if "text" not in row and "markdown" not in row:
            raise SourceError(f"{where}: paper {paper_id!a:.60} has neither text nor markdown")
        if text is None:
            continue
        if not _is_text(text) or not _is_text(paper_id):
            raise SourceError(f"{where}: the text of paper {paper_id!a:.60} is not valid text")
        if texts.get(paper_id, text) != text:
            raise SourceError(f"{where}: paper {paper_id!a:.60} is there twice, with different texts")
        if text.strip():
            texts[paper_id] = text
    return texts


def _ordered(notes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """*notes* by forum, in the order the forums came, each submission before its replies."""
    forums: dict[object, list[dict[str, Any]]] = {}
    for place, note in enumerate(notes, start=1):
        if not isinstance(note, dict):
            raise SourceError(f"note {place} is not a JSON object")
        forum = note.get("forum")
        forums.setdefault(forum if isinstance(forum, str) else place, []).append(note)
    return [note for forum, those in forums.items() for note in sorted(those, key=lambda note: note.get("id") != forum)]


def _put(beside: Path, name: str, data: bytes, paper_id: str | None = None) -> Frozen:
    (beside / name).write_bytes(data)
    return Frozen(name=name, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data), paper_id=paper_id)


def _put_pdfs(beside: Path, pdfs: Mapping[str, Path]) -> Iterator[Frozen]:
    taken: set[str] = set()
    for paper_id, path in sorted(pdfs.items()):
        name = paper_id
        # Ids differ by case alone at times, and some file systems do not tell such names apart.
        if not _SAFE.fullmatch(paper_id) or paper_id.casefold() in taken:
            name = "=" + hashlib.sha256(paper_id.encode()).hexdigest()
        taken.add(name.casefold())
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SourceError(f"the PDF of paper {paper_id!a}, {path}, cannot be read: {error.strerror}") from None
        yield _put(beside, f"pdfs/{name}.pdf", data, paper_id)


def _put_texts(beside: Path, texts: Mapping[str, str]) -> Iterator[Frozen]:
    if not texts:
        return
    import pandas

    ids = sorted(texts)
    table = pandas.DataFrame({"paper_id": ids, "text": [texts[paper_id] for paper_id in ids]}, dtype="str")
    yield _put(beside, TEXTS, table.to_parquet(None, index=False))


def _sealed(edition: Edition, source: str, counts: dict[str, int], files: list[Frozen]) -> Manifest:
    values = {
        "format": FORMAT,
        "venue": edition.venue,
        "year": edition.year,
        "source": source.encode("utf-8", "replace").decode(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": counts,
        "files": [file.model_dump() for file in files],
        "digest": _digest(files),
    }
    return Manifest(**(values | {"files": files}), seal=digest(values))


def _digest(files: Iterable[Frozen]) -> str:
    return digest([[file.name, file.sha256] for file in files])


def _manifest(folder: Path) -> Manifest:
    try:
        data = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise SourceError(f"no snapshot at {folder}: {MANIFEST} cannot be read: {error.strerror}") from None
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        raise _changed(folder, MANIFEST) from None
    if isinstance(tree, dict) and tree.get("format") != FORMAT:
        raise SourceError(f"snapshot {folder} is of format {tree.get('format')!r:.20}; known is format {FORMAT}")
    try:
        manifest = Manifest.model_validate(tree)
    except ValidationError:
        raise _changed(folder, MANIFEST) from None
    if not manifest.is_sound() or manifest.written() != data:
        raise _changed(folder, MANIFEST)
    return manifest


def _changed(folder: Path, name: str) -> SourceError:
    return SourceError(f"snapshot {folder}: {name} is not as it was written; fetch or import it again")


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise SourceError(f"{path.name}: expected .jsonl or .jsonl.gz, a JSON object a line")
    place = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for place, line in enumerate(lines, start=1):
                if line.strip():
                    yield place, _object(line, f"{path.name}, line {place}")
    except FileNotFoundError:
        raise SourceError(f"no file {path}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path.name} cannot be read after line {place}: {error}") from None


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where} is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise SourceError(f"{where} is not a JSON object")
    return row


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.is_file():
        raise SourceError(f"no file {path}")
    import pandas

    try:
        table = pandas.read_parquet(path, dtype_backend="pyarrow")
    except (OSError, ValueError) as error:  # pyarrow's own errors derive from these
        raise SourceError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}") from None
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return enumerate(rows, start=1)


def _is_text(value: object) -> bool:
    """Whether *value* is a text that can be encoded: JSON may hold half a surrogate pair."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
