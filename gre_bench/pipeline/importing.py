"""Imports files of papers and reviews into an edition's store, and reports which rows were refused and why.

A report also summarises the judgments of the imported reviews. If the writer found too few judgments in a candidate's
reviews, the candidate's score would be unfairly low; the summary shows this.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gre_bench.catalogs.domains import IMPORTED_SYNOPSIS, load_domain
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import list_regular_files, open_regular_file
from gre_bench.core.judgments import count_judgments
from gre_bench.core.known_names import format_name_list
from gre_bench.core.process import return_freed_memory
from gre_bench.core.records import HUMAN, Judgments, Paper, Review
from gre_bench.core.settings import LICENCE
from gre_bench.core.terminal import counted
from gre_bench.ingest.datasets.graded import read_graded_reviews
from gre_bench.ingest.datasets.yelp import SampleCriteria, sample_restaurants
from gre_bench.ingest.records.cells import UNKNOWN, ImportResult
from gre_bench.ingest.records.columns import AS_NAMED, ColumnOptions
from gre_bench.ingest.records.opening import resolve_local_path
from gre_bench.ingest.records.tables import LabelledPoint, read_new_papers, read_new_points, read_new_reviews
from gre_bench.ingest.snapshot import is_redistributable
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store, now, queries
from gre_bench.writing.writers import is_rule

EXAMPLES = 3
AT_ONCE = 100
"""The maximum number of papers that one transaction stores, and of records of any kind that one query stores."""
MOST_STORED = 1_000
"""The maximum number of reviews, or of judgments, that one transaction stores, unless they replace others."""
UNKNOWN_LICENCE = "unknown"
"""If an import states this licence, it withdraws the licence that an earlier import stated."""
Step = tuple[str, Sequence[Any] | Mapping[str, Any]]
"""A query's name and its rows or parameters, as `Store.write` takes them."""


def import_papers(
    store: Store, run_id: str, path: Path, rows: range | None = None, licence: str | None = None,
    reading: ColumnOptions = AS_NAMED,
) -> dict[str, Any]:  # fmt: skip
    """Imports the papers in the file *path*, or only those in *rows*; returns the report of `store_imported`."""
    path, known = resolve_local_path(path), {paper.paper_id: paper for paper in read_known_papers(store)}
    store.close_database()
    imported = read_new_papers(path, known, rows, reading)
    reading.require_all_headers_used()
    return store_imported(store, run_id, path, "papers", imported, licence=licence)


def import_reviews(
    store: Store, run_id: str, path: Path, by: str | None = None, writer: str | None = None, rows: range | None = None,
    make_papers: bool = False, only: bool = False, epoch: int | None = None, licence: str | None = None,
    reading: ColumnOptions = AS_NAMED,
) -> dict[str, Any]:  # fmt: skip
    """Imports the reviews and judgments in the file *path*; returns the report of `store_imported`.

    - *by*: the candidate to assume for rows that name none.
    - *only*: whether all rows belong to *by*, even rows that name another candidate.
    - *writer*: the writer to assume for judgments that name none.
    - *make_papers*: whether to add papers that the rows name and the edition lacks.
    - *epoch*: the epoch to read from inspect_ai logs, which may hold several.

    Raises `SourceError` if *by* is stated although every row names a candidate, and not all of them name *by*. With
    *only*, it is not raised for this reason.
    """
    path, known = resolve_local_path(path), read_known_reviews(store)
    imported = read_new_reviews(
        path, *load_reviews_judgments_and_paper_ids(store, known), by=by, only=only, writer=writer, rows=rows,
        make_papers=make_papers, epoch=epoch, reading=reading,
    )  # fmt: skip
    reading.require_all_headers_used()
    if by is not None and not only and not imported.unnamed and imported.named not in ((), (by,)):
        raise SourceError(
            f"{path.name} names its candidates itself, in its column candidate ({format_name_list(imported.named)}): "
            "leave out --as and --human"
        )
    report = store_imported(store, run_id, path, "reviews", imported, licence=licence)
    return report | {"judged": summarise_judgments(store, imported.reviews, imported.judgments, known)}


