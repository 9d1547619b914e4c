"""The append-only journal of a fetch run: an answer in the journal is never requested again.

    <folder>/journal.jsonl     first line: host and API version; then one line per answer
             pages/*.json.gz   the notes of each page as they were received
    <folder>/../pdfs/          PDFs in files named by their SHA-256, shared by all fetch runs

An answer's files are written before its line in the journal, and incomplete lines are ignored. A killed process
therefore loses only the answer that it was storing.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gre_bench.core.errors import LockedError, SourceError
from gre_bench.core.whole_files import put, unwritten
from gre_bench.ingest.openreview.pdf_pool import PdfPool

Note = dict[str, Any]
Kind = Literal["pdf", "history"]
JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of everything in a journal: the URL of a host, and the version of its API (1 or 2)."""

    host: str
    api: int

    def __str__(self) -> str:
        return f"{self.host}, API v{self.api}"


@dataclass(frozen=True, slots=True)
class Listed:
    """The journal's entry for one page of a listing.

    *file*: the file with the page's notes, relative to the journal's folder.
    *notes*: the number of notes on the page.
    *count*: the number of notes in the whole listing, as the service states it; None if it states none.
    *last*: the id of the page's last note, after which the next page begins; None for an empty page.
    *end*: whether this is the listing's last page.
    """

    invitation: str
    file: str
    notes: int
    count: int | None
    last: str | None
    end: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result of requesting a paper's PDF: either *sha256* or *problem* is set.

    *stated*: the name of the PDF in the paper's note; None if the note names none.
    *problem*: why there is no PDF, in words.
    """

    stated: str | None
    sha256: str | None
    problem: str | None = None


class Journal:
    """The journal of a fetch run in *folder*. While the context is open, it is locked against other processes.

    *expected*: the host and API version to fetch from. Opening the journal of another origin raises `SourceError`.
    None: the journal can only be read.
    """

    def __init__(self, folder: Path, expected: Origin | None = None):
        self.folder = folder
        self.expected = expected
        self.origin: Origin | None = None
        self.pages: list[Listed] = []
        self.forums: dict[str, list[Note]] = {}
        self.counted: dict[str, int | None] = {}
        self.histories: dict[str, list[Note]] = {}
        self.pdfs: dict[str, Fetched] = {}
        self.refused: dict[tuple[Kind, str], float] = {}
        self.sealed: list[str] = []
        self._file: int | None = None

    @property
    def pool(self) -> PdfPool:
        """The store of PDFs that all fetch runs share."""
        return PdfPool(self.folder.parent / "pdfs")

    def __enter__(self) -> Journal:
        try:
            (self.folder / "pages").mkdir(parents=True, exist_ok=True)
            self.pool.folder.mkdir(exist_ok=True)
            self._file = os.open(self.folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise SourceError(f"{self.folder} cannot be written: {error.strerror}; choose another --state") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise LockedError(f"{self.folder.name} is being fetched by another process; wait for it to end") from None
        try:
            if self._replay() and self.origin != self.expected:
                raise SourceError(
                    f"{self.folder} is of {self.origin or 'a host that it does not name'}, not of {self.expected}; "
                    "move it away to start again"
                )
        except SourceError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def add_page(self, invitation: str, notes: list[Note], count: int | None, end: bool) -> None:
        """Stores one page of the listing of *invitation*.

        *count*: the number of notes in the whole listing, as the service states it; None if it states none.
        *end*: whether this is the listing's last page.
        """
        name = f"pages/{len(self.pages):06}.json.gz"
        put(self.folder / name, gzip.compress(json.dumps(notes).encode(), compresslevel=3, mtime=0))
        last = str(notes[-1].get("id")) if notes else None
        entry = {"notes": len(notes), "count": count, "last": last, "end": end}
        self._add({"page": {"invitation": invitation, "file": name, **entry}})

    def add_forum(self, forum: str, notes: list[Note], count: int | None = None) -> None:
        """Stores all notes of the forum with the id *forum*, in place of the replies in the listing.

        *count*: the number of notes in the forum, as the service states it; None if it states none.
        """
        self._add({"forum": {"id": forum, "notes": notes, "count": count}})

    def add_history(self, note_id: str, versions: list[Note]) -> None:
        """Stores the versions of the note with the id *note_id*."""
        self._add({"history": {"id": note_id, "versions": versions}})

    def add_pdf(self, paper_id: str, stated: str | None, data: bytes | None, problem: str | None = None) -> None:
        """Stores the PDF of a paper, or the reason why there is none.

        *stated*: the name of the PDF in the paper's note; None if the note names none.
        *data*: the PDF's bytes; None if there is no PDF.
        *problem*: why there is no PDF, in words.
        """
        sha256 = None if data is None else self.pool.keep(data)
        self._add({"pdf": {"paper": paper_id, "stated": stated, "sha256": sha256, "problem": problem}})

    def add_refusal(self, kind: Kind, item: str, at: float) -> None:
        """Records that the service refused an item (403) at the time *at* (epoch seconds).

        *kind*: ``pdf`` or ``history``.
        *item*: the id of the paper whose PDF was refused, or of the note whose versions were refused.
        """
        self._add({"refused": {"kind": kind, "id": item, "at": at}})

    def add_seal(self, digest: str) -> None:
        """Records that the snapshot with this digest was made from the journal."""
        if digest not in self.sealed[-1:]:
            self._add({"seal": digest})

    def drop_damaged(self, papers: Iterable[str]) -> list[str]:
        """Forgets the stored PDF of each of *papers* whose file is missing or damaged; returns the ids of these papers.

        The PDFs are then fetched again. The journal's file does not change.
        """
        kept = {paper: self.pdfs[paper].sha256 for paper in papers if paper in self.pdfs}
        damaged = [paper for paper, sha256 in kept.items() if sha256 and self.pool.read(sha256) is None]
        for paper in damaged:
            del self.pdfs[paper]
        return damaged

    def page_notes(self, page: Listed) -> list[Note]:
        """Returns the notes of *page* as received; raises `SourceError` if the file is missing or damaged."""
        try:
            return json.loads(gzip.decompress((self.folder / page.file).read_bytes()))
        except (OSError, EOFError, ValueError, RecursionError):
            raise SourceError(f"{self.folder / page.file} is damaged; delete {self.folder} and fetch again") from None

    def listing(self, invitation: str) -> list[Listed]:
        """Returns the entries of the stored pages of the listing of *invitation*, in the order of fetching."""
        return [page for page in self.pages if page.invitation == invitation]

    def _add(self, entry: Mapping[str, Any]) -> None:
        if self._file is None or self.expected is None:
            raise ValueError("the journal is not open, or no origin is expected")
        due = [entry] if self.origin else [{"asked": asdict(self.expected)}, entry]
        whole = os.fstat(self._file).st_size
        try:
            _write_all(self._file, "".join(json.dumps(line) + "\n" for line in due).encode())
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, whole)
            raise unwritten(self.folder / JOURNAL, error) from None
        for line in due:
            self._take(line)

    def _replay(self) -> int:
        """Loads all complete lines of the journal's file and cuts off an incomplete last line.

        Returns the remaining length of the file in bytes.
        """
        whole = self._take_all()
        if whole < os.fstat(self._file).st_size:  # type: ignore[arg-type]
            os.ftruncate(self._file, whole)  # type: ignore[arg-type]
        return whole

    def _take_all(self) -> int:
        """Loads all complete lines of the journal's file, and returns the total length of these lines in bytes.

        Raises `SourceError` for a damaged line.
        """
        path, whole, lines = self.folder / JOURNAL, 0, 0
        try:
            with path.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    lines += 1
                    self._take(json.loads(line))
                    whole += len(line)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            problem = f"{path}: line {lines} is damaged and nothing was changed"
            raise SourceError(f"{problem}; restore a copy, or move the folder away to start again") from None
        return whole

    def _take(self, entry: Mapping[str, Any]) -> None:
        if "asked" in entry:
            self.origin = Origin(**entry["asked"])
        elif "page" in entry:
            self.pages.append(Listed(**entry["page"]))
        elif "forum" in entry:
            self.forums[entry["forum"]["id"]] = entry["forum"]["notes"]
            self.counted[entry["forum"]["id"]] = entry["forum"]["count"]
        elif "history" in entry:
            self.histories[entry["history"]["id"]] = entry["history"]["versions"]
            self.refused.pop(("history", entry["history"]["id"]), None)
        elif "refused" in entry:
            refused = entry["refused"]
            self.refused[refused["kind"], refused["id"]] = refused["at"]
        elif "seal" in entry:
            self.sealed.append(entry["seal"])
        elif "pdf" in entry:
            pdf = entry["pdf"]
            self.pdfs[pdf["paper"]] = Fetched(pdf["stated"], pdf["sha256"], pdf["problem"])
            self.refused.pop(("pdf", pdf["paper"]), None)
        else:
            raise ValueError("an entry of no known kind")


def read(folder: Path) -> Journal:
    """Returns the journal in *folder* as it is now, for reading only.

    It takes no lock, so another process may be extending the journal. Raises `SourceError` for a damaged line.
    """
    journal = Journal(folder)
    journal._take_all()
    return journal


def _write_all(handle: int, data: bytes) -> None:
    done = 0
    while done < len(data):
        done += os.write(handle, data[done:])
