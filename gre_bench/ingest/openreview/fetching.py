"""Fetches a venue-year, and stores every answer in the journal before the next request.

    1. listings of submissions with their replies
    2. forums of submissions whose replies the listing left out
    3. versions and PDFs of the sampled papers
    4. the snapshot of everything in the journal (`sealing`)

Each step continues where the journal ends, and may be stopped at any time by `Paused`, an error or a kill. An item in
the journal is not requested again. A missing item (404) is recorded as missing for good. A refused item (403) is
requested again by the next run, and many refusals in a row end this run.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gre_bench.core.errors import Paused, ServiceDown, SettingsError, SourceError
from gre_bench.core.settings import FetchSettings, Settings
from gre_bench.core.whole_files import put
from gre_bench.ingest.openreview.client import BATCH, PAGE, Archive, Forbidden, Login, OpenReview, RetryPolicy
from gre_bench.ingest.openreview.journal import Journal, Kind, Origin, earlier, lacking, listed_of, received, run_for
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.openreview.sealing import needs_of, sample_of, seal
from gre_bench.ingest.records.notes import confirm_form, read_notes
from gre_bench.ingest.records.venues import Venue, venue_of

SECRETS = ("username", "password", "token", "mfa_code", "totp_secret")
EMPTY_PAGES = 3
"""Number of empty pages in a row, before the counted end, after which a run stops."""
IN_A_ROW = 5
"""This many refusals in a row mean that the account or the machine is refused, not single items."""
ADVICE = {"pdf": "", "history": ", or do without earlier versions: --set fetch.histories=false"}
NONE = Archive({}, damaged=True)
MISSING, NOT_NAMED = "the service has no PDF of it", "the note names no PDF"
STATUS = "status.json"
STATUS_EVERY_S = 0.2

Advance = Callable[[int, int], None]
"""Receives progress: the amount done and the total."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What a fetch gets and where it stores the answers.

    *state*: the folder that keeps everything a run makes.
    *run*: the name of the fetch run's folder, such as ``ICLR-2025-0001``.
    *began*: when this run of the fetch started (epoch seconds).
    """

    settings: Settings
    state: str
    run: str
    began: float

    @property
    def venue(self) -> Venue:
        """The catalogue entry of the venue-year (``data/venues.toml``)."""
        return venue_of(self.settings.edition.venue, self.settings.edition.year)

    @property
    def origin(self) -> Origin:
        """The host and API version to fetch from; raises `SettingsError` if no host is named."""
        return origin(self.settings)

    @property
    def folder(self) -> Path:
        """The folder of the fetch run, which holds its journal."""
        return budget_file(Path(self.state)).parent / self.run


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """The result of one step of a fetch.

    *sent*: kind of request → number of requests. *paused_until*: when a paused step may continue (epoch seconds).
    *message*: why the step paused or stopped; empty if it finished.
    """

    sent: dict[str, int] = field(default_factory=dict)
    paused_until: float | None = None
    message: str = ""


def budget_file(state: Path) -> Path:
    """Returns the path of the request budget's file in the folder *state*; all fetch runs share this file."""
    return state / "openreview" / "budget.json"


def origin(settings: Settings) -> Origin:
    """Returns the host and API version to fetch from.

    Raises `SettingsError` if neither the settings nor the venue's entry names a host.
    """
    venue = venue_of(settings.edition.venue, settings.edition.year)
    host = settings.fetch.host or venue.host
    if host is None:
        raise SettingsError(f"no host is known for {venue.name}; name a host: --set fetch.host=http://...")
    return Origin(host.rstrip("/").lower(), venue.api)


def fetch_run(settings: Settings, state: Path, again: bool = False) -> Path:
    """Returns the folder of the fetch run that *settings* continue, or of a new one.

    *state*: the folder that keeps everything a run makes.
    *again*: return a new folder if the latest fetch run has already made its snapshot.
    """
    name = f"{settings.edition.venue}-{settings.edition.year}"
    return run_for(budget_file(state).parent, name, origin(settings), again)


def bring_notes(request: FetchRequest, secret: Callable[[str], str]) -> FetchOutcome:
    """Fetches all submissions of the venue-year with their replies into the journal, as far as the service allows.

    *secret*: takes a reference such as ``env:NAME`` and returns the secret's value.
    """
    with Journal(request.folder, request.origin) as journal:
        if is_listed(journal, request.venue) and set(lacking(journal)) <= journal.forums.keys():
            return FetchOutcome()

        def notes(client: OpenReview, advance_of: Callable[[str, str], Advance]) -> None:
            advance = advance_of("submissions", "notes")
            for invitation in request.venue.listings:
                _fetch_listing(journal, client, request, invitation, advance)
            # The listing left out replies of these submissions.
            forums, advance = lacking(journal), advance_of("forums", "notes")
            due = [forum for forum in forums if forum not in journal.forums]
            for done, forum in enumerate(due, start=len(forums) - len(due) + 1):
                replies = client.forum(forum)
                journal.add_forum(forum, replies.notes, replies.count)
                advance(done, len(forums))

        return _run_parts(request, secret, [notes])


