"""Stores the answers of a fetch run in an append-only log, the journal, so that no answer is requested twice.

A fetch run is the fetch of one venue-year from one host; it may take several calls of the command.

    <folder>/journal.jsonl     first line: host and API version; then one line per answer
             pages/*.json.gz   the notes of each page as received
    <folder>/../pdfs/          PDFs in files that are named by their SHA-256 and never change; all fetch runs share
                               these files, and snapshots link to them

The files of an answer are written before its line in the journal, and incomplete lines are ignored. A killed process
therefore loses only the answer that it was storing.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import lock_descriptor

from gre_bench.core.errors import LockedError, SourceError
from gre_bench.core.whole_files import READ_ONLY, build_write_error, write_file

Note = dict[str, Any]
Kind = Literal["pdf", "history"]
JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class ApiHost:
    """Where everything in a journal was fetched from: the URL of a host, and the version of its API."""

    host: str
    api: int

    def __str__(self) -> str:
        return f"{self.host}, API v{self.api}"


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of a listing (all submissions under one invitation). *file*: its path in the journal's folder.

    *notes*: how many notes it has. *count*: the number of notes in the whole listing; None if the service states none.
    *last*: the id of the page's last note; None for an empty page. *end*: whether it is the last page.
    """

    invitation: str
    file: str
    notes: int
    count: int | None
    last: str | None
    end: bool


@dataclass(frozen=True, slots=True)
class FetchedPdf:
    """The PDF of a paper. *stated*: its name in the paper's note; None if the note names none.

    *sha256*: the hash of the PDF; None if there is none. *problem*: why there is none, in words.
    """

    stated: str | None
    sha256: str | None
    problem: str | None = None


