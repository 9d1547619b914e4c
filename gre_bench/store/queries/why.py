"""The queries of ``sql/queries/why.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.store.queries import Query


class WhyPairRow(TypedDict):
    """One row per planned pair of one signature and candidate: its score, or the reason why it has none.

    *state*: scored, missing, failed or excluded. *message*: details of the *reason*.
    *predictions*: keys of the LM predictions behind the score. *run_id*: the run that computed the score.
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
    """One row: the source of a paper's text.

    *pdf_version_status*: the version of the PDF: submitted, revised_after_review, camera_ready or unknown.
    *text_status*: ``ok``, or why the text is missing or doubtful. *snapshot*: digest of the snapshot imported last.
    """

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
    """One row per requested review: its text, the version of that text, and its judgments by one writer.

    *version_id*: None for the note as it was when fetched. *written_at*: when the version was written.
    *version_rule*: why this version counts. *lines*: number of judgments.
    *strays*: number of other lines that the writer wrote.
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


WHY_REVIEWS = Query("why_reviews", WhyReviewRow)


class WhySpanRow(TypedDict):
    """One row per evaluation LM and requested prediction: the log-probabilities of the reply.

    *lm_id*: digest of the evaluation LM's identity. *prediction*: key of the prediction. *ids*: token ids of the reply.
    *logprobs*: log-probability of each token, in nats. *total*: sum of *logprobs*.
    *escaped*: number of control tokens escaped in the texts.
    """

    lm_id: str
    prediction: str
    total: float
    ids: list[int]
    logprobs: list[float]
    escaped: int


WHY_SPANS = Query("why_spans", WhySpanRow)


class WhyRunRow(TypedDict):
    """One row per run that scored pairs of one signature and candidate, the last run first.

    *settings*: as JSON. *code_version*: version of this program. *pairs*: number of pairs that the run scored.
    """

    run_id: str
    command: str
    started_at: datetime
    settings: str
    code_version: str
    pairs: int


WHY_RUN = Query("why_run", WhyRunRow)


class MovedReviewRow(TypedDict):
    """One row per paper: the moved review that is scored on this paper to measure chance.

    *review_id*: the moved review, written by the requested candidate about another paper.
    *swap*: a key shared by the reviews that exchange papers.
    """

    paper_id: str
    review_id: str
    swap: str


MOVED = Query("moved", MovedReviewRow)