def bring_papers(request: FetchRequest, secret: Callable[[str], str]) -> FetchOutcome:
    """Fetches the versions of notes and the PDFs of the sampled papers into the journal, as far as the service allows.

    If the service pauses requests for versions, requests for PDFs continue, and vice versa. *secret*: as in
    `bring_notes`.
    """
    edition, fetch, began = request.settings.edition, request.settings.fetch, request.began
    with Journal(request.folder, request.origin) as journal:
        if request.venue.unverified and request.settings.sources.unverified_venue == "confirm":
            confirm_form(request.venue, read_notes(received(journal), request.venue))
        sampled = sample_of(journal, request.venue, edition, fetch.everything)
        needs = needs_of(journal, request.venue, sampled, fetch.histories)
        journal.drop_damaged(sampled.wanted)
        papers = [paper_id for paper_id, _, _ in needs.pdfs]
        if not _due(journal, "history", needs.histories, began) and not _due(journal, "pdf", papers, began):
            return FetchOutcome()
        known = {
            paper: fetched for run in earlier(request.folder, request.origin) for paper, fetched in run.pdfs.items()
        }

        def histories(client: OpenReview, advance_of: Callable[[str, str], Advance]) -> None:
            advance = advance_of("versions", "edits")

            def ask(note_id: str) -> None:
                journal.add_history(note_id, client.history(note_id))
                advance(sum(item in journal.histories for item in needs.histories), len(needs.histories))

            refusals = _Refusals(journal, "history")
            refusals.each(_due(journal, "history", needs.histories, began), ask)
            refusals.end()

        def pdfs(client: OpenReview, advance_of: Callable[[str, str], Advance]) -> None:
            advance = advance_of("PDFs", "pdf" if client.api == 1 else "attachment")
            for paper_id, _, stated in needs.pdfs:
                if paper_id in journal.pdfs:
                    continue
                old = known.get(paper_id)
                if stated is None:
                    journal.add_pdf(paper_id, None, None, NOT_NAMED)
                elif old and old.sha256 and old.stated == stated and (data := journal.pool.read(old.sha256)):
                    journal.add_pdf(paper_id, stated, data)
            batch = min(fetch.pdf_batch, BATCH) if client.api == 2 else 1
            _fetch_pdfs(journal, client, needs.pdfs, advance, began, batch)

        return _run_parts(request, secret, [histories, pdfs])


def freeze(request: FetchRequest) -> dict[str, Any]:
    """Makes a snapshot of everything in the journal; returns its folder, digest, counts and remarks."""
    venue, fetch = request.venue, request.settings.fetch
    with Journal(request.folder, request.origin) as journal:
        sampled = sample_of(journal, venue, request.settings.edition, fetch.everything)
        host = request.origin.host
        remarks = [f"fetched from {host}, which is not the venue's own host"] if venue.host != host else []
        remarks += [*([venue.unverified] if venue.unverified else []), *sampled.notes]
        for name in venue.listings:
            listed, count = listed_of(journal, name)
            remarks += [f"listed {listed} of {count} that the service counts under {name}"] if listed < count else []
        refused = Counter(kind for kind, _ in journal.refused)
        due = f"{refused['pdf']} PDFs and the versions of {refused['history']} notes"
        remarks += [f"refused (403), to be requested again by the next fetch: {due}"] if refused else []
        sealed = journal.sealed or [digest for run in earlier(request.folder, request.origin) for digest in run.sealed]
        made = seal(
            Path(request.state) / "snapshots", journal, venue, request.settings.edition, sampled,
            f"openreview: {journal.origin}", remarks, sealed[-1] if sealed else None,
        )  # fmt: skip
        journal.add_seal(made.digest)
    _write_status(request.folder, "sealed")
    counts = made.manifest.counts
    return {"snapshot": str(made.folder), "digest": made.digest, "counts": counts, "remarks": made.manifest.remarks}


