"""What the steps of a fetch do: one session with the service, plain values in and out, all results in the journal."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.corpus.fetching import (
    Advance,
    fetch_forums,
    fetch_histories,
    fetch_listings,
    fetch_pdfs,
    is_listed,
    lacking,
)
from tasks.corpus.openreview_client import OpenReview
from tasks.corpus.openreview_session import Login, Patience
from tasks.corpus.request_budget import RequestBudget
from tasks.corpus.snapshot_journal import Fetched, Journal, read, takes
from tasks.corpus.snapshot_sealing import needs_of, sample_of, seal
from tasks.corpus.venues import Venue, venue_of
from tasks.errors import Paused, ServiceDown, SettingsError
from tasks.settings import FetchSettings, Settings

SECRETS = ("username", "password", "token", "mfa_code", "totp_secret")
STATUS = "status.json"
TOLD_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Asked:
    """What is fetched, and where it is kept: *take* names the journal under the state."""

    settings: Settings
    state: str
    take: str

    @property
    def venue(self) -> Venue:
        """The entry of the venue-year."""
        return venue_of(self.settings.edition.venue, self.settings.edition.year)

    @property
    def folder(self) -> Path:
        """Where the journal is."""
        return budget_file(Path(self.state)).parent / self.take


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a step came: *sent* requests by kind; paused until (epoch s), or stopped by a fault; *message* tells."""

    sent: dict[str, int] = field(default_factory=dict)
    paused_until: float | None = None
    message: str = ""


def budget_file(state: Path) -> Path:
    """Where the request budget is kept, beside the journals."""
    return state / "openreview" / "budget.json"


def host_of(venue: Venue, settings: FetchSettings) -> str:
    """The host that is asked; `SettingsError` if neither the venue nor the settings name one."""
    host = settings.host or venue.host
    if host is None:
        raise SettingsError(f"{venue.name} is nowhere to be asked for; name a host: --set fetch.host=http://...")
    return host


def bring_notes(asked: Asked, secret: Callable[[str], str]) -> Reached:
    """All submissions of the venue-year with their replies, as far as the service allows."""
    with Journal(asked.folder) as journal:
        if is_listed(journal, asked.venue) and set(lacking(journal)) <= journal.forums.keys():
            return Reached()
        return _reached(asked, secret, lambda client, told: [_notes(journal, client, asked, told)])


def bring_papers(asked: Asked, secret: Callable[[str], str]) -> Reached:
    """Versions and PDFs of the sampled papers, as far as the service allows; one going on while the other is paused."""
    edition, fetch = asked.settings.edition, asked.settings.fetch
    with Journal(asked.folder) as journal:
        sampled = sample_of(journal, asked.venue, edition, fetch.everything)
        needs = needs_of(journal, asked.venue, sampled, fetch.histories)
        if set(needs.histories) <= journal.histories.keys() and {one[0] for one in needs.pdfs} <= journal.pdfs.keys():
            return Reached()

        def parts(client: OpenReview, told: Callable[[str, str], Advance]) -> list[Callable[[], None]]:
            versions, pdfs = told("versions", "edits"), told("PDFs", "pdf" if client.api == 1 else "attachment")
            return [
                lambda: fetch_histories(journal, client, needs.histories, versions),
                lambda: fetch_pdfs(journal, client, needs.pdfs, pdfs, fetch.pdf_batch, earlier(asked)),
            ]

        return _reached(asked, secret, parts)


def freeze(asked: Asked) -> dict[str, Any]:
    """The snapshot of what was fetched: its folder, digest and counts."""
    venue, fetch = asked.venue, asked.settings.fetch
    with Journal(asked.folder) as journal:
        sampled = sample_of(journal, venue, asked.settings.edition, fetch.everything)
        host = host_of(venue, fetch)
        remarks = [f"asked at {host}, which is not the venue's own host"] if venue.host != host else []
        remarks += [venue.unverified] if venue.unverified else []
        before = _previous(asked, journal)
        made = seal(
            Path(asked.state) / "snapshots", journal, venue, asked.settings.edition, sampled,
            f"openreview: {host}, API v{venue.api}", remarks, before,
        )  # fmt: skip
        journal.add_seal(made.digest)
    _tell(asked.folder, {"stage": "sealed", "done": 0, "total": 0, "remaining_s": None})
    counts = made.manifest.counts
    return {"snapshot": str(made.folder), "digest": made.digest, "counts": counts, "remarks": made.manifest.remarks}