class FetchJournal:
    """The journal of a fetch run in *folder*. It is locked against other processes while its context is open.

    *expected*: the host and API version to fetch from; None if the journal is only read. Entering the context of a
    journal with another host or version raises `SourceError`.
    """

    def __init__(self, folder: Path, expected: ApiHost | None = None):
        self.folder = folder
        self.expected = expected
        self.origin: ApiHost | None = None
        self.pages: list[ListedPage] = []
        self.forums: dict[str, list[Note]] = {}
        self.counted: dict[str, int | None] = {}
        self.histories: dict[str, list[Note]] = {}
        self.pdfs: dict[str, FetchedPdf] = {}
        self.refused: dict[tuple[Kind, str], float] = {}
        self.sealed: list[str] = []
        self._file: int | None = None

    def __enter__(self) -> FetchJournal:
        try:
            (self.folder / "pages").mkdir(parents=True, exist_ok=True)
            self.locate_pdf_file("").parent.mkdir(exist_ok=True)
            self._file = os.open(self.folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise SourceError(f"{self.folder} cannot be written: {error.strerror}; choose another --state") from None
        if not lock_descriptor(self._file, blocking=False):
            self.__exit__()
            raise LockedError(f"{self.folder.name} is being fetched by another process; wait for it to end") from None
        try:
            whole = self._load_all_entries()
            if whole < os.fstat(self._file).st_size:
                os.ftruncate(self._file, whole)  # an incomplete last line
            if whole and self.origin != self.expected:
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
        """Stores one page of a listing (see `ListedPage`)."""
        name = f"pages/{len(self.pages):06}.json.gz"
        write_file(self.folder / name, gzip.compress(json.dumps(notes).encode(), compresslevel=3, mtime=0))
        last = str(notes[-1].get("id")) if notes else None
        entry = {"notes": len(notes), "count": count, "last": last, "end": end}
        self._append_entry({"page": {"invitation": invitation, "file": name, **entry}})

    def add_forum(self, forum: str, notes: list[Note], count: int | None = None) -> None:
        """Stores all notes of a forum; they replace the replies from the listing.

        *count*: how many notes the forum has, if the service states it.
        """
        self._append_entry({"forum": {"id": forum, "notes": notes, "count": count}})

    def add_note_versions(self, note_id: str, versions: list[Note]) -> None:
        """Stores all versions of a note, and discards an earlier refusal."""
        self._append_entry({"history": {"id": note_id, "versions": versions}})

    def add_pdf(self, paper_id: str, stated: str | None, data: bytes | None, problem: str | None = None) -> None:
        """Stores the PDF of a paper, or why there is none (see `FetchedPdf`). Replaces a damaged copy."""
        sha256 = None if data is None else hashlib.sha256(data).hexdigest()
        if data is not None and sha256 is not None and self.pdf(sha256) is None:
            write_file(self.locate_pdf_file(sha256), data, READ_ONLY)
        self._append_entry({"pdf": {"paper": paper_id, "stated": stated, "sha256": sha256, "problem": problem}})

    def add_refusal(self, kind: Kind, item: str, at: float) -> None:
        """Records that the service refused (403) the PDF of a paper or the versions of a note. *at*: epoch seconds."""
        self._append_entry({"refused": {"kind": kind, "id": item, "at": at}})

    def record_snapshot_digest(self, digest: str) -> None:
        """Records that the snapshot with this digest was made from the journal."""
        if digest not in self.sealed[-1:]:
            self._append_entry({"seal": digest})

    def locate_pdf_file(self, sha256: str) -> Path:
        """Returns the path of the PDF with this hash, whether or not the file exists."""
        return self.folder.parent / "pdfs" / f"{sha256}.pdf"

    def pdf(self, sha256: str) -> bytes | None:
        """Returns the PDF with this hash; None if the file is missing or damaged."""
        try:
            data = self.locate_pdf_file(sha256).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def forget_damaged_pdfs(self, papers: Iterable[str]) -> None:
        """Forgets those stored PDFs of *papers* that are missing or damaged, so that they are fetched again."""
        for paper in papers:
            if paper in self.pdfs and (sha256 := self.pdfs[paper].sha256) and self.pdf(sha256) is None:
                del self.pdfs[paper]

    def listing(self, invitation: str) -> list[ListedPage]:
        return [page for page in self.pages if page.invitation == invitation]

    def submissions(self, pages: Iterable[ListedPage] | None = None) -> Iterator[Note]:
        """Yields the notes of *pages* (None: all pages) as received; raises `SourceError` for a damaged file."""
        for page in self.pages if pages is None else pages:
            path = self.folder / page.file
            try:
                yield from json.loads(gzip.decompress(path.read_bytes()))
            except (OSError, EOFError, ValueError, RecursionError):
                raise SourceError(f"{path} is damaged; delete {self.folder} and fetch again") from None

    def _append_entry(self, entry: Mapping[str, Any]) -> None:
        if self._file is None or self.expected is None:
            raise ValueError("the journal is not open, or no host is expected")
        due = [entry] if self.origin else [{"asked": asdict(self.expected)}, entry]
        data = "".join(json.dumps(line) + "\n" for line in due).encode()
        whole, done = os.fstat(self._file).st_size, 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, whole)
            raise build_write_error(self.folder / JOURNAL, error) from None
        for line in due:
            self._load_entry(line)

    def _load_all_entries(self) -> int:
        """Loads all complete lines and returns their length in bytes; raises `SourceError` for a damaged line."""
        path, whole, lines = self.folder / JOURNAL, 0, 0
        try:
            with path.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    lines += 1
                    self._load_entry(json.loads(line))
                    whole += len(line)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            problem = f"{path}: line {lines} is damaged and nothing was changed"
            raise SourceError(f"{problem}; restore a copy, or move the folder away to start again") from None
        return whole

    def _load_entry(self, entry: Mapping[str, Any]) -> None:
        match entry:
            case {"asked": origin}:
                self.origin = ApiHost(**origin)
            case {"page": page}:
                self.pages.append(ListedPage(**page))
            case {"forum": {"id": forum, "notes": notes, "count": count}}:
                self.forums[forum], self.counted[forum] = notes, count
            case {"history": {"id": note_id, "versions": versions}}:
                self.histories[note_id] = versions
                self.refused.pop(("history", note_id), None)
            case {"refused": {"kind": kind, "id": item, "at": at}}:
                self.refused[kind, item] = at
            case {"seal": digest}:
                self.sealed.append(digest)
            case {"pdf": {"paper": paper, "stated": stated, "sha256": sha256, "problem": problem}}:
                self.pdfs[paper] = FetchedPdf(stated, sha256, problem)
                self.refused.pop(("pdf", paper), None)
            case _:
                raise ValueError("an entry of no known kind")


def open_journal_read_only(folder: Path) -> FetchJournal:
    """Returns the journal in *folder* as it is now, for reading only; another process may be extending it."""
    journal = FetchJournal(folder)
    journal._load_all_entries()
    return journal


def iter_latest_notes(journal: FetchJournal) -> Iterator[Note]:
    """Yields every note once, in its latest state; each submission comes before its replies."""
    newest: dict[str, tuple[int, int]] = {}
    for index, note in enumerate(_iter_received_notes(journal)):
        if isinstance(note.get("id"), str):
            dates = [date for name in ("tmdate", "mdate", "tcdate") if isinstance(date := note.get(name), int)]
            newest[note["id"]] = max(newest.get(note["id"], (-1, 0)), (max(dates, default=0), -index))
    for index, note in enumerate(_iter_received_notes(journal)):
        if not isinstance(note.get("id"), str) or newest[note["id"]][1] == -index:
            yield note


