"""Tasks that fetch an edition from OpenReview and read its papers, and a function that reads secrets."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gre_bench.ingest.openreview.fetching import (
    FetchOutcome,
    FetchRun,
    fetch_notes_into_journal,
    fetch_papers_into_journal,
    make_snapshot_from_journal,
)
from gre_bench.ingest.pdf.matter import parse_abstract_and_body
from gre_bench.ingest.pdf.reader import PdfReader
from gre_bench.ingest.snapshot import Snapshot
from gre_bench.tasks.policy import make_step


@make_step("fetch notes", "notes of {request.run}", 48, "openreview")
def fetch_notes(request: FetchRun) -> FetchOutcome:
    """Fetches submissions and reviews of a venue-year into the journal, the file that stores every received answer.

    Returns the numbers of requests by kind and, if the fetch stopped early, the reason.
    """
    return fetch_notes_into_journal(request, read_secret)


@make_step("fetch papers", "papers of {request.run}", 48, "openreview")
def fetch_papers(request: FetchRun) -> FetchOutcome:
    """Fetches versions and PDFs of the sampled papers; returns the same as `fetch_notes`.

    Stores every received answer in the journal of *request*.
    """
    return fetch_papers_into_journal(request, read_secret)


@make_step("seal snapshot", None, 1, "cpu")
def seal_snapshot(request: FetchRun) -> dict[str, Any]:
    """Makes a snapshot of everything in the journal of *request*; returns the snapshot's folder, digest and counts."""
    return make_snapshot_from_journal(request)


def read_secret(where: str) -> str:
    """Returns the secret at *where*, ``env:NAME`` or Prefect's ``block:NAME``; "" if there is none."""
    kind, _, name = where.partition(":")
    if kind == "env":
        return os.environ.get(name, "").strip()
    from prefect.blocks.system import Secret

    try:
        block: Any = Secret.load(name)
        return str(block.get())
    except ValueError:  # no block has this name
        return ""


@make_step("read papers", None, 2, "cpu")
def read_papers(snapshot: str, paper_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the texts of papers in the snapshot folder *snapshot*, as rows of the table ``texts``.

    A paper without a PDF or a text has no row. The text is None if the PDF is unusable, for example because it
    belongs to another paper. Each row also has *title*, which may be None, and *words*. *words* lists, for each page,
    the page number and a mapping: reason → the number of words kept or dropped for that reason. A text without pages
    counts as one page, 0. PDFs are read in child processes with limits, one per core.
    """
    opened = Snapshot.open(Path(snapshot))
    rows: dict[str, dict[str, Any] | None] = dict.fromkeys(paper_ids)
    for paper_id in paper_ids:
        if (text := opened.text(paper_id)) is not None:
            body, sha256 = parse_abstract_and_body(text), hashlib.sha256(text.encode()).hexdigest()
            rows[paper_id] = {
                "paper_id": paper_id, "origin": "given", "sha256": sha256,
                "status": "doubtful" if body.doubts else "ok", "pages": None, "abstract": body.abstract,
                "text": body.text, "notes": list(body.doubts), "words": [(body.words.page, dict(body.words.words))],
                "title": None,
            }  # fmt: skip
    # Files are loaded one at a time, because hundreds of PDFs do not fit into memory.
    known = opened.papers()
    due = {paper_id: known[paper_id]["pdf"] for paper_id in paper_ids if rows[paper_id] is None and paper_id in known}
    due = {paper_id: sha256 for paper_id, sha256 in due.items() if sha256}
    with PdfReader() as reader:
        for paper_id, read in reader.read_all(due, lambda paper_id: opened.pdf(paper_id) or b""):
            rows[paper_id] = {
                "paper_id": paper_id, "origin": "pdf", "sha256": due[paper_id], "status": read.status,
                "pages": read.pages, "abstract": read.abstract, "text": read.usable, "notes": read.format_remarks(),
                "words": [(page.page, dict(page.words)) for page in read.words],
                "title": read.title if read.usable else None,
            }  # fmt: skip
    return [row for row in rows.values() if row]
