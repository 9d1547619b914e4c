"""Fetches a venue-year's submissions and replies, and stores every answer in the journal before the next request.

    1. listings of submissions with their replies
    2. forums of submissions whose replies the listing left out
    3. (after sampling) versions and PDFs: `paper_fetching`

Each function continues where the journal ends. A run may be stopped at any time by `Paused`, an error or a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import ServiceDown, SourceError
from gre_bench.ingest.openreview.client import PAGE, OpenReview, Page
from gre_bench.ingest.openreview.journal import Journal
from gre_bench.ingest.records.venues import Venue

Note = dict[str, Any]
Advance = Callable[[int, int], None]
"""Receives progress: the amount done and the total."""
EMPTY_PAGES = 3
"""Number of empty pages in a row, before the counted end, after which a run stops."""


def is_listed(journal: Journal, venue: Venue) -> bool:
    """Whether the journal holds every page of all listings of *venue*."""
    return all((pages := journal.listing(name)) and pages[-1].end for name in venue.listings)


@dataclass(frozen=True, slots=True)
class _Listing:
    """One listing of submissions to fetch.

    *required*: an empty listing is an error.
    *size*: the number of submissions to request per page.
    *short*: the listing may end with fewer notes than the service counts.
    """

    invitation: str
    required: bool
    size: int
    short: bool


def fetch_listings(
    journal: Journal, client: OpenReview, venue: Venue, advance: Advance, page: int = PAGE, short: bool = False
) -> None:
    """Fetches all submissions with their replies into the journal.

    *advance*: called after each page with the numbers of submissions listed and of all submissions.
    *page*: the most submissions requested per page.
    *short*: accept a listing that ends with fewer notes than the service counts.
    """
    for invitation in venue.listings:
        required = invitation.rpartition("/-/")[2] in venue.submissions
        _fetch_listing(journal, client, venue, _Listing(invitation, required, min(page, PAGE), short), advance)


def _fetch_listing(journal: Journal, client: OpenReview, venue: Venue, listing: _Listing, advance: Advance) -> None:
    invitation, pages = listing.invitation, journal.listing(listing.invitation)
    seen = {str(note.get("id")) for page in pages for note in journal.page_notes(page)}
    while not (pages and pages[-1].end):
        count, after = (pages[-1].count, pages[-1].last) if pages else (None, None)
        page = _page_after(client, listing, after, len(seen), count)
        fresh = {str(note.get("id")) for note in page.notes} - seen
        if listing.required and not pages and not page.notes:
            raise SourceError(
                f"{client.host} has no submission of {venue.name} ({invitation}): an empty list usually means the host "
                f"of the other API version; {venue.name} is kept by API v{venue.api}, see data/venues.toml"
            )
        if page.notes and not fresh:
            raise SourceError(f"{client.host}: the listing of {invitation} repeats the same notes after {after}")
        seen |= fresh
        end = not page.notes or (page.count is not None and len(seen) >= page.count)
        journal.add_page(invitation, page.notes, page.count, end)
        pages = journal.listing(invitation)
        advance(len(seen), max(page.count or 0, len(seen)))


def _page_after(client: OpenReview, listing: _Listing, after: str | None, listed: int, count: int | None) -> Page:
    """Returns the page after the id *after*, with the latest count; the page is empty only at the end of the listing.

    *after*: the id of the last note listed so far; None at the start.
    *listed*: the number of notes listed so far.
    *count*: the service's latest count of the whole listing; None if it stated none.
    An empty page before the end is a passing fault, so the page is requested again. If all tries give an empty page,
    `ServiceDown` is raised. A listing that may be short ends there instead.
    """
    for attempt in range(1, EMPTY_PAGES + 1):
        page = client.page(listing.invitation, after, listing.size, not listing.required)
        count = count if page.count is None else page.count
        if not page.notes and count is not None and attempt == EMPTY_PAGES - 1 and listed < count:
            # The service no longer counts notes deleted since the listing began.
            count = client.count(listing.invitation)
        ended = attempt > 1 if count is None else listed >= count
        if page.notes or ended:
            return Page(page.notes, count)
    if listing.short:
        return Page([], count)
    problem = f"listed {listed} of {count} under {listing.invitation}, then {EMPTY_PAGES} empty pages"
    raise ServiceDown(
        f"{client.host}: {problem}; run it again later, or accept the shorter listing: --set fetch.short_listing=true"
    )


def fetch_forums(journal: Journal, client: OpenReview, forums: Collection[str], advance: Advance) -> None:
    """Fetches those of *forums* that the journal lacks, with all their replies, into the journal.

    *forums*: ids of the submissions whose replies the listing left out.
    *advance*: called after each forum with the numbers of forums fetched and of all *forums*.
    """
    due = [forum for forum in forums if forum not in journal.forums]
    for done, forum in enumerate(due, start=len(forums) - len(due) + 1):
        replies = client.forum(forum)
        journal.add_forum(forum, replies.notes, replies.count)
        advance(done, len(forums))
