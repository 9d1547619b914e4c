"""The queries of ``sql/queries/plan.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.core.judgments import Form
from gre_bench.core.records import CandidateKind
from gre_bench.store.queries import Query


class DrawRow(TypedDict):
    """At most one row: how the sample was drawn."""

    papers: int
    seed: int
    min_reviews: int
    roles: str
    candidate_slot: int
    reference_slots: list[int]
    known: int
    eligible: int
    drawn_at: datetime


DRAW = Query("draw", DrawRow)


class SampledReviewRow(TypedDict):
    """One row per sampled paper and human role, in the edition's order."""

    paper_id: str
    position: int
    role: str
    place: int
    review_id: str


SAMPLE = Query("sample", SampledReviewRow)


class CandidateRow(TypedDict):
    """One row per candidate of the boards: humans, models and controls."""

    candidate_id: str
    kind: CandidateKind
    model: str | None
    prompt: str | None
    guideline: str | None


CANDIDATES = Query("candidates", CandidateRow)


class KnownCandidateRow(TypedDict):
    """One row per candidate with reviews or planned pairs, except candidates that stand for a single graded review."""

    candidate: str


KNOWN_CANDIDATES = Query("known_candidates", KnownCandidateRow)


class CandidateModelRow(TypedDict):
    """One row per model that is a candidate: its name, under which the models file may list it."""

    model: str


CANDIDATE_MODELS = Query("candidate_models", CandidateModelRow)


class ChangeMakerRow(TypedDict):
    """One row per candidate made by a change: the rule or writer that made it when it was first planned."""

    candidate_id: str
    prompt: str | None


CHANGE_MAKERS = Query("change_makers", ChangeMakerRow)


class CandidateCountsRow(TypedDict):
    """One row: how many reviews, judgments and scores one candidate has, and its kind."""

    reviews: int
    judgments: int | None
    scores: int | None
    kind: str


CANDIDATE_COUNTS = Query("candidate_counts", CandidateCountsRow)


class SignatureRow(TypedDict):
    """One row per signature that the last refresh planned, or the last run of any kind if none did.

    A leaderboard shows these by default.
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
    """At most one row: the requested candidate, if it is known."""

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
    """One row per reason why pairs of one candidate wait for a text: the number of papers, and an example message."""

    reason: str | None
    papers: int
    detail: str | None


WAITING_TEXTS = Query("waiting_texts", WaitingTextRow)


class UncoveredRow(TypedDict):
    """One row per candidate that lacks reviews of planned papers.

    *papers* counts the planned papers, *lacking* those without its review; *examples* holds up to three of the latter.
    """

    candidate: str
    papers: int
    lacking: int
    examples: list[str]


UNCOVERED = Query("uncovered", UncoveredRow)
