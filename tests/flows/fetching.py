"""Fetches from a loopback OpenReview, and what tests ask of them."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from gre_bench.core.settings import load
from gre_bench.ingest.openreview import fetching, transport
from gre_bench.ingest.openreview.journal import FetchJournal
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot import Snapshot
from gre_bench.pipeline.downloading import FetchJob, fetch_snapshot
from tests.conftest import SIXTEEN
from tests.servers import openreview as loopback
from tests.servers.openreview import Account, Loopback

SAMPLE = SIXTEEN
NOTES = read_notes_file(SAMPLE / "notes.jsonl")
ACCOUNT = Account("somebody", "a-password-of-somebody")
LOGIN = {"OPENREVIEW_USERNAME": ACCOUNT.username, "OPENREVIEW_PASSWORD": ACCOUNT.password}
QUICK = ("fetch.timeout_s=60", "fetch.attempts=4", "fetch.page=5", "fetch.pdf_batch=5")

IDEAL = {"login": 1, "notes": 4, "attachment": 3, "pdf": 1}
"""16 papers: four pages of five (the count of the first says when all are there), three archives of five and one PDF."""


@contextmanager
def without_waits() -> Iterator[None]:
    """A request that fails is tried again at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "BACKOFF_S", 0.01)
        yield


def pdf_of(paper_id: str) -> bytes | None:
    path = SAMPLE / "pdfs" / f"{paper_id}.pdf"
    return path.read_bytes() if path.is_file() else None


def served(notes=NOTES, pdf=pdf_of, **more) -> Loopback:
    """A loopback OpenReview of the sample edition that serves none but the account."""
    return Loopback(notes, pdf=pdf, **({"account": ACCOUNT} | more))


def settings(host: str | None, *overrides: str, edition: str = "SAMPLE 2026", papers: int = 300):
    venue, year = edition.split()
    chosen = (f"edition.venue={venue}", f"edition.year={year}", f"edition.papers={papers}")
    asked = (f"fetch.host={host}",) if host else ()
    return load(None, (*chosen, *asked, *QUICK, *overrides))


def fetched(host: str | None, state: Path, *overrides: str, again: bool = False, **more) -> dict:
    """The summary of a fetch in a session of its own, as a process of its own has."""
    fetching._open_session.cache_clear()
    with without_waits():
        return fetch_snapshot(FetchJob(settings(host, *overrides, **more), state, again))


def set_forward(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """By the clocks of the service and of those who ask it *seconds* pass at once."""

    def clock() -> float:
        return time.time() + seconds

    monkeypatch.setattr(RequestBudget.__init__, "__defaults__", (clock,))
    monkeypatch.setattr(loopback, "time", SimpleNamespace(time=clock))


def opened(summary: dict) -> Snapshot:
    snapshot = Snapshot.open(Path(summary["snapshot"]))
    snapshot.verify()
    return snapshot


def repeated(loopback: Loopback) -> list[tuple]:
    """Requests that came more than once, logins left out."""
    asked = Counter((one.path, one.query) for one in loopback.requests if one.kind != "login")
    return [one for one, count in asked.items() if count > 1]


def fetch_until(host: str, state: str, commits: int, whole: bool, overrides: tuple[str, ...]) -> None:
    """Fetches in this process, and is killed at its commit number *commits*.

    *whole*: right after its line is on disk; otherwise right before, its files being there already.
    """
    os.environ |= LOGIN
    add, done = FetchJournal._append_entry, 0

    def counted(journal: FetchJournal, entry: dict) -> None:
        nonlocal done
        done += 1
        if done == commits and not whole:
            os.kill(os.getpid(), signal.SIGKILL)
        add(journal, entry)
        if done == commits and whole:
            os.kill(os.getpid(), signal.SIGKILL)

    FetchJournal._append_entry = counted
    fetched(host, Path(state), *overrides)