def earlier(asked: Asked) -> Callable[[str], Fetched | None]:
    """What the fetches before this one got of a paper's PDF, the latest first."""
    older = [path for path in takes(asked.folder.parent, asked.take.rpartition("-")[0]) if path.name < asked.take]
    known: dict[str, Fetched] = {}
    for path in older:
        known |= read(path).pdfs
    return known.get


def _notes(
    journal: Journal, client: OpenReview, asked: Asked, told: Callable[[str, str], Advance]
) -> Callable[[], None]:
    def work() -> None:
        fetch_listings(journal, client, asked.venue, told("submissions", "notes"), asked.settings.fetch.page)
        fetch_forums(journal, client, lacking(journal), told("forums", "notes"))

    return work


def _reached(asked: Asked, secret: Callable[[str], str], parts: Callable[..., list[Callable[[], None]]]) -> Reached:
    """Does all *parts* as far as they go; the earliest end of a pause, if any is paused."""
    client = _session(asked, secret)
    before = Counter(client.sent)
    pauses: list[Paused] = []
    message = ""
    for work in parts(client, _telling(asked, client)):
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
        _tell(asked.folder, {"stage": str(first), "done": 0, "total": 0, "remaining_s": first.until - time.time()})
        return Reached(sent, first.until, str(first))
    return Reached(sent, None, message)


def _session(asked: Asked, secret: Callable[[str], str]) -> OpenReview:
    fetch = asked.settings.fetch
    login = Login(**{name: secret(getattr(fetch, name)) for name in SECRETS})
    if login.username and not login.password and not login.token:
        raise SettingsError(f"there is a user name ({fetch.username}) and no password ({fetch.password}); set both")
    patience = Patience(fetch.timeout_s, fetch.whole_s, fetch.attempts, fetch.backoff_s)
    budget = str(budget_file(Path(asked.state)).resolve())
    return _opened(asked.venue.api, host_of(asked.venue, fetch), budget, login, patience)


@lru_cache(maxsize=4)
def _opened(api: int, host: str, budget: str, login: Login, patience: Patience) -> OpenReview:
    """Kept open for this process, so that it logs in once."""
    return OpenReview(api, host, RequestBudget(Path(budget)), login, patience)  # type: ignore[arg-type]


def _telling(asked: Asked, client: OpenReview) -> Callable[[str, str], Advance]:
    """Progress into a file beside the journal, with the seconds that the limits known now leave to wait."""
    name, last = client.host.partition("//")[2], [0.0]

    def told(stage: str, kind: str) -> Advance:
        def advance(done: int, total: int) -> None:
            if done < total and time.monotonic() - last[0] < TOLD_EVERY_S:
                return
            last[0] = time.monotonic()
            size = {"notes": asked.settings.fetch.page, "attachment": asked.settings.fetch.pdf_batch}.get(kind, 1)
            left = client.budget.seconds_for(f"{name} {kind}", -(-(total - done) // size))
            _tell(asked.folder, {"stage": stage, "done": done, "total": total, "remaining_s": left})

        return advance

    return told


def _tell(folder: Path, status: Mapping[str, Any]) -> None:
    beside = folder / f".{STATUS}.{os.getpid()}"
    with suppress(OSError):  # what is only shown stops no fetch
        beside.write_text(json.dumps({"pid": os.getpid(), **status}))
        beside.replace(folder / STATUS)


def _previous(asked: Asked, journal: Journal) -> str | None:
    """The digest of the snapshot sealed last before this one."""
    if journal.sealed:
        return journal.sealed[-1]
    older = [path for path in takes(asked.folder.parent, asked.take.rpartition("-")[0]) if path.name < asked.take]
    sealed = [digest for path in older for digest in read(path).sealed]
    return sealed[-1] if sealed else None
