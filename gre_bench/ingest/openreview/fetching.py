"""Fetches a venue-year in four steps, and stores every answer in a log, the journal, before the next request:

    1. Fetch the listings of submissions with their replies.
    2. If a listing lacks replies to a submission, fetch the submission's forum.
    3. Sample papers as a refresh with the same settings does; fetch their PDFs and the versions of their notes.
    4. Make a snapshot of everything in the journal.

`client` explains listings, forums and notes. Each step continues where the journal ends. `Paused`, an error or a kill
may stop it at any time. An item in the journal is not requested again. A missing item (404) is recorded as permanently
missing. A refused item (403) is requested again by the next call of the command, and many refusals in a row end this
call. The snapshot depends only on the service's answers and the venue's dates. The time and order of the answers and
the number of calls do not matter.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gre_bench.core.errors import Paused, ServiceDown, SettingsError, SourceError
from gre_bench.core.settings import EditionSettings, FetchSettings, Settings
from gre_bench.core.whole_files import build_write_error, write_file
from gre_bench.ingest.openreview import journal as journals
from gre_bench.ingest.openreview.client import BATCH, PAGE, ForbiddenItemError, Login, OpenReview, PdfArchive
from gre_bench.ingest.openreview.journal import (
    ApiHost,
    FetchJournal,
    Kind,
    Note,
    count_listed_notes,
    find_submissions_lacking_replies,
    iter_latest_notes,
)
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.records import versions
from gre_bench.ingest.records.notes import check_review_form, find_note_kind, read_notes, unwrap_fields
from gre_bench.ingest.records.sampling import draw_papers_and_roles
from gre_bench.ingest.records.venues import VenueYear, find_venue_entry
from gre_bench.ingest.snapshot import Snapshot, make_snapshot

EMPTY_PAGES = 3
"""A run stops if it receives this many empty pages in a row before the end of the listing."""
IN_A_ROW = 5
"""After this many refusals in a row, we assume that the service refuses the account or machine, not single items."""
ADVICE = {"pdf": "", "history": ", or do without earlier versions: --set fetch.histories=false"}
NONE = PdfArchive({}, damaged=True)
MISSING, NOT_NAMED, REFUSED = "the service has no PDF of it", "the note names no PDF", "the service refuses it"
STATUS_EVERY_S = 0.2

Stated = tuple[int | None, str | None]
"""(submission number, name of the PDF), as the paper's note states them; None for what it does not state."""
Tell = Callable[[str, str, int, int], None]
"""A function that reports progress: (stage, kind of request, items done, total number of items)."""


@dataclass(frozen=True, slots=True)
class FetchRun:
    """What to fetch, and the folder *state* in which it is stored.

    *run*: the name of the fetch run's folder, such as ``ICLR-2025-0001``. *began*: when the current call of the
    command started (epoch seconds); a fetch run may take several calls.
    """

    settings: Settings
    state: str
    run: str
    began: float

    @property
    def venue(self) -> VenueYear:
        return find_venue_entry(self.settings.edition.venue, self.settings.edition.year)

    @property
    def origin(self) -> ApiHost:
        return resolve_api_host(self.settings)

    @property
    def folder(self) -> Path:
        """The folder of the fetch run with its journal."""
        return locate_budget_file(Path(self.state)).parent / self.run


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """The result of one step of a fetch. *sent*: kind of request → how many were sent.

    *paused_until*: when a paused step may continue (epoch seconds). *message*: why the step paused or stopped, if it
    did.
    """

    sent: dict[str, int] = field(default_factory=dict)
    paused_until: float | None = None
    message: str = ""


def locate_budget_file(state: Path) -> Path:
    """Returns the path of the request budget's file, which all fetch runs in the folder *state* share."""
    return state / "openreview" / "budget.json"


