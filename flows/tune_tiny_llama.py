"""Training of `tiny-llama` on real judgments, and of the copying mixture over any evaluation LM."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow

from flows.stages.endings import ended
from flows.stages.intake import row_range
from flows.tune_evaluation_lm import check_apart, texts_apart
from tasks import steps
from tasks.corpus.tables import reviews_from
from tasks.errors import SourceError
from tasks.lm.mixture import is_text
from tasks.records import HUMAN
from tasks.settings import EvaluationLMSettings
from tasks.tuning.augmentation import ReviewedPaper
from tasks.tuning.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Rows:
    """Human *judgments* by *writer* (None: whoever): rows to *train* on and rows to *choose* the mixture on."""

    judgments: Path
    train: str
    choose: str
    writer: str | None = None


@flow(name="tune-tiny-llama", flow_run_name="tiny-llama", persist_result=False)
def tune_tiny_llama(rows: Rows, out: Path, recipe: Recipe) -> dict[str, Any]:
    """Trains `tiny-llama` into *out*; its training record."""
    return ended(train_tiny_llama, rows, out, recipe, steps)


def train_tiny_llama(rows: Rows, out: Path, recipe: Recipe, run: Any) -> dict[str, Any]:
    """`tune_tiny_llama` with the steps given."""
    papers, kept = (reviewed_papers(rows.judgments, part, rows.writer) for part in (rows.train, rows.choose))
    check_apart(papers, kept, rows.train, rows.choose)
    with rows.judgments.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    data = {"judgments": sha256, "rows": rows.train, "rows kept aside": rows.choose, "writer": rows.writer}
    made = run.train_tiny_llama(list(papers.values()), list(kept.values()), out, data, recipe)
    return {"folder": str(out), "trained_on": len(papers), "chosen_on": len(kept), **made}


@flow(name="tune-mixture", flow_run_name="mixture", persist_result=False)
def tune_mixture(rows: Rows, lm: EvaluationLMSettings, out: Path) -> dict[str, Any]:
    """Fits the copying mixture over *lm* into *out*; figures on the papers kept aside."""
    return ended(fit_mixture, rows, lm, out, steps)


def fit_mixture(rows: Rows, lm: EvaluationLMSettings, out: Path, run: Any) -> dict[str, Any]:
    """`tune_mixture` with the steps given."""
    papers, kept = texts_apart(rows.judgments, rows.train, rows.choose, rows.writer)
    figures = run.fit_mixture(lm, out, papers, kept)
    return {"folder": str(out), "counted_on": len(papers), "chosen_on": len(kept), "held_out": figures}


def reviewed_papers(file: Path, rows: str, writer: str | None) -> dict[str, ReviewedPaper]:
    """Papers of *rows* with at least two human reviews that have judgments, by id; `SourceError` if under two."""
    taken = reviews_from(file, {}, {}, (), by=HUMAN, writer=writer or "given", rows=row_range(rows), make_papers=True)
    human = {review.review_id: review for review in taken.reviews if review.candidate == HUMAN}
    found: dict[str, list[tuple[str, str]]] = {}
    for item in taken.judgments:
        if item.review_id in human and writer in (None, item.writer) and is_text(item.text):
            review = human[item.review_id]
            original = review.text if review.text and is_text(review.text) else ""
            found.setdefault(review.paper_id, []).append((item.text, original))
    papers = {paper: ReviewedPaper(*zip(*texts, strict=True)) for paper, texts in found.items() if len(texts) > 1}
    if len(papers) < 2:
        raise SourceError(
            f"{file.name}: rows {rows} have {len(papers)} papers with judgments of two human reviews; at least 2 needed"
        )
    return papers