def count_repeated_notes(journal: FetchJournal) -> int:
    """Returns the number of repeated notes: notes received, minus distinct note ids."""
    ids = [note.get("id") for note in _iter_received_notes(journal)]
    return len(ids) - len(set(map(str, ids)))


def count_listed_notes(journal: FetchJournal, invitation: str) -> tuple[int, int]:
    """Returns (distinct notes received, notes that the service counts) for the listing of *invitation*.

    The service's count is the latest one; 0 if the service states none.
    """
    pages = journal.listing(invitation)
    ids = {str(note.get("id")) for note in journal.submissions(pages)}
    return len(ids), (pages[-1].count or 0) if pages else 0


def find_submissions_lacking_replies(journal: FetchJournal) -> tuple[str, ...]:
    """Returns the ids of the submissions for which the listing did not contain all replies."""
    incomplete = {}
    for note in journal.submissions():
        details, stated = _read_submission_details(note)
        if not isinstance(replies := details.get("replies"), list) or stated > len(replies):
            incomplete[str(note.get("id"))] = None
    return tuple(incomplete)


def count_hidden_replies(journal: FetchJournal) -> int:
    """Returns how many replies the service counts but does not show, in all forums that `add_forum` stored."""
    stated = {str(note.get("id")): _read_submission_details(note)[1] for note in journal.submissions()}
    return sum(
        max(0, (journal.counted[forum] or 0) - len(notes), stated.get(forum, 0) - (len(notes) - 1))
        for forum, notes in journal.forums.items()
    )


def _read_submission_details(note: Note) -> tuple[Note, int]:
    """Returns (the details of the submission *note*, the number of replies that they state; 0 if they state none)."""
    details = note["details"] if isinstance(note.get("details"), dict) else {}
    count = details.get("replyCount")
    return details, count if isinstance(count, int) else 0


def _iter_received_notes(journal: FetchJournal) -> Iterator[Note]:
    """Yields all received notes, including repeated ones: each submission of a listing, then its replies by date."""
    for note in journal.submissions():
        details, _ = _read_submission_details(note)
        whole = journal.forums.get(str(note.get("id")))
        replies = details.get("replies") or [] if whole is None else whole
        rest = {name: value for name, value in details.items() if name not in ("replies", "directReplies")}
        submission = {name: value for name, value in note.items() if name != "details"}
        yield submission | ({"details": rest} if rest else {})
        for reply in sorted(replies, key=_build_creation_sort_key):
            if reply.get("id") != note.get("id"):
                yield reply


def _build_creation_sort_key(note: Note) -> tuple[int, str]:
    date = note.get("tcdate") or note.get("cdate")
    return date if isinstance(date, int) else 0, str(note.get("id"))


def list_run_folders(root: Path, name: str) -> list[Path]:
    """Returns the folders of fetch runs under *root* (``<name>-0001``, ``<name>-0002`` and so on), oldest first."""
    return sorted(path for path in root.glob(f"{name}-[0-9][0-9][0-9][0-9]") if (path / JOURNAL).is_file())


def read_api_host(run: Path) -> ApiHost | None:
    """Returns the host and API version that the journal in the folder *run* states; None if it states none."""
    with (run / JOURNAL).open("rb") as file:
        line = file.readline()
    try:
        return ApiHost(**json.loads(line)["asked"]) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def choose_run_folder(root: Path, name: str, origin: ApiHost, again: bool = False) -> Path:
    """Returns the folder of the latest fetch run of *name* (``<venue>-<year>``) from *origin*, or a new folder.

    *origin*: the host and API version. The folder is new if there is no such run yet, or if *again* is set and the
    latest run has led to a snapshot. A journal that states no host counts as one from *origin*, so that opening it
    raises an error that says what is wrong.
    """
    known = list_run_folders(root, name)
    mine = [path for path in known if read_api_host(path) in (origin, None)]
    if mine and not (again and open_journal_read_only(mine[-1]).sealed):
        return mine[-1]
    last = int(known[-1].name.rpartition("-")[2]) if known else 0
    return root / f"{name}-{last + 1:04}"


def list_earlier_journals(run: Path, origin: ApiHost) -> list[FetchJournal]:
    """Returns the journals of the fetch runs before *run* with its venue-year, host and API version, oldest first."""
    known = list_run_folders(run.parent, run.name.rpartition("-")[0])
    return [open_journal_read_only(path) for path in known if path.name < run.name and read_api_host(path) == origin]