def resolve_api_host(settings: Settings) -> ApiHost:
    """Returns the host and API version to fetch from; raises `SettingsError` if the host is unknown."""
    venue = find_venue_entry(settings.edition.venue, settings.edition.year)
    host = settings.fetch.host or venue.host
    if host is None:
        raise SettingsError(f"no host is known for {venue.name}; name a host: --set fetch.host=http://...")
    return ApiHost(host.rstrip("/").lower(), venue.api)


def choose_fetch_run_folder(settings: Settings, state: Path, again: bool = False) -> Path:
    """Returns the folder of the latest fetch run for *settings*, or a new folder; see `choose_run_folder`."""
    name = f"{settings.edition.venue}-{settings.edition.year}"
    return journals.choose_run_folder(locate_budget_file(state).parent, name, resolve_api_host(settings), again)


def fetch_notes_into_journal(request: FetchRun, secret: Callable[[str], str]) -> FetchOutcome:
    """Fetches all submissions of the venue-year with their replies into the journal.

    The outcome says if the service paused requests before the end. *secret*: a function that returns the secret for a
    reference such as ``env:NAME``.
    """
    with FetchJournal(request.folder, request.origin) as journal:
        if (
            is_listing_complete(journal, request.venue)
            and set(find_submissions_lacking_replies(journal)) <= journal.forums.keys()
        ):
            return FetchOutcome()

        def fetch_listings_and_forums(client: OpenReview, tell: Tell) -> None:
            for invitation in request.venue.listings:
                _fetch_listing(journal, client, request, invitation, tell)
            # The listing left out replies of these submissions.
            forums = find_submissions_lacking_replies(journal)
            due = [forum for forum in forums if forum not in journal.forums]
            for done, forum in enumerate(due, start=len(forums) - len(due) + 1):
                replies = client.fetch_forum(forum)
                journal.add_forum(forum, replies.notes, replies.count)
                tell("forums", "notes", done, len(forums))

        return _run_fetch_parts(request, secret, [fetch_listings_and_forums])


def fetch_papers_into_journal(request: FetchRun, secret: Callable[[str], str]) -> FetchOutcome:
    """Fetches the versions of notes and the PDFs of the sampled papers into the journal.

    If the service pauses requests for versions, requests for PDFs continue, and vice versa. *secret*: as in
    `fetch_notes_into_journal`.
    """
    edition, fetch, began = request.settings.edition, request.settings.fetch, request.began
    with FetchJournal(request.folder, request.origin) as journal:
        if request.venue.unverified and request.settings.sources.unverified_venue == "confirm":
            check_review_form(request.venue, read_notes(iter_latest_notes(journal), request.venue))
        sampled = sample_fetched_papers(journal, request.venue, edition)
        due, papers = list_snapshot_notes_and_papers(journal, request.venue, sampled, fetch.histories)
        journal.forget_damaged_pdfs(sampled.papers)
        if not _select_items_to_request(journal, "history", due, began) and not _select_items_to_request(
            journal, "pdf", papers, began
        ):
            return FetchOutcome()
        runs = journals.list_earlier_journals(request.folder, request.origin)
        known = {paper: fetched for run in runs for paper, fetched in run.pdfs.items()}

        def fetch_histories(client: OpenReview, tell: Tell) -> None:
            def request_history(note_id: str) -> None:
                journal.add_note_versions(note_id, client.fetch_note_versions(note_id))
                tell("versions", "edits", sum(item in journal.histories for item in due), len(due))

            refusals = _RefusalSeries(journal, "history")
            refusals.request_each(_select_items_to_request(journal, "history", due, began), request_history)
            refusals.end_series()

        def fetch_pdfs(client: OpenReview, tell: Tell) -> None:
            for paper_id, (_, stated) in papers.items():
                old = known.get(paper_id)
                if paper_id in journal.pdfs:
                    continue
                if stated is None:
                    journal.add_pdf(paper_id, None, None, NOT_NAMED)
                elif old and old.sha256 and old.stated == stated and (data := journal.pdf(old.sha256)):
                    journal.add_pdf(paper_id, stated, data)
            _fetch_pdfs(journal, client, request, papers, tell)

        return _run_fetch_parts(request, secret, [fetch_histories, fetch_pdfs])


