"""The queries of ``sql/queries/why.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.store.queries import Query


class WhyPairRow(TypedDict):
    """One row per planned pair of one signature and candidate.

    It has a score, its predictions and the run that made it, or else the reason why there is no score.
    """

    paper_id: str
    reference_id: str
    state: str
    value: float | None
    reason: str | None
    message: str | None
    predictions: list[str] | None
    run_id: str | None


WHY_PAIRS = Query("why_pairs", WhyPairRow)


class WhyPaperRow(TypedDict):
    """One row: a paper, where its text came from, and the snapshot that held it."""

    paper_id: str
    title: str
    abstract_sha256: str | None
    pdf_sha256: str | None
    pdf_version_status: str | None
    text_status: str | None
    text_sha256: str | None
    snapshot: str | None


WHY_PAPER = Query("why_paper", WhyPaperRow)


class WhyReviewRow(TypedDict):
    """One row per requested review: its version, its text, and its judgments by one writer."""

    review_id: str
    candidate: str
    text_sha256: str | None
    version_id: str | None
    written_at: datetime | None
    version_rule: str | None
    judgments_sha256: str | None
    lines: int | None
    strays: int | None


WHY_REVIEWS = Query("why_reviews", WhyReviewRow)


class WhySpanRow(TypedDict):
    """One row per evaluation LM and requested prediction: the log-probabilities of its reply, token by token."""

    lm_id: str
    prediction: str
    total: float
    ids: list[int]
    logprobs: list[float]
    escaped: int


WHY_SPANS = Query("why_spans", WhySpanRow)


class WhyRunRow(TypedDict):
    """One row per run that scored pairs of one signature and candidate, the last run first."""

    run_id: str
    command: str
    started_at: datetime
    settings: str
    code_version: str
    pairs: int


WHY_RUN = Query("why_run", WhyRunRow)


class MovedReviewRow(TypedDict):
    """One row per paper: the candidate's review of another paper that is scored here to measure chance.

    *swap* names the group of papers that exchange their reviews.
    """

    paper_id: str
    review_id: str
    swap: str


MOVED = Query("moved", MovedReviewRow)