def load_reviews_judgments_and_paper_ids(
    store: Store, known: Sequence[Review]
) -> tuple[dict[str, Review], dict[tuple[str, str], str], list[str]]:
    """Returns the three arguments of `read_new_reviews` that describe the stored records, in its order.

    - review id → review, for the stored reviews *known*;
    - (review id, writer) → the writer's judgments of the review, for the same reviews;
    - the ids of all stored papers.
    """
    reviews = {review.review_id: review for review in known}
    judged = {(row["review_id"], row["writer"]): row["text"]
              for row in store.rows(queries.JUDGMENTS) if row["review_id"] in reviews}  # fmt: skip
    return reviews, judged, [paper.paper_id for paper in read_known_papers(store, bodies=False)]


def parse_row_range(text: str | None) -> range | None:
    """Returns *text*, such as ``0:300``, as a range of rows; raises `SettingsError` if it is malformed or empty."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,12}):(\d{1,12})", text)
    if match is None:
        raise SettingsError(f"rows {text!r:.60} are not written as FIRST:END, such as 0:300")
    rows = range(int(match[1]), int(match[2]))
    if not rows:
        raise SettingsError(f"rows {text!r} hold no row: END is the first row left out, so write it above FIRST")
    return rows


def read_known_papers(store: Store, bodies: bool = True, ids: Sequence[str] | None = None) -> list[Paper]:
    """Returns all stored papers of the edition's venue and year, sampled or not.

    *ids*: if given, only the papers with these ids. *bodies*: whether to include their texts, tens of kilobytes each.
    """
    if bodies and ids is None:
        # DuckDB holds several copies of the texts that it sorts.
        every = [row["paper_id"] for row in store.rows(queries.PAPERS, bodies=False)]
        return [paper for some in _split_records_into_parts(every) for paper in read_known_papers(store, ids=some)]
    return [Paper(**row) for row in store.rows(queries.PAPERS, bodies=bodies, ids=ids)]


def load_papers_by_id(store: Store, ids: Sequence[str], bodies: bool = True) -> list[Paper]:
    """Returns the stored papers *ids* in this order. If a paper has no abstract, the abstract in its PDF is taken.

    *bodies*: whether to include their texts.
    """
    papers = {paper.paper_id: paper for paper in read_known_papers(store, bodies, ids)}
    for row in store.rows(queries.TEXTS, bodies=bodies, ids=ids):
        paper = papers[row["paper_id"]]
        read = replace(paper, abstract=paper.abstract or row["abstract"], text=row["text"] or paper.text)
        papers[paper.paper_id] = read
    return [papers[paper_id] for paper_id in ids]


def read_known_reviews(store: Store, texts: bool = True, papers: Sequence[str] | None = None) -> list[Review]:
    """Returns the stored reviews, by humans and by all other candidates.

    *texts*: whether to include their texts. *papers*: if given, only the reviews of the papers with these ids.
    """
    return [Review(**row) for row in store.rows(queries.REVIEWS, texts=texts, papers=papers)]


def load_papers_and_reviews_by_id(store: Store) -> tuple[dict[str, Paper], dict[str, Review]]:
    """Returns paper id → paper for all stored papers, and review id → review for all stored reviews."""
    papers = {paper.paper_id: paper for paper in read_known_papers(store)}
    return papers, {review.review_id: review for review in read_known_reviews(store)}


def load_stated_categories(store: Store) -> dict[str, str]:
    """Returns paper id → the paper's categories, as an imported file states them."""
    return {
        row["paper_id"]: row["text"]
        for row in store.rows(queries.SYNOPSES, kind="categories", writer=IMPORTED_SYNOPSIS)
    }


