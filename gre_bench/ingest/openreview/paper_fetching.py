"""Fetches the sampled papers' versions and PDFs, and stores each answer in the journal before the next request.

An item in the journal is not requested again. A missing item (404) is recorded as missing for good. A refused item
(403) is requested again by the next run (`gre_bench.ingest.openreview.refusals`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gre_bench.ingest.openreview.client import BATCH, Archive, Forbidden, OpenReview, batches
from gre_bench.ingest.openreview.fetching import Advance
from gre_bench.ingest.openreview.journal import Fetched, Journal
from gre_bench.ingest.openreview.refusals import Refusals, due

NONE = Archive({}, damaged=True)
MISSING, NOT_NAMED = "the service has no PDF of it", "the note names no PDF"


@dataclass(frozen=True, slots=True)
class Needs:
    """The items that a snapshot needs besides the listings.

    *forums*: ids of submissions that were received without all of their replies.
    *histories*: ids of notes whose versions are needed.
    *pdfs*: (paper id, submission number, the PDF's name in the note) of each PDF. A number or name is None if not
    stated.
    """

    forums: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    pdfs: tuple[tuple[str, int | None, str | None], ...] = ()


def is_due(journal: Journal, needs: Needs, began: float) -> bool:
    """Whether a run that began at *began* (epoch seconds) still has versions or PDFs to request."""
    papers = [paper_id for paper_id, _, _ in needs.pdfs]
    return bool(due(journal, "history", needs.histories, began) or due(journal, "pdf", papers, began))


def fetch_histories(
    journal: Journal, client: OpenReview, note_ids: Collection[str], advance: Advance, began: float
) -> None:
    """Fetches the versions of the notes *note_ids* into the journal, except those that it holds already.

    *advance*: called after each note with the numbers of notes done and of all *note_ids*.
    *began*: when this run began (epoch seconds); items that this run already found refused are not requested again.
    """

    def ask(note_id: str) -> None:
        journal.add_history(note_id, client.history(note_id))
        advance(sum(known_id in journal.histories for known_id in note_ids), len(note_ids))

    refusals = Refusals(journal, "history")
    refusals.each(due(journal, "history", note_ids, began), ask)
    refusals.end()


def fetch_pdfs(
    journal: Journal,
    client: OpenReview,
    papers: Collection[tuple[str, int | None, str | None]],
    advance: Advance,
    began: float,
    batch: int = BATCH,
    earlier: Mapping[str, Fetched] = {},
) -> None:
    """Fetches the PDFs of *papers* into the journal, except those that it holds already.

    *papers*: (paper id, submission number, the PDF's name in the note); the last two are None where not stated.
    *advance*: called after each PDF with the numbers of papers done and of all *papers*.
    *began*: when this run began (epoch seconds); items that this run already found refused are not requested again.
    *batch*: the number of PDFs per request (API v2 only).
    *earlier*: paper id → result of an earlier fetch run. A PDF whose name has not changed is reused without a request.
    """
    for paper_id, _, stated in papers:
        if paper_id not in journal.pdfs:
            _add_known(journal, paper_id, stated, earlier.get(paper_id))
    known = {paper_id: (number, stated) for paper_id, number, stated in papers}
    refusals, archive = Refusals(journal, "pdf"), NONE

    def keep(paper_id: str, data: bytes | None) -> None:
        journal.add_pdf(paper_id, known[paper_id][1], data, None if data is not None else MISSING)
        advance(sum(paper in journal.pdfs for paper in known), len(known))

    def ask(paper_id: str) -> None:
        keep(paper_id, _longer(archive.files.get(paper_id), client.pdf(paper_id)))

    refused = {paper_id for paper_id in known if ("pdf", paper_id) in journal.refused}
    lacking = due(journal, "pdf", known, began)
    new = [paper_id for paper_id in lacking if paper_id not in refused]
    for some in batches(new, min(batch, BATCH) if client.api == 2 else 1):
        numbers = {paper_id: known[paper_id][0] for paper_id in some}
        # An archive of one paper is the PDF itself.
        archive = _archive(client, numbers, refusals) if len(some) > 1 else NONE
        given = [name for name in some if name in archive.files and not _is_cut(archive.files[name])]
        for paper_id in given:
            keep(paper_id, archive.files[paper_id])
            refusals.end()
        for paper_id in [name for name in some if archive.complete and name not in archive.files]:
            keep(paper_id, None)
        refusals.each([name for name in some if name not in journal.pdfs], ask)
    refusals.end()
    refusals.each([paper_id for paper_id in lacking if paper_id in refused], ask)


def _add_known(journal: Journal, paper_id: str, stated: str | None, old: Fetched | None) -> None:
    """Records the PDF of a paper in the journal if no request is needed; otherwise does nothing.

    No request is needed if the note names no PDF, or if an earlier fetch run got the PDF of the same name.
    *stated*: the PDF's name in the note. *old*: the result of an earlier fetch run.
    """
    if stated is None:
        journal.add_pdf(paper_id, None, None, NOT_NAMED)
    elif old and old.sha256 and old.stated == stated and (data := journal.pool.read(old.sha256)):
        journal.add_pdf(paper_id, stated, data)


def _archive(client: OpenReview, numbers: Mapping[str, object], refusals: Refusals) -> Archive:
    """Returns the PDFs of several papers, requested as one archive. A damaged archive is requested once more.

    Returns an empty archive if the service refuses the request or has none of the PDFs.
    *numbers*: paper id → submission number at the venue.
    """
    archive: Archive | None = None
    for _ in range(2):
        try:
            archive = client.pdfs(numbers)
        except Forbidden as error:
            # A single refused PDF may refuse the whole archive; the others are then requested one by one.
            refusals.add(error)
            break
        if archive is None or not archive.damaged:
            break
    return archive or NONE


def _is_cut(data: bytes) -> bool:
    """Whether the PDF *data* lacks its end. A download without a stated length can be cut off without an error."""
    return data.startswith(b"%PDF") and b"%%EOF" not in data[-4096:]


def _longer(first: bytes | None, second: bytes | None) -> bytes | None:
    whole = [data for data in (first, second) if data is not None]
    return max(whole, key=len, default=None)
