"""The queries of ``sql/queries/score.sql`` and their rows."""

from __future__ import annotations

from typing import TypedDict

from gre_bench.store.queries import Query


class AnySpanRow(TypedDict):
    """One row if the store holds a prediction of the requested evaluation LM, else no row."""

    known: int


ANY_SPAN = Query("any_span", AnySpanRow)


class SpanRow(TypedDict):
    """One row per requested prediction of one evaluation LM, if the store holds the prediction.

    A prediction is the log-probabilities that the LM gives to the tokens of a reply.
    *prediction*: its key, a digest of the prompt, the texts before the reply, and the reply.
    *ids*: token ids of the reply. *logprobs*: log-probability of each token, in nats. *total*: sum of *logprobs*.
    *escaped*: number of control tokens escaped in the texts.
    """

    prediction: str
    total: float
    ids: list[int]
    logprobs: list[float]
    escaped: int


SPANS_OF = Query("spans_of", SpanRow)


class MissingPairRow(TypedDict):
    """One row per pair of the requested signatures that is still to be scored."""

    signature_id: str
    paper_id: str
    candidate_id: str
    reference_id: str


MISSING = Query("missing", MissingPairRow)


class ProgressRow(TypedDict):
    """One row per signature: the number of its planned pairs in each state.

    Pairs of changed reviews and of graded reviews are not counted. *missing*: pairs that are still to be scored.
    """

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
    """One row per metric, state and reason: the number of pairs that have no score for this reason.

    *state*: missing, failed or excluded. *broken*: whether a fault of the evaluation LM is the reason.
    *example*: the error message of one of these pairs.
    """

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
    """One row per scored pair of one signature and candidate.

    *value*: the score, in the metric's unit.
    """

    paper_id: str
    value: float


SCORED_PAIRS = Query("scored_pairs", ScoredPairRow)


class FinishedPairRow(TypedDict):
    """One row per pair of one signature that has a score or has finally failed.

    *value*: the score, in the metric's unit; None for a failed pair. *reason*: why the pair failed.
    """

    paper_id: str
    candidate_id: str
    reference_id: str
    value: float | None
    reason: str | None


FINISHED_PAIRS = Query("finished_pairs", FinishedPairRow)


class CandidatePairRow(TypedDict):
    """One row per planned pair of one signature and the requested candidates.

    *state*: scored, missing, failed or excluded. *value*: the score, if there is one. *reason*: why there is no score.
    """

    candidate_id: str
    paper_id: str
    reference_id: str
    state: str
    value: float | None
    reason: str | None


CANDIDATE_PAIRS = Query("candidate_pairs", CandidatePairRow)


class ChancePairRow(TypedDict):
    """One row per pair that has both a score and a score above chance.

    *value*: the score. *above*: the score above chance. Both are in the metric's unit.
    *unit*: a key shared by the papers whose reviews are exchanged. Pairs with the same *unit* depend on each other.
    """

    candidate_id: str
    paper_id: str
    unit: str
    value: float
    above: float


CHANCE_PAIRS = Query("chance_pairs", ChancePairRow)


class BoardPairRow(TypedDict):
    """One row per scored pair of one signature, for human and model candidates.

    *value*: the score, in the metric's unit.
    """

    candidate_id: str
    paper_id: str
    reference_id: str
    value: float


BOARD_PAIRS = Query("board_pairs", BoardPairRow)


class PairLogprobsRow(TypedDict):
    """One row per scored pair of one GEM signature: the two log-probabilities of the reference, in nats.

    *conditional*: given the candidate's review. *marginal*: without that review. The score is *conditional* less
    *marginal*.
    """

    paper_id: str
    candidate_id: str
    reference_id: str
    conditional: float
    marginal: float


PAIR_LOGPROBS = Query("pair_logprobs", PairLogprobsRow)
