"""Imports the sources that the settings name, saves notes and PDFs as a snapshot, and reads the papers' texts.

A note is a record of OpenReview, such as a paper or a review. A fetched snapshot states the version of each review, the
version of each paper's PDF, and the licences. A snapshot of a user's own files states none of these. Each note may
state its own licence (OpenReview API v2).
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError, build_missing_file_error
from gre_bench.core.incoming import check_file_name_is_utf8, explain_refused_file, use_file_limits
from gre_bench.core.records import Edition
from gre_bench.core.settings import Settings, SourceSettings
from gre_bench.core.terminal import counted
from gre_bench.core.whole_files import hold_file_lock
from gre_bench.ingest.pdf.text import SOUND
from gre_bench.ingest.records.notes import check_review_form, read_notes, select_new_records
from gre_bench.ingest.records.row_files import read_notes_file, read_paper_texts
from gre_bench.ingest.records.venues import check_verified, find_venue_entry
from gre_bench.ingest.snapshot import MANIFEST, NOTES, UNSTATED, Snapshot, make_snapshot
from gre_bench.pipeline.importing import (
    file_sha256,
    import_papers,
    import_reviews,
    load_papers_and_reviews_by_id,
    parse_row_range,
    store_imported,
)
from gre_bench.pipeline.planning import read_sampled_ids
from gre_bench.pipeline.runs.job import Job, Progress
from gre_bench.store import Store, now
from gre_bench.store.queries import SNAPSHOT, TEXT_STATES, UNREAD
from gre_bench.tasks import steps


def import_sources(store: Store, run_id: str, settings: Settings) -> None:
    """Imports the notes, the papers and the reviews that the settings name, in this order.

    Raises `SourceError` if a row is refused; what earlier files added stays in the store.
    """
    sources, reports = settings.sources, []
    rows = parse_row_range(sources.rows)
    with use_file_limits(settings.inputs.memory, settings.inputs.seconds):
        if sources.notes or sources.snapshot:
            reports.append(import_notes(store, run_id, settings.edition.edition, sources))
        if sources.papers:
            reports.append(import_papers(store, run_id, sources.papers, licence=sources.licence))
        if sources.reviews:
            how = (sources.reviews_by, sources.writer, rows, sources.papers_from_reviews)
            reports.append(import_reviews(store, run_id, sources.reviews, *how, licence=sources.licence))
    for report in reports:
        name, file = Path(report["file"]).name, report["refusals_file"]
        if unknown := report["refused"] and report["unknown_papers"]:
            raise SourceError(f"{name}: {unknown['line']}; all: {file}")
        if report["refused"]:
            first = report["refusals"][0]
            raise SourceError(
                f"{name}: {counted(report['refused'], 'row')} refused, first {first['item']} (row {first['number']}): "
                f"{first['reason']}; all of them: {file}"
            )


def import_notes(
    store: Store, run_id: str, edition: Edition, sources: SourceSettings, licence: str | None = None
) -> dict[str, Any]:
    """Makes or copies a snapshot of the notes, PDFs and texts that *sources* name, and imports its papers and reviews.

    Returns the report of `store_imported` with further counts. From a fetched snapshot, imports the version that each
    review had before the rebuttal. *licence*: as in `store_imported`, for notes that state none.
    """
    venue = find_venue_entry(edition.venue, edition.year)
    check_verified(venue, sources.unverified_venue)
    if sources.snapshot is not None:
        snapshot = copy_snapshot(store, edition, sources)
    else:
        snapshot = seal_source_snapshot(store, edition, sources, [venue.unverified] if venue.unverified else [])
    notes = read_notes(snapshot.list_notes_as_counted(), venue)
    if venue.unverified and sources.unverified_venue == "confirm":
        check_review_form(venue, notes)
    imported = select_new_records(notes, *load_papers_and_reviews_by_id(store))
    if licence is not None:
        stating = read_licences(snapshot, imported.paper_ids | imported.review_ids).keys()
        imported.paper_ids -= stating
        imported.review_ids -= stating
    report = store_imported(store, run_id, sources.notes or snapshot.folder / NOTES, "notes", imported, licence=licence)
    ids = [paper.paper_id for paper in notes.papers]
    store.write(
        ("add_snapshot", {"digest": snapshot.digest, "path": snapshot.folder.name, "imported_at": now()}),
        ("put_review_versions", list_review_versions(snapshot, {review.review_id for review in notes.reviews})),
        ("put_paper_sources", list_paper_sources(snapshot, set(ids))),
        ("put_paper_strata", [{"paper_id": paper_id, "stratum": stratum, "value": value}
                              for (paper_id, stratum), value in notes.strata.items()]),
    )  # fmt: skip
    bodies = sum(snapshot.pdf(name) is not None or snapshot.text(name) is not None for name in ids)
    counts = {"counts": notes.counts, "strange": notes.strange, "unclear": notes.unclear}
    return report | counts | {"snapshot": str(snapshot.folder), "bodies": bodies, "known_papers": len(ids)}


def copy_snapshot(store: Store, edition: Edition, sources: SourceSettings) -> Snapshot:
    """Copies the snapshot that *sources* name into the state folder, unless the copy exists; returns the copy.

    If *sources* name a folder of snapshots, copies the newest one of the edition's venue and year. Raises
    `SettingsError` if *sources* also name notes, PDFs or texts. Raises `SourceError` if there is no snapshot, or if it
    is damaged or of another venue or year.
    """
    if sources.notes or sources.pdfs or sources.texts:
        raise SettingsError("sources.snapshot has notes and PDFs of its own; leave out sources.notes, pdfs and texts")
    assert sources.snapshot is not None
    given = sources.snapshot
    if not (given / MANIFEST).is_file():
        known = [path.parent for path in given.glob(f"{edition.venue}-{edition.year}-*/{MANIFEST}")]
        if not known:
            raise SourceError(f"no snapshot of {edition.venue} {edition.year} at {given}; make one: gre-bench fetch")
        given = max(known, key=lambda path: Snapshot.open(path).manifest.created_at)
    snapshot = Snapshot.open(given)
    venue_year = (snapshot.manifest.venue, snapshot.manifest.year)
    if venue_year != (edition.venue, edition.year):
        name = " ".join(map(str, venue_year))
        raise SourceError(f"snapshot {sources.snapshot} is of {name}, the edition of {edition.venue} {edition.year}")
    folder = find_snapshot_folder(store) / f"{edition.venue}-{edition.year}-{snapshot.digest[:12]}"
    with lock_snapshot_folder(folder):
        if not folder.is_dir():
            snapshot.verify()
            beside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
            shutil.copytree(snapshot.folder, beside)
            beside.rename(folder)
    return Snapshot.open(folder)


@contextmanager
def lock_snapshot_folder(folder: Path) -> Iterator[None]:
    """Holds a lock during the block, so that only one process at a time fills the snapshot *folder*.

    First deletes unfinished copies of this folder that killed runs left behind.
    """
    with hold_file_lock(folder.parent / "lock", f"the folder of snapshots {folder.parent}"):
        for left in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def seal_source_snapshot(
    store: Store, edition: Edition, sources: SourceSettings, remarks: Sequence[str] = ()
) -> Snapshot:
    """Returns the snapshot of the notes, PDFs and texts that *sources* name; makes it if there is none.

    *remarks*: stored in a new snapshot. A damaged snapshot is renamed and remade. Raises `SourceError` for a missing
    file, and for links, pipes or devices among the PDFs.
    """
    for file in (sources.notes, sources.texts):
        if file is not None and not file.is_file():
            raise build_missing_file_error(file)
    if sources.pdfs is not None and not sources.pdfs.is_dir():
        raise SourceError(f"no folder {sources.pdfs}; PDFs lie in a folder as <paper id>.pdf")
    pdfs: dict[str, Path] = {}
    if sources.pdfs is not None:
        files = sorted(sources.pdfs.glob("*.pdf"))
        for file in files:
            check_file_name_is_utf8(file)
        if refused := [f"{file.name}: {reason}" for file in files if (reason := explain_refused_file(file))]:
            raise SourceError(
                f"{sources.pdfs} holds what is not read: {'; '.join(refused)}; put the PDFs themselves there"
            )
        pdfs = {file.stem: file for file in files}
    whole = hashlib.sha256()
    for file in (sources.notes, sources.texts, *pdfs.values()):
        if file:
            whole.update(f"{file.name} {file_sha256(file)}\n".encode())
    folder = find_snapshot_folder(store) / f"{edition.venue}-{edition.year}-{whole.hexdigest()[:12]}"
    with lock_snapshot_folder(folder):
        if folder.is_dir():
            try:
                snapshot = Snapshot.open(folder)
                snapshot.verify()
                return snapshot
            except SourceError:
                # The snapshot is damaged: it is renamed, and remade from the files.
                folder.rename(folder.with_name(f"{folder.name}.damaged-{now():%Y%m%dT%H%M%S}"))
        texts = read_paper_texts(sources.texts) if sources.texts else {}
        assert sources.notes is not None
        notes = read_notes_file(sources.notes)
        source = f"files: {sources.notes.name}"
        return make_snapshot(folder, edition, notes, pdfs=pdfs, texts=texts, source=source, remarks=remarks)


def find_snapshot_folder(store: Store) -> Path:
    """Returns the folder that holds the snapshots of all editions in the state folder of *store*."""
    return store.folder.parent.parent / "snapshots"


def read_missing_paper_texts(store: Store, job: Job, progress: Progress) -> None:
    """Reads the missing texts of sampled papers from the last imported snapshot, and stores them in chunks."""
    snapshot = store.rows(SNAPSHOT)
    if not snapshot:
        return
    unread = {row["paper_id"] for row in store.rows(UNREAD)}
    due = [name for name in read_sampled_ids(store, job.limit) if name in unread]
    progress.stage("reading papers")
    progress.expect(len(due))
    papers = iter(due)
    while some := list(islice(papers, job.settings.writing.chunk)):
        texts = steps.read_papers(str(find_snapshot_folder(store) / snapshot[0]["path"]), some)
        words = [
            {"paper_id": text["paper_id"], "page": page, "fate": fate, "words": count}
            for text in texts
            for page, counts in text.pop("words")
            for fate, count in counts.items()
        ]
        titles = [{"paper_id": text["paper_id"], "title": title} for text in texts if (title := text.pop("title"))]
        again = {"paper_id": [text["paper_id"] for text in texts]}
        store.write(
            ("put_texts", texts), ("name_untitled", titles), ("forget_text_words", again), ("add_text_words", words)
        )
        progress.advance(len(some))


def describe_poor_extraction(store: Store, limit: int | None) -> list[str]:
    """Returns notes on poorly extracted texts of the first *limit* sampled papers (None: all), one note per status."""
    sampled = set(read_sampled_ids(store, limit))
    ids_by_status: dict[tuple[str, bool], list[str]] = {}
    for row in store.rows(TEXT_STATES):
        if row["paper_id"] in sampled and row["status"] not in SOUND:
            ids_by_status.setdefault((row["status"], bool(row["characters"])), []).append(row["paper_id"])
    return [
        f"papers read with status {status}: {len(ids)} ({'text in use' if text else 'without text'}), first {ids[0]}; "
        f"see gre-bench papers texts {store.key}"
        for (status, text), ids in sorted(ids_by_status.items())
    ]


AS_GIVEN = "as_given"
"""The rule for a review whose history was not fetched: its text in the file is used."""


def list_review_versions(snapshot: Snapshot, kept: Set[str]) -> list[dict[str, Any]]:
    """Returns rows of the table ``review_versions``: which version of each review in *kept* was imported."""
    fetched = {row["review_id"]: row for row in snapshot.reviews() if row["review_id"] in kept}
    unfetched = read_licences(snapshot, kept - fetched.keys())
    return [
        {"review_id": name, "versions": 1, "version_id": None, "written_at": None, "rule": AS_GIVEN, "licence": licence}
        for name, licence in unfetched.items()
    ] + [
        {"review_id": row["review_id"], "versions": row["versions"], "version_id": row["version"],
         "written_at": datetime.fromtimestamp(row["written_at"] / 1000, UTC) if row["written_at"] else None,
         "rule": row["rule"], "licence": row["licence"]}
        for row in fetched.values()
    ]  # fmt: skip


def list_paper_sources(snapshot: Snapshot, kept: Set[str]) -> list[dict[str, Any]]:
    """Returns rows of the table ``paper_sources``: hash, version and licence of the PDF of each paper in *kept*."""
    known = snapshot.papers()
    stated = read_licences(snapshot, kept - {name for name, row in known.items() if row["licence"]})
    names = ("pdf_problem", "pdf_version_status")
    rows = {paper_id: {**UNSTATED, **known.get(paper_id, {})} for paper_id in (known.keys() | stated.keys()) & kept}
    return [
        {"paper_id": paper_id, "pdf_sha256": row["pdf"], "licence": row["licence"] or stated.get(paper_id)}
        | {name: row[name] for name in names}
        for paper_id, row in sorted(rows.items())
    ]


def read_licences(snapshot: Snapshot, kept: Set[str]) -> dict[str, str]:
    """Returns note id → licence, for each note in *kept* that states a licence."""
    if not kept:
        return {}
    return {
        note["id"]: note["license"]
        for note in snapshot.notes()
        if isinstance(note.get("license"), str) and isinstance(note.get("id"), str) and note["id"] in kept
    }