def _run_parts(
    request: FetchRequest,
    secret: Callable[[str], str],
    parts: Iterable[Callable[[OpenReview, Callable[[str, str], Advance]], None]],
) -> FetchOutcome:
    """Calls *parts* one after the other, each with a session and the maker of progress callbacks.

    A pause ends only the part that met it, and the outcome states the earliest end of a pause. If the service is down,
    the remaining parts are skipped.
    """
    fetch = request.settings.fetch
    login = Login(**{name: secret(getattr(fetch, name)) for name in SECRETS})
    if login.username and not login.password and not login.token:
        raise SettingsError(f"there is a user name ({fetch.username}) and no password ({fetch.password}); set both")
    policy = RetryPolicy(fetch.timeout_s, fetch.whole_s, fetch.attempts, fetch.backoff_s)
    client = _opened(request.origin, str(budget_file(Path(request.state)).resolve()), login, policy)
    before, message = Counter(client.sent), ""
    pauses: list[Paused] = []
    for work in parts:
        try:
            work(client, _status_writer(request.folder, client, fetch))
        except Paused as pause:
            pauses.append(pause)
        except ServiceDown as error:
            message = str(error)
            break
    sent = dict(client.sent - before)
    if pauses and not message:
        first = min(pauses, key=lambda pause: pause.until)
        _write_status(request.folder, str(first), remaining_s=first.until - time.time())
        return FetchOutcome(sent, first.until, str(first))
    return FetchOutcome(sent, None, message)


@lru_cache(maxsize=4)
def _opened(origin: Origin, budget: str, login: Login, retry_policy: RetryPolicy) -> OpenReview:
    """Returns the session for these arguments, opened at the first such call, so that a process logs in once."""
    return OpenReview(origin.api, origin.host, RequestBudget(Path(budget)), login, retry_policy)  # type: ignore[arg-type]


def _write_status(folder: Path, stage: str, done: int = 0, total: int = 0, remaining_s: float | None = None) -> None:
    """Writes the progress of the fetch to a file beside its journal, so that other commands can display it."""
    status = {"pid": os.getpid(), "stage": stage, "done": done, "total": total, "remaining_s": remaining_s}
    with suppress(OSError, SourceError):  # a failure to show progress must not stop the fetch
        put(folder / STATUS, json.dumps(status).encode(), keep=False)


