"""Makes a snapshot from a fetch's journal: draws the sample, finds what is still missing, and seals the snapshot.

The sample equals that of a refresh with the same edition settings. A snapshot depends on the service's answers and the
venue's dates. It does not depend on when, in which order or in how many runs they came.
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
from gre_bench.ingest.openreview.journal import Journal
from gre_bench.ingest.openreview.paper_fetching import Needs
from gre_bench.ingest.openreview.received import copies, lacking, listed_of, not_shown, numbers_of, received
from gre_bench.ingest.records import pdf_versions, review_versions
from gre_bench.ingest.records.notes import creating, kind_of, read_notes
from gre_bench.ingest.records.sampling import draw
from gre_bench.ingest.records.venues import Venue
from gre_bench.ingest.snapshot.making import make_snapshot
from gre_bench.ingest.snapshot.snapshot import Snapshot

Note = dict[str, Any]
REFUSED = "the service refuses it"


@dataclass(frozen=True, slots=True)
class Sampled:
    """The sample: its *papers*, the papers whose versions and PDFs are *wanted*, and two counts of papers.

    *known* counts all kept papers, *eligible* those with enough human reviews. *notes*: remarks for the user.
    """

    papers: frozenset[str]
    wanted: frozenset[str]
    known: int
    eligible: int
    notes: tuple[str, ...] = ()


def sample_of(journal: Journal, venue: Venue, edition: EditionSettings, everything: bool = False) -> Sampled:
    """Returns the sample that a refresh draws from the journal; raises `SourceError` if it cannot be drawn.

    *everything*: versions and PDFs of all kept papers are wanted, not only of the sampled ones.
    """
    found = read_notes(received(journal), venue)
    drawn = draw(found.papers, found.reviews, edition)
    papers = frozenset(role.paper_id for role in drawn.roles)
    wanted = frozenset(paper.paper_id for paper in found.papers) if everything else papers
    return Sampled(papers, wanted, drawn.known, drawn.eligible, tuple(drawn.notes))


def needs_of(journal: Journal, venue: Venue, sampled: Sampled, histories: bool = True) -> Needs:
    """Returns what the wanted papers need besides the listings, whether or not it is already fetched.

    Without *histories*, no versions are needed.
    """
    notes = [note for note in received(journal) if note.get("forum") in sampled.wanted]
    rebuttal, released = _dates(venue)
    asked = [
        note["id"]
        for note in notes
        if (_is_review(note, venue) and review_versions.is_due(note, rebuttal))
        or (note["id"] == note["forum"] and pdf_versions.is_due(note, released))
    ]
    papers = tuple(sorted(numbers_of(notes, sampled.wanted, venue.api)))
    return Needs(lacking(journal), tuple(asked) if histories else (), papers)


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
    """Returns the snapshot of everything in *journal*, in a new folder under *root*.

    If there is one with the same contents and *source*, that one is returned. Raises `SourceError` if it is damaged, or
    if the new one cannot be written.
    """
    notes = list(received(journal))
    rebuttal, released = _dates(venue)
    reviews = [_review(note, journal, rebuttal) for note in notes if _is_review(note, venue)]
    papers = _papers(notes, journal, venue, sampled, released)
    files = {name: journal.pool.file(found.sha256) for name, found in journal.pdfs.items() if found.sha256}
    asked = {note["id"] for note in notes}
    beside, folder = root / f".sealing-{uuid.uuid4().hex}", root
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = make_snapshot(
            beside,
            edition.edition,
            notes,
            pdfs={name: file for name, file in files.items() if name in sampled.wanted},
            papers=papers,
            histories={name: list(found) for name, found in journal.histories.items() if name in asked},
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
            if _sound(folder).manifest.source == source:
                break
    except OSError as error:
        raise unwritten(root, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Snapshot.open(folder)


def _sound(folder: Path) -> Snapshot:
    """Returns the existing snapshot; raises `SourceError` unless all of it is intact."""
    try:
        found = Snapshot.open(folder)
        found.verify()
    except SourceError as error:
        raise SourceError(f"{error}: move that folder away, and the same command makes it anew") from None
    return found


def _review(note: Note, journal: Journal, rebuttal: int | None) -> dict[str, Any]:
    refused = () if ("history", note["id"]) in journal.refused else None
    chosen = review_versions.choose(note, journal.histories.get(note["id"], refused), rebuttal)
    return {
        "review_id": note["id"],
        "paper_id": note.get("forum"),
        "versions": chosen.versions,
        "version": chosen.version_id,
        "written_at": chosen.written_at,
        "rule": chosen.rule,
        "licence": _licence(note),
    }


def _papers(
    notes: list[Note], journal: Journal, venue: Venue, sampled: Sampled, released: int | None
) -> dict[str, dict[str, Any]]:
    decided = {note["forum"]: _accepted_ms(note, venue) for note in notes if _kind(note, venue) in venue.decisions}
    rows = {}
    for note in notes:
        if note["id"] != note.get("forum"):
            continue
        fetched = journal.pdfs.get(note["id"])
        asked = journal.histories.get(note["id"])
        rows[note["id"]] = {
            "pdf_problem": fetched.problem if fetched else REFUSED if ("pdf", note["id"]) in journal.refused else None,
            "pdf_version_status": pdf_versions.pdf_version_status(note, asked, released, decided.get(note["id"])),
            "licence": _licence(note),
            "sampled": note["id"] in sampled.papers,
        }
    return rows


def _counts(
    notes: list[Note], journal: Journal, venue: Venue, sampled: Sampled, papers: Mapping[str, Any], reviews: list[Any]
) -> dict[str, int]:
    """Returns the numbers of notes by outcome, reviews by rule and PDFs by status, and some totals."""
    outcomes = read_notes(notes, venue).counts
    mine = [papers[name] for name in sampled.wanted]
    rules = Counter(f"reviews_{row['rule']}" for row in reviews if row["paper_id"] in sampled.wanted)
    statuses = Counter(f"pdf_{row['pdf_version_status']}" for row in mine)
    return {
        **{f"outcome_{name}": count for name, count in outcomes.items() if name != "notes"},
        **dict(sorted(rules.items())),
        **dict(sorted(statuses.items())),
        "listed": sum(listed_of(journal, name)[0] for name in venue.listings),
        "listed_by_service": sum(listed_of(journal, name)[1] for name in venue.listings),
        "received_again": copies(journal),
        "replies_not_shown": not_shown(journal),
        "sampled": len(sampled.papers),
        "pdf_problems": sum(row["pdf_problem"] is not None for row in mine),
        "pdf_refused": sum(row["pdf_problem"] == REFUSED for row in mine),
    }


def _is_review(note: Note, venue: Venue) -> bool:
    return _kind(note, venue) in venue.reviews


def _kind(note: Note, venue: Venue) -> str | None:
    listed = [note.get("invitation")] if venue.api == 1 else note.get("invitations")
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) for one in listed):
        return None
    invitation = creating([one for one in listed if isinstance(one, str)])
    return kind_of(invitation) if invitation.startswith(f"{venue.group}/") else None


def _accepted_ms(note: Note, venue: Venue) -> int | None:
    """Returns when the paper was accepted (epoch ms); None for another decision."""
    value = (note.get("content") or {}).get(venue.decision)
    value = value.get("value") if isinstance(value, dict) else value
    made = note.get("tcdate") or note.get("cdate")
    return made if isinstance(value, str) and value.lower().startswith("accept") and isinstance(made, int) else None


def _licence(note: Note) -> str | None:
    return note["license"] if isinstance(note.get("license"), str) else None


def _dates(venue: Venue) -> tuple[int | None, int | None]:
    """Returns when the rebuttal opened and when reviews were released (epoch ms).

    If one is unknown, it equals the other; None if both are unknown.
    """
    return venue.rebuttal_ms or venue.released_ms, venue.released_ms or venue.rebuttal_ms