def store_imported(
    store: Store, run_id: str, path: Path, kind: str, imported: ImportResult, domain: str | None = None,
    before: Sequence[Step] = (), licence: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Stores the records *imported* from the file *path*, records the import, and returns a report.

    - *kind*: what the file holds, such as ``reviews``. *domain*: the domain that the file states, if any.
    - *before*: steps for `Store.write` that run first, in the same transaction.
    - *licence*: the licence of all texts in the file, even of those stored before; ``unknown`` withdraws an earlier
      licence, None changes nothing. Releases withhold texts without a licence.

    Papers are removed from *imported* as they are stored, so that their texts do not stay in memory.

    The report has the numbers of records and of refused rows, and the file to which refused rows are written.
    """
    refusals = [asdict(refusal) for refusal in imported.refusals]
    refusals_file = write_refusals(store, run_id, path, imported) if refusals else None
    # Tells users what the licence means for releases; each OpenReview note states its own licence.
    licence_line = (
        f"licence: {licence}; releases {'include' if is_redistributable(licence) else 'withhold'} texts under it"
    )
    if licence in (None, UNKNOWN_LICENCE):
        licence_line = "licence: unknown, so releases withhold these texts; --licence states it"
    counts = {"unchanged": imported.unchanged, "refused": len(refusals)}
    report: dict[str, Any] = {
        "file": str(path.resolve()),
        "kind": kind,
        **{name: len(getattr(imported, name)) for name in ("papers", "reviews", "judgments", "synopses")},
        **counts,
        "refusals": refusals,
        "unknown_papers": report_unknown_papers(store, imported),
        "ignored_columns": list(imported.ignored_columns),
        "notes": list(imported.notes),
        "row_counts": imported.row_counts,
        "refusals_file": refusals_file and str(refusals_file),
        "licence": licence,
        "licence_line": None if licence is None and kind == "notes" else licence_line,
    }
    by = {"run_id": run_id, "file": report["file"]}
    about = {"sha256": file_sha256(path), "kind": kind, "added": imported.added, "domain": domain, "happened_at": now()}
    stating: list[Step] = []
    for named, ids in (("paper", sorted(imported.paper_ids)), ("review", sorted(imported.review_ids))):
        if licence == UNKNOWN_LICENCE:
            stating.append(("forget_licences", {"kind": named, "item": ids}))
        elif licence is not None:
            stating.append(("put_licences", [{"kind": named, "item": item, "licence": licence} for item in ids]))
    last: list[Step] = [*before]
    for named, query, records, most in (
        ("paper", "put_papers", imported.papers, AT_ONCE),
        ("review", "put_reviews", imported.reviews[:], MOST_STORED),
        ("judgments", "add_judgments", imported.judgments[:], MOST_STORED),
    ):
        # A transaction takes ten times the memory of its texts, so a large file is stored in several. If the import is
        # stopped between two of them, repeating it adds the rest.
        while len(records) > most and not before:
            store.write(*_build_storing_steps(by, named, query, records[:most]))
            del records[:most]
            return_freed_memory()
        last += _build_storing_steps(by, named, query, records)
    store.write(
        *last,
        ("put_synopses", [asdict(item) | {"writer": IMPORTED_SYNOPSIS} for item in imported.synopses]),
        *stating,
        ("add_import", by | counts | about),
    )
    store.close_database()
    return report


def _build_storing_steps(by: dict[str, Any], named: str, query: str, records: Sequence[Any]) -> list[Step]:
    """Returns the steps that store *records* with *query*, and record that an import added them.

    *by*: the import's run and file. *named*: the kind of the records: ``paper``, ``review`` or ``judgments``.
    """
    noted = [
        by | {"kind": named, "item": record.paper_id if named == "paper" else record.review_id,
              "writer": record.writer if named == "judgments" else ""}
        for record in records
    ]  # fmt: skip
    rows = [build_judgments_row(record) for record in records] if named == "judgments" else records
    return [("note_additions", noted), *((query, some) for some in _split_records_into_parts(rows))]


def _split_records_into_parts(records: Sequence[Any]) -> list[Sequence[Any]]:
    return [records[first : first + AT_ONCE] for first in range(0, len(records), AT_ONCE)]


def write_refusals(store: Store, run_id: str, path: Path, imported: ImportResult) -> Path:
    """Writes the refused rows of the file *path* with their reasons, one per line; returns the written file."""
    stem = path.stem.encode()[:100].decode(errors="ignore")
    file = store.folder / "refused" / f"{run_id}-{stem}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(asdict(refusal), ensure_ascii=True) + "\n" for refusal in imported.refusals))
    return file


def parse_licence(text: str | None) -> str | None:
    """Returns *text*, the name of a licence; raises `SettingsError` if it does not look like one."""
    if text is not None and not re.fullmatch(LICENCE, text):
        raise SettingsError(
            f"licence {text!r} is not a name such as CC BY 4.0: up to 100 printable characters, without a comma"
        )
    return text


def build_judgments_row(judgments: Judgments) -> dict[str, Any]:
    """Returns *judgments* as a row of the table ``judgments``, with the numbers of ``lines`` and of ``strays``.

    A stray is a line that does not have the form of a judgment.
    """
    lines, strays = count_judgments(judgments.text)
    return asdict(judgments) | {"lines": lines, "strays": strays}


def report_unknown_papers(store: Store, imported: ImportResult) -> dict[str, Any] | None:
    """Returns a report on refused rows that name papers unknown to the edition; None if there are none.

    ``known`` is the number of the edition's papers, and ``line`` a message for users.
    """
    rows = [str(refusal.paper_id) for refusal in imported.refusals if refusal.code == UNKNOWN]
    if not rows:
        return None
    unknown, known = (
        list(dict.fromkeys(rows)),
        sorted(paper.paper_id for paper in read_known_papers(store, bodies=False)),
    )
    known_line = f"{len(known):,} are known, such as {', '.join(known[:EXAMPLES])}" if known else "none is known"
    line = (
        f"{counted(len(rows), 'row')} of {counted(len(unknown), 'paper')} that {store.key} does not know, such as "
        f"{', '.join(unknown[:EXAMPLES])}; {known_line}; import papers first, or correct the ids"
    )
    return {"rows": len(rows), "papers": unknown, "known": len(known), "line": line}


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 of the file *path* in hex; for a folder, that of what ``sha256sum`` prints for its files.

    Links in the folder are not followed.
    """
    if path.is_dir():
        files = list_regular_files(path)[0]
        lines = "".join(f"{file_sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in files)
        return hashlib.sha256(lines.encode()).hexdigest()
    with open_regular_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # pyrefly: ignore


MOST_READ = 300
"""The maximum number of reviews per candidate that are summarised."""


def summarise_judgments(
    store: Store, imported: Sequence[Review], judgments: Sequence[Judgments], known: Sequence[Review]
) -> dict[str, Any] | None:
    """Returns a summary of the judgments of imported and of human reviews; None if no review was imported.

    *judgments*: the imported judgments; if there are none, the writer ``rule`` extracts them here. *known*: the reviews
    that were stored before. The summary has these entries:

    - ``writer``: the writer of the judgments.
    - ``candidates``: one row per candidate (from the query ``described_judgments``), with an example. It is empty if
      only an LM could write the judgments, because an import never pays for replies.
    - ``losses``: a line for each way in which the writer ``rule`` loses text of the reviews.
    """
    from gre_bench.writing.rules.judgments import WRITER, describe_lost_text, write_rule_judgments

    if not imported:
        return None
    if judgments:
        writer = judgments[0].writer
        texts = {item.review_id: item.text for item in judgments if item.writer == writer}
        texts |= {row["review_id"]: row["text"] for row in store.rows(queries.JUDGMENTS) if row["writer"] == writer}
    else:
        last = store.rows(queries.LAST_SETTINGS)
        writer = (json.loads(last[0]["settings"])["writing"]["judgments"] if last else None) or "rule"
        if not is_rule(writer):
            return {"writer": writer, "candidates": [], "losses": []}
        writer, texts = WRITER, {}
    rows = []
    for review in _list_first_reviews(imported, known):
        if judgments and review.review_id not in texts:
            continue
        text = texts[review.review_id] if judgments else write_rule_judgments(review.text or "")
        rows.append(
            {"candidate_id": review.candidate, "review_id": review.review_id, "review": review.text, "judgments": text,
             "lines": count_judgments(text or "")[0]}
        )  # fmt: skip
    columns = {key: [row[key] for row in rows] for key in rows[0]} if rows else {}
    summaries = store.rows(queries.DESCRIBED_JUDGMENTS, **columns) if rows else []
    text_of = {row["review_id"]: row["judgments"] or "" for row in rows}
    candidates = []
    for row in map(dict, summaries):
        # The example is the first line of the longest judgments that the candidate has for one review.
        lines = str(text_of.get(row.pop("longest_id"), "")).splitlines()
        candidates.append(row | {"example": lines[0] if lines else None})
    read = [] if judgments else _list_first_reviews(imported)
    losses = describe_lost_text([(review.paper_id, review.text or "") for review in read])
    return {"writer": writer, "candidates": candidates, "losses": losses}


def _list_first_reviews(imported: Sequence[Review], known: Sequence[Review] = ()) -> list[Review]:
    """Returns at most `MOST_READ` reviews by humans, and as many by each candidate in *imported*, by candidate.

    Reviews in *imported* come before those in *known*.
    """
    return [
        review
        for name in sorted({review.candidate for review in imported} | {HUMAN})
        for review in [item for item in (*imported, *known) if item.candidate == name][:MOST_READ]
    ]


def import_yelp(
    store: Store, run_id: str, businesses: Path, reviews: Path, terms: SampleCriteria, licence: str | None = None
) -> dict[str, Any]:
    """Imports a sample of restaurants, with reviews and categories, from Yelp's files *businesses* and *reviews*.

    *terms*: which restaurants to sample. Returns the report of `store_imported` with ``left_out``: reason → number of
    records.
    """
    imported = sample_restaurants(
        businesses, reviews, *load_papers_and_reviews_by_id(store), terms, load_stated_categories(store)
    )
    report = store_imported(store, run_id, reviews, "yelp", imported, "yelp", licence=licence)
    return report | {
        "businesses": {"file": str(businesses.resolve()), "sha256": file_sha256(businesses)},
        "left_out": imported.left_out,
        "notes": [f"left out: {count} {reason}" for reason, count in imported.left_out.items() if count],
    }


def import_graded_reviews(
    store: Store, run_id: str, path: Path, domain: str | None, grade_column: str | None, grades: Sequence[str] | None,
    licence: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Imports the reviewed items in *path* and their graded reviews; returns the report of `store_imported`.

    *grades*: the names of the grades, worst first; None: the layout of the file determines them.
    """
    papers, known = load_papers_and_reviews_by_id(store)
    graded = read_graded_reviews(path, papers, known, load_domain(domain) if domain else None, grade_column, grades)
    report = store_imported(store, run_id, path, "graded", graded.imported, graded.domain, licence=licence)
    reviews = known | {review.review_id: review for review in graded.imported.reviews}
    alone = sum(count == 1 for count in Counter(review.paper_id for review in reviews.values()).values())
    ungraded = sum(review.grade is None for review in reviews.values())
    notes = [f"read as {graded.layout}, domain {graded.domain}, grades from column {graded.grade_column}"]
    if alone:
        notes.append(f"{alone} items have one review: no reference, so no score under a metric that needs one")
    if ungraded:
        notes.append(f"{ungraded} reviews have no grade: they serve as references only")
    return report | {"notes": [*notes, *report["notes"]]}


def set_job_domain(job: Job) -> Job:
    """Returns *job* with its domain set, and with the domain's prompt and synopsis parts unless the settings name some.

    If the settings name no domain, that of an imported file is used. Raises `SettingsError` for an unknown domain.
    """
    edition, scoring = job.settings.edition, job.settings.scoring
    store = Store(job.state, edition.edition)
    if "domain" not in edition.model_fields_set and store.is_readable:
        imported = [row["domain"] for row in store.read_with_repair(queries.IMPORTED_DOMAIN)]
        edition = edition.model_copy(update={"domain": imported[0]}) if imported else edition
    domain = load_domain(edition.domain)
    defaults: dict[str, Any] = {"prompt": domain.predict, "synopsis_of": domain.synopsis_of}
    unnamed = {name: value for name, value in defaults.items() if name not in scoring.model_fields_set}
    update = {"edition": edition, "scoring": scoring.model_copy(update=unnamed)}
    return replace(job, settings=job.settings.model_copy(update=update))


def load_stored_points(store: Store) -> dict[str, LabelledPoint]:
    """Returns id → point, for all stored points. A point is a remark of a review, with labels."""
    return {
        row["point_id"]: LabelledPoint(
            row["point_id"], row["paper_id"], row["review_id"], row["candidate"], row["text"], row["place"],
            json.loads(row["labels"]),
        )
        for row in store.rows(queries.POINTS)
    }  # fmt: skip


def import_labelled_points(
    store: Store, run_id: str, path: Path, orders: Mapping[str, Mapping[str, float]], reading: ColumnOptions = AS_NAMED
) -> dict[str, Any]:
    """Imports the labelled points (remarks of reviews) in the file *path*; returns the report of `store_imported`.

    *orders*: label → value → rank, for labels whose values are words (see `parse_ordered_labels`).
    """
    path, (papers, reviews) = resolve_local_path(path), load_papers_and_reviews_by_id(store)
    points, imported = read_new_points(path, load_stored_points(store), reviews, papers.keys(), orders, reading)
    reading.require_all_headers_used()
    rows = [asdict(point) | {"labels": json.dumps(point.labels, sort_keys=True), "run_id": run_id} for point in points]
    report = store_imported(store, run_id, path, "graded", imported, before=[("put_points", rows)])
    withheld = "texts and labels of points are in no release"
    return report | {"kind": "points", "points": len(points), "licence_line": withheld}