def _status_writer(folder: Path, client: OpenReview, fetch: FetchSettings) -> Callable[[str, str], Advance]:
    """Returns a function that makes a stage's progress callback from the stage's name and its kind of request.

    The callback writes the status file at most every `STATUS_EVERY_S` seconds. It estimates the remaining seconds from
    the request limits known at that moment.
    """
    name, last = client.host.partition("//")[2], [0.0]

    def advance_of(stage: str, kind: str) -> Advance:
        def advance(done: int, total: int) -> None:
            if done < total and time.monotonic() - last[0] < STATUS_EVERY_S:
                return
            last[0] = time.monotonic()
            size = {"notes": fetch.page, "attachment": fetch.pdf_batch}.get(kind, 1)
            left = client.budget.seconds_for(f"{name} {kind}", -(-(total - done) // size))
            _write_status(folder, stage, done, total, left)

        return advance

    return advance_of


def is_listed(journal: Journal, venue: Venue) -> bool:
    """Whether the journal holds every page of all listings of *venue*."""
    return all((pages := journal.listing(name)) and pages[-1].end for name in venue.listings)


def _fetch_listing(
    journal: Journal, client: OpenReview, request: FetchRequest, invitation: str, advance: Advance
) -> None:
    """Fetches the submissions under *invitation* with their replies into the journal.

    Only withdrawn and desk-rejected submissions may have an empty listing. An empty page before the end is a passing
    fault, so the page is requested again. If all tries give an empty page, `ServiceDown` is raised, unless a listing
    may be shorter than its count.
    """
    venue, fetch = request.venue, request.settings.fetch
    required = invitation.rpartition("/-/")[2] in venue.submissions
    pages = journal.listing(invitation)
    seen = {str(note.get("id")) for note in journal.submissions(pages)}
    while not (pages and pages[-1].end):
        count, after = (pages[-1].count, pages[-1].last) if pages else (None, None)
        for attempt in range(1, EMPTY_PAGES + 1):
            page = client.page(invitation, after, min(fetch.page, PAGE), not required)
            count = count if page.count is None else page.count
            if not page.notes and count is not None and attempt == EMPTY_PAGES - 1 and len(seen) < count:
                # The service no longer counts notes deleted since the listing began.
                count = client.count(invitation)
            if page.notes or (attempt > 1 if count is None else len(seen) >= count):
                break
        else:
            if not fetch.short_listing:
                problem = f"listed {len(seen)} of {count} under {invitation}, then {EMPTY_PAGES} empty pages"
                advice = "run it again later, or accept the shorter listing: --set fetch.short_listing=true"
                raise ServiceDown(f"{client.host}: {problem}; {advice}")
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
        advance(len(seen), max(count or 0, len(seen)))


def _due(journal: Journal, kind: Kind, items: Iterable[str], began: float) -> list[str]:
    """Returns the items that a run must still request. Items that an earlier run found refused come last.

    *kind*: whether *items* are ids of papers (``pdf``) or of notes (``history``).
    *began*: when the run began (epoch seconds). Items received, or refused since then, are left out.
    """
    known = journal.pdfs if kind == "pdf" else journal.histories
    missing = [item for item in items if item not in known]
    return sorted(
        (item for item in missing if journal.refused.get((kind, item), 0.0) < began),
        key=lambda item: (kind, item) in journal.refused,
    )


class _Refusals:
    """The series of refusals (403) of one kind of item that no answer has ended yet.

    The next answer ends the series, and its refusals are then recorded in the journal. If the series reaches `IN_A_ROW`
    refusals first, no further item is requested.
    """

    def __init__(self, journal: Journal, kind: Kind):
        self.journal = journal
        self.kind: Kind = kind
        self._count = 0
        self._items: list[str] = []

    def each(self, items: Iterable[str], ask: Callable[[str], None]) -> None:
        """Calls *ask* with each of *items*, and tracks the refusals that *ask* raises as `Forbidden`.

        After `IN_A_ROW` refusals in a row it raises `ServiceDown`. If earlier runs also met these refusals, it returns
        instead, without requesting the remaining items.
        """
        for item in items:
            known = (self.kind, item) in self.journal.refused
            if known and self._items:
                self.end()
            try:
                ask(item)
            except Forbidden as error:
                if not known:
                    self.add(error, item)
                    continue
                self._count += 1
                self.journal.add_refusal(self.kind, item, time.time())
                if self._count >= IN_A_ROW:
                    return
            except Paused:
                self.end()
                raise
            else:
                self.end()

    def add(self, error: Forbidden, item: str | None = None) -> None:
        """Adds one refused request to the series; *item*: None if the request was for several items.

        Raises `ServiceDown` if the series reaches `IN_A_ROW` refusals.
        """
        self._count += 1
        self._items += [item] if item is not None else []
        if self._count >= IN_A_ROW:
            problem = f"{self._count} requests in a row were refused, the last with {error}"
            raise ServiceDown(f"{problem}; see what the account may read{ADVICE[self.kind]}, and run it again later")

    def end(self) -> None:
        """Ends the current series of refusals, and records each refused item in the journal."""
        for item in self._items:
            self.journal.add_refusal(self.kind, item, time.time())
        self._count, self._items = 0, []


def _fetch_pdfs(
    journal: Journal,
    client: OpenReview,
    papers: Collection[tuple[str, int | None, str | None]],
    advance: Advance,
    began: float,
    batch: int,
) -> None:
    """Fetches the PDFs of *papers* (see `Needs.pdfs`), *batch* in one request, as far as they are `_due`."""
    known = {paper_id: (number, stated) for paper_id, number, stated in papers}
    refusals, archive = _Refusals(journal, "pdf"), NONE

    def keep(paper_id: str, data: bytes | None) -> None:
        journal.add_pdf(paper_id, known[paper_id][1], data, None if data is not None else MISSING)
        advance(sum(paper in journal.pdfs for paper in known), len(known))

    def ask(paper_id: str) -> None:
        """Requests one PDF; if the archive had part of it, the longer one is kept."""
        copies = (archive.files.get(paper_id), client.pdf(paper_id))
        keep(paper_id, max((data for data in copies if data is not None), key=len, default=None))

    refused = {paper_id for paper_id in known if ("pdf", paper_id) in journal.refused}
    missing = _due(journal, "pdf", known, began)
    new = [paper_id for paper_id in missing if paper_id not in refused]
    for start in range(0, len(new), batch):
        some = new[start : start + batch]
        # An archive of one paper is the PDF itself.
        archive = _archive(client, {name: known[name][0] for name in some}, refusals) if len(some) > 1 else NONE
        for paper_id in [name for name in some if name in archive.files]:
            data = archive.files[paper_id]
            # A download without a stated length can be cut off without an error.
            if not data.startswith(b"%PDF") or b"%%EOF" in data[-4096:]:
                keep(paper_id, data)
                refusals.end()
        for paper_id in [name for name in some if archive.complete and name not in archive.files]:
            keep(paper_id, None)
        refusals.each([name for name in some if name not in journal.pdfs], ask)
    refusals.end()
    refusals.each([paper_id for paper_id in missing if paper_id in refused], ask)


def _archive(client: OpenReview, numbers: Mapping[str, object], refusals: _Refusals) -> Archive:
    """Returns the PDFs in an archive, if the service sends one; a damaged one is requested once more."""
    archive = NONE
    try:
        for _ in range(2):
            archive = client.pdfs(numbers) or NONE
            if archive is NONE or not archive.damaged:
                break
    except Forbidden as error:
        # A single refused PDF may refuse the whole archive; the others are then requested one by one.
        refusals.add(error)
    return archive