def _run_fetch_parts(
    request: FetchRun, secret: Callable[[str], str], parts: Iterable[Callable[[OpenReview, Tell], None]]
) -> FetchOutcome:
    """Calls the functions *parts* one after another, and returns one outcome for all of them.

    A pause ends only the part in which it occurs; the outcome then states the earliest time at which a pause ends. If
    the service is down, the remaining parts are skipped.
    """
    fetch = request.settings.fetch
    where = fetch.secrets
    login = Login(**{name: secret(place) for name, place in where.items()})
    if login.username and not login.password and not login.token:
        raise SettingsError(
            f"there is a user name ({where['username']}) and no password ({where['password']}); set both"
        )
    if login == Login() and fetch.login.startswith("block:"):
        raise SettingsError(f"there is no {where['username']} and no {where['token']}; make such a Prefect Secret")
    client = _open_session(request.origin, str(locate_budget_file(Path(request.state)).resolve()), login, fetch)
    before, message, written = Counter(client.transport.sent), "", 0.0
    pauses: list[Paused] = []

    def tell(stage: str, kind: str, done: int, total: int) -> None:
        nonlocal written
        if done < total and time.monotonic() - written < STATUS_EVERY_S:
            return
        written = time.monotonic()
        size = {"notes": fetch.page, "attachment": fetch.pdf_batch}.get(kind, 1)
        host = client.host.partition("//")[2]
        left = client.budget.compute_wait_s(f"{host} {kind}", -(-(total - done) // size))
        _write_status(request.folder, stage, done, total, left)

    for work in parts:
        written = 0.0
        try:
            work(client, tell)
        except Paused as pause:
            pauses.append(pause)
        except ServiceDown as error:
            message = str(error)
            break
    sent = dict(client.transport.sent - before)
    if pauses and not message:
        first = min(pauses, key=lambda pause: pause.until)
        _write_status(request.folder, str(first), remaining_s=first.until - time.time())
        return FetchOutcome(sent, first.until, str(first))
    return FetchOutcome(sent, None, message)


@lru_cache(maxsize=4)
def _open_session(origin: ApiHost, budget: str, login: Login, fetch: FetchSettings) -> OpenReview:
    """Returns the session for these arguments; it is cached so that a process logs in only once."""
    return OpenReview(origin.api, origin.host, RequestBudget(Path(budget)), login, fetch)  # type: ignore[arg-type]


def _write_status(folder: Path, stage: str, done: int = 0, total: int = 0, remaining_s: float | None = None) -> None:
    """Writes the progress of the fetch to a file next to its journal, so that other commands can display it."""
    status = {"pid": os.getpid(), "stage": stage, "done": done, "total": total, "remaining_s": remaining_s}
    with suppress(OSError, SourceError):  # a failure to show progress must not stop the fetch
        write_file(folder / "status.json", json.dumps(status).encode(), keep=False)


def is_listing_complete(journal: FetchJournal, venue: VenueYear) -> bool:
    """Whether the journal holds every page of all listings of *venue*."""
    return all((pages := journal.listing(name)) and pages[-1].end for name in venue.listings)


def _fetch_listing(journal: FetchJournal, client: OpenReview, request: FetchRun, invitation: str, tell: Tell) -> None:
    """Fetches the submissions under *invitation* with their replies into the journal.

    Only the listing of withdrawn or desk-rejected submissions may be empty. An empty page before the end is a transient
    fault, so the page is requested again. If all attempts give an empty page, raises `ServiceDown`, unless the settings
    accept a listing with fewer notes than the service counts.
    """
    venue, fetch = request.venue, request.settings.fetch
    required = invitation.rpartition("/-/")[2] in venue.submissions
    pages = journal.listing(invitation)
    seen = {str(note.get("id")) for note in journal.submissions(pages)}
    while not (pages and pages[-1].end):
        count, after = (pages[-1].count, pages[-1].last) if pages else (None, None)
        for attempt in range(1, EMPTY_PAGES + 1):
            page = client.fetch_page(invitation, after, min(fetch.page, PAGE), not required)
            count = count if page.count is None else page.count
            if not page.notes and count is not None and attempt == EMPTY_PAGES - 1 and len(seen) < count:
                # The service no longer counts notes that were deleted since the listing began.
                count = client.fetch_submission_count(invitation)
            if page.notes or (attempt > 1 if count is None else len(seen) >= count):
                break
        else:
            if not fetch.short_listing:
                problem = f"listed {len(seen)} of {count} under {invitation}, then {EMPTY_PAGES} empty pages"
                advice = "run it again later, or accept the shorter listing: --set fetch.short_listing=true"
                raise ServiceDown(f"{client.host}: {problem}; {advice}")
        # pyrefly: ignore[unbound-name]
        fresh = {str(note.get("id")) for note in page.notes} - seen
        if required and not pages and not page.notes:
            raise SourceError(
                f"{client.host} has no submission of {venue.name} ({invitation}): an empty list usually means the host "
                f"of the other API version; {venue.name} is kept by API v{venue.api}, see data/venues.toml"
            )
        if page.notes and not fresh:
            raise SourceError(f"{client.host}: the listing of {invitation} repeats the same notes after {after}")
        seen |= fresh
        journal.add_page(invitation, page.notes, count, not page.notes or (count is not None and len(seen) >= count))
        pages = journal.listing(invitation)
        tell("submissions", "notes", len(seen), max(count or 0, len(seen)))


def _select_items_to_request(journal: FetchJournal, kind: Kind, items: Iterable[str], began: float) -> list[str]:
    """Returns those of *items* that must still be requested.

    *kind*: ``pdf`` if *items* are paper ids, ``history`` if they are note ids. *began*: as in `FetchRun`. Items
    that were refused before *began* come last. Items that are in the journal, or were refused since, are left out.
    """
    known = journal.pdfs if kind == "pdf" else journal.histories
    missing = [item for item in items if item not in known]
    due = [item for item in missing if journal.refused.get((kind, item), 0.0) < began]
    return sorted(due, key=lambda item: (kind, item) in journal.refused)


class _RefusalSeries:
    """The current series of consecutive refusals (403) of one *kind* of item: PDFs or note histories.

    The next item that is not refused ends the series; the refusals are then recorded in the journal. If the series
    reaches `IN_A_ROW` refusals before that, no further item is requested.
    """

    def __init__(self, journal: FetchJournal, kind: Kind):
        self.journal = journal
        self.kind: Kind = kind
        self._count, self._items = 0, list[str]()

    def request_each(self, items: Iterable[str], ask: Callable[[str], None]) -> None:
        """Calls *ask* with each of *items*; a `ForbiddenItemError` from *ask* counts as a refusal.

        Raises `ServiceDown` after `IN_A_ROW` refusals in a row. If earlier runs recorded these refusals already, stops
        without an error instead, and does not request the remaining items.
        """
        for item in items:
            known = (self.kind, item) in self.journal.refused
            if known and self._items:
                self.end_series()
            try:
                ask(item)
            except ForbiddenItemError as error:
                if not known:
                    self.add_refusal(error, item)
                    continue
                self._count += 1
                self.journal.add_refusal(self.kind, item, time.time())
                if self._count >= IN_A_ROW:
                    return
            except Paused:
                self.end_series()
                raise
            else:
                self.end_series()

    def add_refusal(self, error: ForbiddenItemError, item: str | None = None) -> None:
        """Adds one refused request to the series. *item*: the refused item; None if several were requested at once.

        Raises `ServiceDown` if the series reaches `IN_A_ROW` refusals.
        """
        self._count += 1
        self._items += [item] if item is not None else []
        if self._count >= IN_A_ROW:
            problem = f"{self._count} requests in a row were refused, the last with {error}"
            raise ServiceDown(f"{problem}; see what the account may read{ADVICE[self.kind]}, and run it again later")

    def end_series(self) -> None:
        """Ends the current series of refusals, and records each refused item in the journal."""
        for item in self._items:
            self.journal.add_refusal(self.kind, item, time.time())
        self._count, self._items = 0, []


def _fetch_pdfs(
    journal: FetchJournal, client: OpenReview, request: FetchRun, papers: Mapping[str, Stated], tell: Tell
) -> None:
    """Fetches those PDFs of *papers* (id → `Stated`) that must still be requested."""
    kind, batch = ("attachment", min(request.settings.fetch.pdf_batch, BATCH)) if client.api == 2 else ("pdf", 1)
    refusals, archive = _RefusalSeries(journal, "pdf"), NONE

    def add_pdf_to_journal(paper_id: str, data: bytes | None) -> None:
        journal.add_pdf(paper_id, papers[paper_id][1], data, None if data is not None else MISSING)
        tell("PDFs", kind, sum(paper in journal.pdfs for paper in papers), len(papers))

    def request_pdf(paper_id: str) -> None:
        """Requests one PDF; if the archive contained a truncated copy, keeps the longer of the two."""
        copies = (archive.files.get(paper_id), client.fetch_pdf(paper_id))
        add_pdf_to_journal(paper_id, max((data for data in copies if data is not None), key=len, default=None))

    missing = _select_items_to_request(journal, "pdf", papers, request.began)
    refused = [paper_id for paper_id in missing if ("pdf", paper_id) in journal.refused]
    new = missing[: len(missing) - len(refused)]
    for start in range(0, len(new), batch):
        some, archive = new[start : start + batch], NONE
        try:
            # For one paper, the service sends no archive but the PDF. A damaged archive is requested once more.
            for _ in range(2 if len(some) > 1 else 0):
                archive = client.fetch_pdfs({name: papers[name][0] for name in some}) or NONE
                if archive is NONE or not archive.damaged:
                    break
        except ForbiddenItemError as error:
            # The service may refuse a whole archive because of a single PDF, so request the PDFs one by one.
            refusals.add_refusal(error)
        for paper_id in [name for name in some if name in archive.files]:
            data = archive.files[paper_id]
            # A download without a stated length can be truncated without an error.
            if not data.startswith(b"%PDF") or b"%%EOF" in data[-4096:]:
                add_pdf_to_journal(paper_id, data)
                refusals.end_series()
        for paper_id in [name for name in some if archive.complete and name not in archive.files]:
            add_pdf_to_journal(paper_id, None)
        refusals.request_each([name for name in some if name not in journal.pdfs], request_pdf)
    refusals.end_series()
    refusals.request_each(refused, request_pdf)


@dataclass(frozen=True, slots=True)
class SampledPapers:
    """The ids of the sampled *papers*. *notes*: remarks for the user."""

    papers: frozenset[str]
    notes: tuple[str, ...]


def sample_fetched_papers(journal: FetchJournal, venue: VenueYear, edition: EditionSettings) -> SampledPapers:
    """Samples papers from the notes in the journal; raises `SourceError` if that is impossible."""
    records = read_notes(iter_latest_notes(journal), venue)
    drawn = draw_papers_and_roles(records.papers, records.reviews, edition)
    return SampledPapers(frozenset(role.paper_id for role in drawn.roles), tuple(drawn.notes))


def list_snapshot_notes_and_papers(
    journal: FetchJournal, venue: VenueYear, sampled: SampledPapers, histories: bool
) -> tuple[list[str], dict[str, Stated]]:
    """Returns (ids of the notes of which a snapshot needs all versions, {id of a *sampled* paper: `Stated`}).

    *histories*: whether a snapshot needs versions at all. Both include what is in the journal already.
    """
    due_notes, papers = list[str](), dict[str, Stated]()
    for note in iter_latest_notes(journal):
        if note.get("forum") not in sampled.papers:
            continue
        due = find_note_kind(note, venue) in venue.reviews and versions.needs_history(note, venue.rebuttal_ms)
        if note["id"] == note["forum"]:
            number, stated = note.get("number"), unwrap_fields(note).get("pdf")
            number, stated = number if isinstance(number, int) else None, stated if isinstance(stated, str) else None
            papers[note["id"]] = number, stated
            due = due or versions.pdf_needs_history(note, venue.released_ms)
        due_notes += [note["id"]] if due and histories else []
    return due_notes, dict(sorted(papers.items()))


def make_snapshot_from_journal(request: FetchRun) -> dict[str, Any]:
    """Makes a snapshot of everything in the journal; returns the snapshot's folder, digest, counts and remarks.

    If there is already a snapshot with the same contents from the same host, returns that one. Raises `SourceError` if
    the existing snapshot is damaged, or if the new one cannot be written.
    """
    venue, edition, root = request.venue, request.settings.edition, Path(request.state) / "snapshots"
    beside = root / f".sealing-{uuid.uuid4().hex}"
    with FetchJournal(request.folder, request.origin) as journal:
        sampled = sample_fetched_papers(journal, venue, edition)
        remarks = list(_list_snapshot_remarks(request, journal, sampled))
        sealed = journal.sealed or [
            digest for run in journals.list_earlier_journals(request.folder, request.origin) for digest in run.sealed
        ]
        notes = list(iter_latest_notes(journal))
        note_ids = {note["id"] for note in notes}
        reviews, papers = (
            list(_choose_review_versions(notes, journal, venue)),
            _collect_paper_entries(notes, journal, venue, sampled),
        )
        shas = {name: fetched.sha256 for name, fetched in journal.pdfs.items() if name in sampled.papers}
        try:
            root.mkdir(parents=True, exist_ok=True)
            made = make_snapshot(
                beside,
                edition.edition,
                notes,
                pdfs={name: journal.locate_pdf_file(sha256) for name, sha256 in shas.items() if sha256},
                papers=papers,
                histories={name: fetched for name, fetched in journal.histories.items() if name in note_ids},
                reviews=reviews,
                source=f"openreview: {journal.origin}",
                previous=sealed[-1] if sealed else None,
                remarks=remarks,
                counts=_count_snapshot_notes(notes, journal, venue, sampled, papers, reviews),
                grouped=True,
                link=True,
            )
            made = _rename_snapshot(made, f"{venue.venue}-{venue.year}-{made.digest[:12]}")
        except OSError as error:
            raise build_write_error(root, error) from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        journal.record_snapshot_digest(made.digest)
    _write_status(request.folder, "sealed")
    stated = made.manifest
    return {"snapshot": str(made.folder), "digest": made.digest, "counts": stated.counts, "remarks": stated.remarks}


def _rename_snapshot(made: Snapshot, name: str) -> Snapshot:
    """Renames the folder of the snapshot *made* to *name*, with a number if that name is taken; returns the snapshot.

    If a snapshot with the same contents from the same host has such a name, returns that one instead.
    """
    folder = root = made.folder.parent
    # Equal contents from another host form another snapshot, because a snapshot states its host.
    for folder in (root / name, *(root / f"{name}-{number}" for number in range(2, 1000))):
        if not folder.is_dir():
            made.folder.rename(folder)
            break
        try:
            snapshot = Snapshot.open(folder)
            snapshot.verify()
        except SourceError as error:
            raise SourceError(f"{error}: move that folder away, and the same command makes it anew") from None
        if snapshot.manifest.source == made.manifest.source:
            break
    return Snapshot.open(folder)


def _list_snapshot_remarks(request: FetchRun, journal: FetchJournal, sampled: SampledPapers) -> Iterator[str]:
    venue, host = request.venue, request.origin.host
    if venue.host != host:
        yield f"fetched from {host}, which is not the venue's own host"
    if venue.unverified:
        yield venue.unverified
    yield from sampled.notes
    for name in venue.listings:
        listed, count = count_listed_notes(journal, name)
        if listed < count:
            yield f"listed {listed} of {count} that the service counts under {name}"
    if refused := Counter(kind for kind, _ in journal.refused):
        due = f"{refused['pdf']} PDFs and the versions of {refused['history']} notes"
        yield f"refused (403), to be requested again by the next fetch: {due}"


def _choose_review_versions(notes: Iterable[Note], journal: FetchJournal, venue: VenueYear) -> Iterator[Note]:
    for note in notes:
        if find_note_kind(note, venue) in venue.reviews:
            refused = () if ("history", note["id"]) in journal.refused else None
            chosen = versions.choose_version(note, journal.histories.get(note["id"], refused), venue.rebuttal_ms)
            yield {
                "review_id": note["id"],
                "paper_id": note.get("forum"),
                "versions": chosen.versions,
                "version": chosen.version_id,
                "written_at": chosen.written_at,
                "rule": chosen.rule,
                "licence": _read_licence(note),
            }


def _collect_paper_entries(
    notes: Iterable[Note], journal: FetchJournal, venue: VenueYear, sampled: SampledPapers
) -> dict[str, Note]:
    decided = {}
    for note in notes:
        if find_note_kind(note, venue) in venue.decisions:
            value = unwrap_fields(note).get(venue.decision)
            made = note.get("tcdate") or note.get("cdate")
            accepted = isinstance(value, str) and value.lower().startswith("accept")
            decided[note["forum"]] = made if accepted and isinstance(made, int) else None
    rows = {}
    for note in notes:
        if (name := note["id"]) == note.get("forum"):
            fetched, history = journal.pdfs.get(name), journal.histories.get(name)
            rows[name] = {
                "pdf_problem": fetched.problem if fetched else REFUSED if ("pdf", name) in journal.refused else None,
                "pdf_version_status": versions.find_pdf_version_status(
                    note, history, venue.released_ms, decided.get(name)
                ),
                "licence": _read_licence(note),
                "sampled": name in sampled.papers,
            }
    return rows


def _read_licence(note: Note) -> str | None:
    return note["license"] if isinstance(note.get("license"), str) else None


def _count_snapshot_notes(
    notes: list[Note],
    journal: FetchJournal,
    venue: VenueYear,
    sampled: SampledPapers,
    papers: Mapping[str, Any],
    reviews: list[Note],
) -> dict[str, int]:
    outcomes = read_notes(notes, venue).counts
    mine = [papers[name] for name in sampled.papers]
    listed = [count_listed_notes(journal, name) for name in venue.listings]
    rules = Counter(f"reviews_{row['rule']}" for row in reviews if row["paper_id"] in sampled.papers)
    statuses = Counter(f"pdf_{row['pdf_version_status']}" for row in mine)
    return {
        **{f"outcome_{name}": count for name, count in outcomes.items() if name != "notes"},
        **dict(sorted(rules.items())),
        **dict(sorted(statuses.items())),
        "listed": sum(count for count, _ in listed),
        "listed_by_service": sum(count for _, count in listed),
        "received_again": journals.count_repeated_notes(journal),
        "replies_not_shown": journals.count_hidden_replies(journal),
        "sampled": len(sampled.papers),
        "pdf_problems": sum(row["pdf_problem"] is not None for row in mine),
        "pdf_refused": sum(row["pdf_problem"] == REFUSED for row in mine),
    }
