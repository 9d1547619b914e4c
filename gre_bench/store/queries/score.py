"""Rows of the queries of ``sql/queries/score.sql``."""

from __future__ import annotations

from typing import TypedDict


class AnySpanRow(TypedDict):
    """`any_span`: one row if anything is known of what an evaluation LM says."""

    known: int


class SpansOfRow(TypedDict):
    """`spans_of`: one row per known prediction among those asked for."""

    prediction: str
    total: float
    ids: list[int]
    logprobs: list[float]
    escaped: int


class MissingRow(TypedDict):
    """`missing`: one row per pair that is due and neither scored nor finally failed."""

    signature_id: str
    paper_id: str
    candidate_id: str
    reference_id: str


class ProgressRow(TypedDict):
    """`progress`: one row per signature: the planned pairs of a board by state, without those of validations and
    graded reviews.
    """

    signature_id: str
    metric: str
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int


class ProgressOfRow(TypedDict):
    """`progress_of`: one row per signature: the planned pairs of the candidates asked for, by state."""

    signature_id: str
    metric: str
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int


class ReasonsRow(TypedDict):
    """`reasons`: one row per metric, state and reason among a board's pairs without a score, with the message of
    one of them.
    """

    metric: str
    state: str
    reason: str | None
    broken: bool
    pairs: int
    example: str | None


class ReasonsOfRow(TypedDict):
    """`reasons_of`: one row per metric, state and reason among the pairs without a score of the candidates asked
    for, with one message.
    """

    metric: str
    state: str
    reason: str | None
    broken: bool
    pairs: int
    example: str | None


class ScoredPairsRow(TypedDict):
    """`scored_pairs`: one row per scored pair of one candidate."""

    paper_id: str
    value: float | None


class FinishedPairsRow(TypedDict):
    """`finished_pairs`: one row per pair of one signature that has a score or a final problem."""

    paper_id: str
    candidate_id: str
    reference_id: str
    value: float | None
    reason: str | None


class CandidatePairsRow(TypedDict):
    """`candidate_pairs`: one row per planned pair of one signature and the candidates asked for, with its state,
    score or reason.
    """

    candidate_id: str
    paper_id: str
    reference_id: str
    state: str
    value: float | None
    reason: str | None


class ChancePairsRow(TypedDict):
    """`chance_pairs`: one row per pair that is scored under a metric and under its specific form: both scores, and
    the unit it belongs to.
    """

    candidate_id: str
    paper_id: str
    unit: str | None
    value: float | None
    above: float


class BoardPairsRow(TypedDict):
    """`board_pairs`: one row per scored pair of one signature whose candidate stands on the boards: humans and
    models.
    """

    candidate_id: str
    paper_id: str
    reference_id: str
    value: float | None


class PairLogprobsRow(TypedDict):
    """`pair_logprobs`: one row per scored pair of one signature of GEM: the log-probabilities that its score is
    the difference of, in nats.
    """

    paper_id: str
    candidate_id: str
    reference_id: str
    conditional: float | None
    marginal: float | None
