"""The queries of ``sql/queries/score.sql`` and their rows."""

from __future__ import annotations

from typing import TypedDict

from gre_bench.store.queries import Query


class AnySpanRow(TypedDict):
    """One row if the store holds at least one prediction of the requested evaluation LM, else none."""

    known: int


ANY_SPAN = Query("any_span", AnySpanRow)


class SpanRow(TypedDict):
    """One row per requested prediction of an evaluation LM that the store holds: its log-probabilities in nats."""

    prediction: str
    total: float
    ids: list[int]
    logprobs: list[float]
    escaped: int


SPANS_OF = Query("spans_of", SpanRow)


class MissingPairRow(TypedDict):
    """One row per pair that is due and neither scored nor finally failed."""

    signature_id: str
    paper_id: str
    candidate_id: str
    reference_id: str


MISSING = Query("missing", MissingPairRow)


class ProgressRow(TypedDict):
    """One row per signature: the planned pairs of a board by state, without those of validations and graded reviews."""

    signature_id: str
    metric: str
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int


PROGRESS = Query("progress", ProgressRow)


PROGRESS_OF = Query("progress_of", ProgressRow)
"""One row per signature: the planned pairs of the requested candidates, by state."""


class ReasonRow(TypedDict):
    """One row per metric, state and reason among a board's pairs without a score, with the message of one of them."""

    metric: str
    state: str
    reason: str | None
    broken: bool
    pairs: int
    example: str | None


REASONS = Query("reasons", ReasonRow)


REASONS_OF = Query("reasons_of", ReasonRow)
"""One row per metric, state and reason, as `ReasonRow`, among the pairs of the requested candidates."""


class ScoredPairRow(TypedDict):
    """One row per scored pair of one candidate."""

    paper_id: str
    value: float


SCORED_PAIRS = Query("scored_pairs", ScoredPairRow)


class FinishedPairRow(TypedDict):
    """One row per pair of one signature that has a score or a final problem."""

    paper_id: str
    candidate_id: str
    reference_id: str
    value: float | None
    reason: str | None


FINISHED_PAIRS = Query("finished_pairs", FinishedPairRow)


class CandidatePairRow(TypedDict):
    """One row per planned pair of one signature and the requested candidates, with its state, score or reason."""

    candidate_id: str
    paper_id: str
    reference_id: str
    state: str
    value: float | None
    reason: str | None


CANDIDATE_PAIRS = Query("candidate_pairs", CandidatePairRow)


class ChancePairRow(TypedDict):
    """One row per pair with both a score (*value*) and a score above chance (*above*), in the metric's unit.

    Pairs of one *unit*, a group of papers whose reviews are exchanged, depend on each other.
    """

    candidate_id: str
    paper_id: str
    unit: str
    value: float
    above: float


CHANCE_PAIRS = Query("chance_pairs", ChancePairRow)


class BoardPairRow(TypedDict):
    """One row per scored pair of one signature whose candidate stands on the boards: humans and models."""

    candidate_id: str
    paper_id: str
    reference_id: str
    value: float


BOARD_PAIRS = Query("board_pairs", BoardPairRow)


class PairLogprobsRow(TypedDict):
    """One row per scored pair of one signature of GEM: two log-probabilities (nats), whose difference is its score."""

    paper_id: str
    candidate_id: str
    reference_id: str
    conditional: float
    marginal: float


PAIR_LOGPROBS = Query("pair_logprobs", PairLogprobsRow)
