"""Rows of the queries of ``sql/queries/why.sql``."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict


class WhyPairsRow(TypedDict):
    """`why_pairs`: one row per planned pair of one signature and candidate: its score, of what and in which run,
    or why it has none.
    """

    paper_id: str
    reference_id: str
    state: str
    value: float | None
    reason: str | None
    message: str | None
    predictions: list[str] | None
    run_id: str | None


class WhyPaperRow(TypedDict):
    """`why_paper`: one row: a paper, where its text came from, and the snapshot."""

    paper_id: str
    title: str
    abstract_sha256: str | None
    pdf_sha256: str | None
    pdf_version_status: str | None
    text_status: str | None
    text_sha256: str | None
    snapshot: str | None


class WhyReviewsRow(TypedDict):
    """`why_reviews`: one row per review among those asked for: which version of which text it is, and the
    judgments by one writer.
    """

    review_id: str
    candidate: str
    text_sha256: str | None
    version_id: str | None
    written_at: datetime | None
    version_rule: str | None
    judgments_sha256: str | None
    lines: int | None
    strays: int | None


class WhySpansRow(TypedDict):
    """`why_spans`: one row per evaluation LM and prediction among those asked for: the log-probabilities of its
    reply, token by token.
    """

    lm_id: str
    prediction: str
    total: float
    ids: list[int]
    logprobs: list[float]
    escaped: int


class WhyRunRow(TypedDict):
    """`why_run`: one row per run that scored pairs of one signature and candidate: the last first."""

    run_id: str
    command: str
    started_at: datetime
    settings: str
    code_version: str
    pairs: int


class MovedRow(TypedDict):
    """`moved`: one row per paper: the review of another paper that one candidate is scored with there."""

    paper_id: str
    review_id: str
    swap: str
