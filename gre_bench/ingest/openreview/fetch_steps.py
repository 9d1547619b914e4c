"""The steps of a fetch: fetch the notes, fetch the sampled papers, make the snapshot. The journal keeps all results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gre_bench.core.errors import Paused, ServiceDown, SettingsError
from gre_bench.core.settings import Settings
from gre_bench.ingest.openreview.client import OpenReview
from gre_bench.ingest.openreview.fetch_progress import progress_writer, write_progress
from gre_bench.ingest.openreview.fetch_runs import pdfs_before, run_for, sealed_before
from gre_bench.ingest.openreview.fetching import Advance, fetch_forums, fetch_listings, is_listed
from gre_bench.ingest.openreview.journal import Journal, Origin
from gre_bench.ingest.openreview.paper_fetching import fetch_histories, fetch_pdfs, is_due
from gre_bench.ingest.openreview.received import lacking, listed_of, received
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.openreview.sealing import needs_of, sample_of, seal
from gre_bench.ingest.openreview.session import Login, RetryPolicy
from gre_bench.ingest.records.notes import confirm_form, read_notes
from gre_bench.ingest.records.venues import Venue, venue_of

SECRETS = ("username", "password", "token", "mfa_code", "totp_secret")


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

    *sent*: kind of request → number of requests sent by this step.
    *paused_until*: when a paused step may continue (epoch seconds); None if it was not paused.
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
        return _run_parts(request, secret, lambda client, advance_of: [_notes(journal, client, request, advance_of)])


def bring_papers(request: FetchRequest, secret: Callable[[str], str]) -> FetchOutcome:
    """Fetches the versions of notes and the PDFs of the sampled papers into the journal, as far as the service allows.

    If the service pauses requests for versions, requests for PDFs continue, and vice versa.
    *secret*: takes a reference such as ``env:NAME`` and returns the secret's value.
    """
    edition, fetch = request.settings.edition, request.settings.fetch
    with Journal(request.folder, request.origin) as journal:
        if request.venue.unverified and request.settings.sources.unverified_venue == "confirm":
            confirm_form(request.venue, read_notes(received(journal), request.venue))
        sampled = sample_of(journal, request.venue, edition, fetch.everything)
        needs = needs_of(journal, request.venue, sampled, fetch.histories)
        journal.drop_damaged(sampled.wanted)
        if not is_due(journal, needs, request.began):
            return FetchOutcome()

        known = pdfs_before(request.folder, request.origin)

        def parts(client: OpenReview, advance_of: Callable[[str, str], Advance]) -> list[Callable[[], None]]:
            versions, pdfs = (
                advance_of("versions", "edits"),
                advance_of("PDFs", "pdf" if client.api == 1 else "attachment"),
            )
            return [
                lambda: fetch_histories(journal, client, needs.histories, versions, request.began),
                lambda: fetch_pdfs(journal, client, needs.pdfs, pdfs, request.began, fetch.pdf_batch, known),
            ]

        return _run_parts(request, secret, parts)


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
        last = journal.sealed[-1] if journal.sealed else sealed_before(request.folder, request.origin)
        made = seal(
            Path(request.state) / "snapshots", journal, venue, request.settings.edition, sampled,
            f"openreview: {journal.origin}", remarks, last,
        )  # fmt: skip
        journal.add_seal(made.digest)
    write_progress(request.folder, "sealed")
    counts = made.manifest.counts
    return {"snapshot": str(made.folder), "digest": made.digest, "counts": counts, "remarks": made.manifest.remarks}


def _notes(
    journal: Journal, client: OpenReview, request: FetchRequest, advance_of: Callable[[str, str], Advance]
) -> Callable[[], None]:
    def work() -> None:
        fetch = request.settings.fetch
        fetch_listings(
            journal, client, request.venue, advance_of("submissions", "notes"), fetch.page, fetch.short_listing
        )
        fetch_forums(journal, client, lacking(journal), advance_of("forums", "notes"))

    return work


def _run_parts(
    request: FetchRequest, secret: Callable[[str], str], parts: Callable[..., list[Callable[[], None]]]
) -> FetchOutcome:
    """Opens a session and calls the functions that *parts* returns, one after the other.

    *parts*: takes the session and the maker of progress callbacks, and returns functions without parameters.
    A pause ends only the function that met it, and the outcome states the earliest end of a pause. If the service is
    down, the remaining functions are skipped.
    """
    client = _session(request, secret)
    before = Counter(client.sent)
    pauses: list[Paused] = []
    message = ""
    for work in parts(client, progress_writer(request.folder, client, request.settings.fetch)):
        try:
            work()
        except Paused as pause:
            pauses.append(pause)
        except ServiceDown as error:
            message = str(error)
            break
    sent = dict(client.sent - before)
    if pauses and not message:
        first = min(pauses, key=lambda pause: pause.until)
        write_progress(request.folder, str(first), remaining_s=first.until - time.time())
        return FetchOutcome(sent, first.until, str(first))
    return FetchOutcome(sent, None, message)


def _session(request: FetchRequest, secret: Callable[[str], str]) -> OpenReview:
    fetch = request.settings.fetch
    login = Login(**{name: secret(getattr(fetch, name)) for name in SECRETS})
    if login.username and not login.password and not login.token:
        raise SettingsError(f"there is a user name ({fetch.username}) and no password ({fetch.password}); set both")
    retry_policy = RetryPolicy(fetch.timeout_s, fetch.whole_s, fetch.attempts, fetch.backoff_s)
    budget = str(budget_file(Path(request.state)).resolve())
    return _opened(request.origin, budget, login, retry_policy)


@lru_cache(maxsize=4)
def _opened(origin: Origin, budget: str, login: Login, retry_policy: RetryPolicy) -> OpenReview:
    """Returns the session for these arguments, opened at the first such call, so that a process logs in once."""
    return OpenReview(origin.api, origin.host, RequestBudget(Path(budget)), login, retry_policy)  # type: ignore[arg-type]
