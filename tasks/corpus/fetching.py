"""Bringing a venue-year home, one answer at a time into the journal: what is there is not asked for again.

    listings with replies → forums that came without theirs → (the sample is drawn) → histories → PDFs

Each function goes on where the journal ends and may be stopped anywhere: by `Paused`, by an error, by a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.corpus.openreview_client import BATCH, PAGE, OpenReview, Page, batches
from tasks.corpus.snapshot_journal import Fetched, Journal
from tasks.corpus.venues import Venue
from tasks.errors import ServiceDown, SourceError

Note = dict[str, Any]
Advance = Callable[[int, int], None]
"""Told of progress: how much of how much is there."""
EMPTY_PAGES = 3
"""Empty pages in a row, though more are counted, after which a run ends."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What is to be asked for besides the listings; *pdfs*: paper id, number, and how the note names its PDF."""

    forums: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    pdfs: tuple[tuple[str, int | None, str | None], ...] = ()


def is_listed(journal: Journal, venue: Venue) -> bool:
    """Whether all listings are here to their ends."""
    return all((pages := journal.listing(name)) and pages[-1].end for name in venue.listings)


def fetch_listings(journal: Journal, client: OpenReview, venue: Venue, advance: Advance, page: int = PAGE) -> None:
    """All submissions with their replies."""
    for invitation in venue.listings:
        must = invitation.rpartition("/-/")[2] in venue.submissions
        _fetch_listing(journal, client, venue, invitation, must, advance, min(page, PAGE))


def _fetch_listing(
    journal: Journal, client: OpenReview, venue: Venue, invitation: str, must: bool, advance: Advance, size: int
) -> None:
    pages = journal.listing(invitation)
    seen = {note.get("id") for page in pages for note in journal.page_notes(page)}
    while not (pages and pages[-1].end):
        count, after = (pages[-1].count, pages[-1].last) if pages else (None, None)
        page = _page_after(client, invitation, after, size, len(seen), count)
        fresh = {note.get("id") for note in page.notes} - seen
        if must and not pages and not page.notes:
            raise SourceError(
                f"{client.host} has no submission of {venue.name} ({invitation}): an empty list usually means the host "
                f"of the other API version; {venue.name} is kept by API v{venue.api}, see data/venues.toml"
            )
        if page.notes and not fresh:
            raise SourceError(f"{client.host}: the listing of {invitation} gives the same notes again after {after}")
        seen |= fresh
        end = not page.notes or (page.count is not None and len(seen) >= page.count)
        journal.add_page(invitation, page.notes, page.count, end)
        pages = journal.listing(invitation)
        advance(len(seen), max(page.count or 0, len(seen)))


def _page_after(
    client: OpenReview, invitation: str, after: str | None, size: int, listed: int, count: int | None
) -> Page:
    """The page after *after*, with the count known now; an empty one only where the listing ends.

    An empty page is asked for again: in the middle of a listing it is a fault of the moment. `ServiceDown` if nothing
    comes though the service counts more than the *listed* notes.
    """
    for attempt in range(1, EMPTY_PAGES + 1):
        page = client.page(invitation, after, size)
        count = count if page.count is None else page.count
        if not page.notes and count is not None and attempt == EMPTY_PAGES - 1 and listed < count:
            # Notes that were deleted since the listing began are not counted any more.
            count = client.count(invitation)
        ended = attempt > 1 if count is None else listed >= count
        if page.notes or ended:
            return Page(page.notes, count)
    what = f"listed {listed} of {count} under {invitation}, then {EMPTY_PAGES} empty pages"
    raise ServiceDown(f"{client.host}: {what}; run it again later")


def fetch_forums(journal: Journal, client: OpenReview, forums: Collection[str], advance: Advance) -> None:
    """Whole forums, for submissions whose replies the listing left out."""
    _each(forums, journal.forums, lambda forum: journal.add_forum(forum, client.forum(forum)), advance)


def fetch_histories(journal: Journal, client: OpenReview, note_ids: Collection[str], advance: Advance) -> None:
    """The versions of notes that were changed after they counted."""
    _each(note_ids, journal.histories, lambda name: journal.add_history(name, client.history(name)), advance)


def _each(items: Collection[str], known: Collection[str], ask: Callable[[str], None], advance: Advance) -> None:
    due = [item for item in items if item not in known]
    for done, item in enumerate(due, start=len(items) - len(due) + 1):
        ask(item)
        advance(done, len(items))


def fetch_pdfs(
    journal: Journal,
    client: OpenReview,
    papers: Collection[tuple[str, int | None, str | None]],
    advance: Advance,
    batch: int = BATCH,
    earlier: Mapping[str, Fetched] = {},
) -> None:
    """PDFs of *papers*: (id, number, how the note names its PDF). *earlier*: what fetches before this one got.

    A PDF that is named as it was then is the same file, and is not asked for.
    """
    for paper_id, _, stated in papers:
        if paper_id not in journal.pdfs:
            old = earlier.get(paper_id)
            if stated is None:
                journal.add_pdf(paper_id, None, None, "the note names no PDF")
            elif old is not None and old.sha256 and old.stated == stated and (data := journal.pool.read(old.sha256)):
                journal.add_pdf(paper_id, stated, data)
    due = {paper_id: (number, stated) for paper_id, number, stated in papers if paper_id not in journal.pdfs}
    size = min(batch, BATCH) if client.api == 2 else 1
    for some in batches(list(due), size):
        numbers = {paper_id: due[paper_id][0] for paper_id in some}
        # An archive of one is the file itself.
        archive = client.pdfs(numbers) if len(some) > 1 else {}
        for paper_id in sorted(some, key=lambda name: name not in archive):
            data = archive.get(paper_id)
            if data is None or _is_cut(data):
                data = _longer(data, client.pdf(paper_id))
            problem = None if data is not None else "the service has no PDF, or shows none"
            journal.add_pdf(paper_id, due[paper_id][1], data, problem)
            advance(sum(known[0] in journal.pdfs for known in papers), len(papers))


def _is_cut(data: bytes) -> bool:
    """Whether a PDF lacks its end: a body without a stated length can be cut unnoticed."""
    return data.startswith(b"%PDF") and b"%%EOF" not in data[-4096:]


def _longer(first: bytes | None, second: bytes | None) -> bytes | None:
    found = [data for data in (first, second) if data is not None]
    return max(found, key=len, default=None)
