"""The task that reads the papers of a snapshot, from plain texts or PDFs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from gre_bench.ingest.pdf.matter import body_of
from gre_bench.ingest.pdf.reader import PdfReader
from gre_bench.ingest.pdf.text import PdfText
from gre_bench.ingest.snapshot.snapshot import Snapshot
from gre_bench.tasks.policy import HOUR


@task(name="read papers", tags=["cpu"], timeout_seconds=2 * HOUR, cache_policy=NO_CACHE, persist_result=False)
def read_papers(snapshot: str, paper_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the texts of papers in the snapshot folder *snapshot*, as rows of the table ``texts``.

    A paper without a PDF or a text has no row. Each row also has *words*, a list of (page number, reason → number of
    words kept or dropped for this reason). A text without pages has page 0. PDFs are read in child processes with
    limits, one per core at a time.
    """
    opened = Snapshot.open(Path(snapshot))
    rows = {paper_id: _given_text(paper_id, opened.text(paper_id)) for paper_id in paper_ids}
    # Files are loaded one at a time: hundreds of PDFs do not fit into memory.
    known = opened.papers()
    due = {paper_id: known[paper_id]["pdf"] for paper_id in paper_ids if rows[paper_id] is None and paper_id in known}
    due = {paper_id: sha256 for paper_id, sha256 in due.items() if sha256}
    with PdfReader() as reader:
        for paper_id, read in reader.read_all(due, lambda paper_id: opened.pdf(paper_id) or b""):
            rows[paper_id] = _pdf_text(paper_id, due[paper_id], read)
    return [row for row in rows.values() if row]


def _given_text(paper_id: str, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    body, sha256 = body_of(text), hashlib.sha256(text.encode()).hexdigest()
    status = "doubtful" if body.doubts else "ok"
    row = {"paper_id": paper_id, "origin": "given", "sha256": sha256, "status": status, "pages": None}
    words = [(body.words.page, dict(body.words.words))]
    return row | {"abstract": body.abstract, "text": body.text, "notes": list(body.doubts), "words": words}


def _pdf_text(paper_id: str, sha256: str, read: PdfText) -> dict[str, Any]:
    """Returns the row (see `read_papers`) of the paper *paper_id*, whose PDF was read.

    *sha256*: the digest of the PDF. *read*: what was read from it. The row's text is None if the PDF cannot be used,
    such as a PDF of another paper.
    """
    row = {"paper_id": paper_id, "origin": "pdf", "sha256": sha256, "status": read.status, "pages": read.pages}
    words = [(page.page, dict(page.words)) for page in read.words]
    return row | {"abstract": read.abstract, "text": read.usable, "notes": read.remarks(), "words": words}
