"""The queries of ``sql/queries/plan.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.core.judgments import Form
from gre_bench.core.records import CandidateKind
from gre_bench.store.queries import Query


class DrawRow(TypedDict):
    """At most one row: how the edition's sample was drawn.

    - *papers*: number of papers asked for. *reference_count*: references of a paper: a number, or ``all``.
    - *min_reviews*: human reviews that a paper needs to be eligible.
    - *roles*: how the human baseline and the references are chosen among a paper's reviews: ``seeded`` or ``slots``.
    - *candidate_slot*: with ``slots``, the position of the human baseline's review among the paper's reviews.
    - *reference_slots*: with ``slots``, the positions of the references.
    - *avoid_learnt*: the LMs and rules whose papers were not drawn.
    - *known*: number of papers known at the time of the draw. *eligible*: how many of these papers were eligible.
    """

    papers: int
    seed: int
    reference_count: str
    min_reviews: int
    roles: str
    candidate_slot: int
    reference_slots: list[int]
    avoid_learnt: list[str]
    known: int
    eligible: int
    drawn_at: datetime


DRAW = Query("draw", DrawRow)


class SampledReviewRow(TypedDict):
    """One row per human review with a role in the sample, in the order of the edition's papers.

    *position*: index of the paper in the edition, from 0. *role*: ``candidate`` or ``reference``.
    *place*: 0 for the candidate, 1, 2, ... for the references.
    """

    paper_id: str
    position: int
    role: str
    place: int
    review_id: str


SAMPLE = Query("sample", SampledReviewRow)


class CandidateRow(TypedDict):
    """One row per candidate on the boards: the human baseline, models and controls.

    *prompt*, *guideline*: the prompt and guideline by which a model wrote the reviews.
    """

    candidate_id: str
    kind: CandidateKind
    model: str | None
    prompt: str | None
    guideline: str | None


CANDIDATES = Query("candidates", CandidateRow)


class KnownCandidateRow(TypedDict):
    """One row per candidate with reviews or planned pairs.

    Candidates that stand for one graded review (see `gre_bench.metrics.agreement_cases`) are left out.
    """

    candidate: str


KNOWN_CANDIDATES = Query("known_candidates", KnownCandidateRow)


class CandidateModelRow(TypedDict):
    """One row per distinct model among the candidates.

    *model*: the name under which the model is looked up in the models file.
    """

    model: str


CANDIDATE_MODELS = Query("candidate_models", CandidateModelRow)


class ChangeMakerRow(TypedDict):
    """One row per candidate whose reviews are made by a change (a degradation or manipulation).

    *prompt*: the rule or writer that made the change when the candidate was first planned.
    """

    candidate_id: str
    prompt: str | None


CHANGE_MAKERS = Query("change_makers", ChangeMakerRow)


class CandidateCountsRow(TypedDict):
    """One row: the numbers of reviews, judgments and scores of one candidate, and the candidate's kind."""

    reviews: int
    judgments: int | None
    scores: int | None
    kind: str


CANDIDATE_COUNTS = Query("candidate_counts", CandidateCountsRow)


class SignatureRow(TypedDict):
    """One row per signature; `gre_bench.core.records.Signature` explains the fields.

    The query `CURRENT_SIGNATURES` returns the signatures that a leaderboard shows by default. These are the ones
    planned by the last refresh, or by the last run of any kind if there was no refresh.
    """

    signature_id: str
    metric: str
    prompt_sha256: str
    evaluation_lm: str
    lm_digest: str
    dtype: str
    quantisation: str
    attention: str
    template_digest: str
    writer: str
    synopsis_writer: str
    form: Form
    text_cut: str
    ascii_fold: bool
    engine_version: str
    chance: str | None


CURRENT_SIGNATURES = Query("current_signatures", SignatureRow)


PLANNED_SIGNATURES = Query("planned_signatures", SignatureRow)
"""One row per signature that has planned pairs, the latest plan first."""


CANDIDATE_SIGNATURES = Query("candidate_signatures", SignatureRow)
"""One row per signature under which one candidate has planned pairs."""


class PlannedCandidateRow(TypedDict):
    """At most one row: the requested candidate, if the store knows it.

    *prompt*, *guideline*: the prompt and guideline by which a model wrote the reviews.
    *change*: the degradation or manipulation that made the reviews, if any.
    """

    candidate_id: str
    kind: CandidateKind
    model: str | None
    prompt: str | None
    guideline: str | None
    change: str | None


PLANNED_CANDIDATE = Query("planned_candidate", PlannedCandidateRow)


class CandidateNameRow(TypedDict):
    """One row per candidate that has planned pairs under every requested signature."""

    candidate_id: str


PLANNED_CANDIDATES = Query("planned_candidates", CandidateNameRow)


class WaitingTextRow(TypedDict):
    """One row per reason for which pairs of the requested candidates wait for a text.

    *papers*: number of papers with such pairs. *detail*: the error message of one of these pairs.
    """

    reason: str | None
    papers: int
    detail: str | None


WAITING_TEXTS = Query("waiting_texts", WaitingTextRow)


class UncoveredRow(TypedDict):
    """One row per candidate without a review for some of the planned papers.

    *papers*: number of planned papers. *lacking*: number of papers without a review by the candidate.
    *examples*: ids of up to three papers without a review.
    """

    candidate: str
    papers: int
    lacking: int
    examples: list[str]


UNCOVERED = Query("uncovered", UncoveredRow)
