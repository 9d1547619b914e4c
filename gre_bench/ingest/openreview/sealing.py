"""Makes a snapshot from a journal: draws the sample, lists what is still to fetch, and writes the snapshot.

The sample is the one that a refresh with the same edition settings draws. A snapshot depends only on the service's
answers and the venue's dates. The time, the order and the number of runs in which the answers came do not matter.
"""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.settings import EditionSettings
from gre_bench.core.whole_files import unwritten
from gre_bench.ingest.openreview.journal import Journal, Note, copies, lacking, listed_of, not_shown, received
from gre_bench.ingest.records import versions
from gre_bench.ingest.records.notes import fields_of, kind_at, read_notes
from gre_bench.ingest.records.sampling import draw
from gre_bench.ingest.records.venues import Venue
from gre_bench.ingest.snapshot import Snapshot, make_snapshot

REFUSED = "the service refuses it"


@dataclass(frozen=True, slots=True)
class Sampled:
    """The ids of the sampled *papers*, and of those whose versions and PDFs are *wanted*; *notes* for the user."""

    papers: frozenset[str]
    wanted: frozenset[str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Needs:
    """What a snapshot needs besides the listings: forums, by the ids of their submissions, versions of notes, and PDFs.

    *pdfs*: (paper id, submission number, the PDF's name in the note); a number or name is None if not stated.
    """

    forums: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    pdfs: tuple[tuple[str, int | None, str | None], ...] = ()


def sample_of(journal: Journal, venue: Venue, edition: EditionSettings, everything: bool = False) -> Sampled:
    """Draws the sample from the notes in the journal; raises `SourceError` if no sample can be drawn.

    *everything*: fetch the versions and PDFs of all papers, not only of the sampled ones.
    """
    records = read_notes(received(journal), venue)
    drawn = draw(records.papers, records.reviews, edition)
    papers = frozenset(role.paper_id for role in drawn.roles)
    wanted = frozenset(paper.paper_id for paper in records.papers) if everything else papers
    return Sampled(papers, wanted, tuple(drawn.notes))


def needs_of(journal: Journal, venue: Venue, sampled: Sampled, histories: bool = True) -> Needs:
    """Returns everything that must be fetched besides the listings, including items that the journal already holds."""
    histories_due: list[str] = []
    papers = []
    for note in received(journal):
        if note.get("forum") not in sampled.wanted:
            continue
        due = kind_at(note, venue) in venue.reviews and versions.is_due(note, venue.rebuttal_ms)
        if note["id"] == note["forum"]:
            number, stated = note.get("number"), fields_of(note).get("pdf")
            number, stated = number if isinstance(number, int) else None, stated if isinstance(stated, str) else None
            papers.append((note["id"], number, stated))
            due = due or versions.pdf_is_due(note, venue.released_ms)
        histories_due += [note["id"]] if due and histories else []
    return Needs(lacking(journal), tuple(histories_due), tuple(sorted(papers)))


def seal(
    root: Path,
    journal: Journal,
    venue: Venue,
    edition: EditionSettings,
    sampled: Sampled,
    source: str,
    remarks: list[str],
    previous: str | None = None,
) -> Snapshot:
    """Writes a snapshot of everything in *journal* to a new folder under *root*, and returns the snapshot.

    *source*, *remarks*, *previous*: as in `make_snapshot`. If *root* already has a snapshot with the same contents and
    *source*, that one is returned. Raises `SourceError` if it is damaged, or if the new one cannot be written.
    """
    notes = list(received(journal))
    reviews = []
    for note in notes:
        if kind_at(note, venue) in venue.reviews:
            refused = () if ("history", note["id"]) in journal.refused else None
            chosen = versions.choose(note, journal.histories.get(note["id"], refused), venue.rebuttal_ms)
            row = {"review_id": note["id"], "paper_id": note.get("forum"), "versions": chosen.versions}
            row |= {"version": chosen.version_id, "written_at": chosen.written_at, "rule": chosen.rule}
            reviews.append(row | {"licence": note["license"] if isinstance(note.get("license"), str) else None})
    papers = _papers(notes, journal, venue, sampled)
    files = {name: journal.pool.file(fetched.sha256) for name, fetched in journal.pdfs.items() if fetched.sha256}
    note_ids = {note["id"] for note in notes}
    beside, folder = root / f".sealing-{uuid.uuid4().hex}", root
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = make_snapshot(
            beside,
            edition.edition,
            notes,
            pdfs={name: file for name, file in files.items() if name in sampled.wanted},
            papers=papers,
            histories={name: list(fetched) for name, fetched in journal.histories.items() if name in note_ids},
            reviews=reviews,
            source=source,
            previous=previous,
            remarks=remarks,
            counts=_counts(notes, journal, venue, sampled, papers, reviews),
            grouped=True,
            link=True,
        )
        name = f"{venue.venue}-{venue.year}-{made.digest[:12]}"
        # Equal contents from another host are another snapshot, because a snapshot states its host.
        for folder in (root / name, *(root / f"{name}-{number}" for number in range(2, 1000))):
            if not folder.is_dir():
                beside.rename(folder)
                break
            try:
                snapshot = Snapshot.open(folder)
                snapshot.verify()
            except SourceError as error:
                problem = f"{error}: move that folder away, and the same command makes it anew"
                raise SourceError(problem) from None
            if snapshot.manifest.source == source:
                break
    except OSError as error:
        raise unwritten(root, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Snapshot.open(folder)


def _papers(notes: list[Note], journal: Journal, venue: Venue, sampled: Sampled) -> dict[str, Note]:
    decided = {}
    for note in notes:
        if kind_at(note, venue) in venue.decisions:
            value = fields_of(note).get(venue.decision)
            made = note.get("tcdate") or note.get("cdate")
            accepted = isinstance(value, str) and value.lower().startswith("accept")
            decided[note["forum"]] = made if accepted and isinstance(made, int) else None
    rows = {}
    for note in notes:
        if note["id"] != note.get("forum"):
            continue
        fetched = journal.pdfs.get(note["id"])
        history, accepted = journal.histories.get(note["id"]), decided.get(note["id"])
        rows[note["id"]] = {
            "pdf_problem": fetched.problem if fetched else REFUSED if ("pdf", note["id"]) in journal.refused else None,
            "pdf_version_status": versions.pdf_version_status(note, history, venue.released_ms, accepted),
            "licence": note["license"] if isinstance(note.get("license"), str) else None,
            "sampled": note["id"] in sampled.papers,
        }
    return rows


def _counts(
    notes: list[Note], journal: Journal, venue: Venue, sampled: Sampled, papers: Mapping[str, Any], reviews: list[Any]
) -> dict[str, int]:
    """Returns the counts that a snapshot states, by name."""
    outcomes = read_notes(notes, venue).counts
    mine = [papers[name] for name in sampled.wanted]
    listed = [listed_of(journal, name) for name in venue.listings]
    rules = Counter(f"reviews_{row['rule']}" for row in reviews if row["paper_id"] in sampled.wanted)
    statuses = Counter(f"pdf_{row['pdf_version_status']}" for row in mine)
    return {
        **{f"outcome_{name}": count for name, count in outcomes.items() if name != "notes"},
        **dict(sorted(rules.items())),
        **dict(sorted(statuses.items())),
        "listed": sum(count for count, _ in listed),
        "listed_by_service": sum(count for _, count in listed),
        "received_again": copies(journal),
        "replies_not_shown": not_shown(journal),
        "sampled": len(sampled.papers),
        "pdf_problems": sum(row["pdf_problem"] is not None for row in mine),
        "pdf_refused": sum(row["pdf_problem"] == REFUSED for row in mine),
    }
