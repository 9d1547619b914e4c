"""Training of evaluation LMs on real judgments."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from prefect import flow

from flows.intake import row_range
from tasks import steps
from tasks.corpus.tables import reviews_from
from tasks.errors import SourceError
from tasks.records import HUMAN


@flow(name="tune-cache-ngram", flow_run_name="cache-ngram", persist_result=False)
def tune_cache_ngram(
    judgments: Path, train: str, choose: str | None, out: Path, writer: str | None = None
) -> dict[str, Any]:
    """Trains `cache-ngram` on the human judgments of rows *train*, chosen on rows *choose*; held-out figures."""
    return tune(judgments, train, choose, out, writer, steps)


def tune(judgments: Path, train: str, choose: str | None, out: Path, writer: str | None, run: Any) -> dict[str, Any]:
    """`tune_cache_ngram` with the steps given."""
    papers = papers_of(judgments, train, writer)
    kept = papers_of(judgments, choose, writer) if choose else None
    figures = run.train_cache_ngram(papers, kept, out)
    return {"folder": str(out), "trained_on": len(papers), "chosen_on": len(kept or ()), "held_out": asdict(figures)}


def papers_of(file: Path, rows: str, writer: str | None) -> list[list[str]]:
    """For each paper of *rows* with human judgments, its judgments; `SourceError` if there are none."""
    taken = reviews_from(file, {}, {}, (), writer=writer or "given", rows=row_range(rows), make_papers=True)
    human = {review.review_id: review.paper_id for review in taken.reviews if review.candidate == HUMAN}
    papers: dict[str, list[str]] = {}
    for item in taken.judgments:
        if item.review_id in human and writer in (None, item.writer):
            papers.setdefault(human[item.review_id], []).append(item.text)
    if len(papers) < 2:
        raise SourceError(f"{file.name}: rows {rows} have judgments of {len(papers)} papers; training needs at least 2")
    return list(papers.values())
