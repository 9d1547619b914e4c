"""Rows of the queries of ``sql/queries/plan.sql``."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict


class DrawRow(TypedDict):
    """`draw`: at most one row: how the sample was drawn."""

    papers: int
    seed: int
    min_reviews: int
    roles: str
    candidate_slot: int
    reference_slots: list[int]
    known: int
    eligible: int
    drawn_at: datetime


class SampleRow(TypedDict):
    """`sample`: one row per sampled paper and human role, in the edition's order."""

    paper_id: str
    position: int
    role: str
    place: int
    review_id: str


class CandidatesRow(TypedDict):
    """`candidates`: one row per candidate of the boards: humans, models and controls."""

    candidate_id: str
    kind: str
    model: str | None
    prompt: str | None
    guideline: str | None


class KnownCandidatesRow(TypedDict):
    """`known_candidates`: one row per candidate that the edition has reviews of or has planned pairs of, single
    graded reviews aside.
    """

    candidate: str


class CandidateModelsRow(TypedDict):
    """`candidate_models`: one row per model that is a candidate: the name by which the models file may know it."""

    model: str | None


class ChangeMakersRow(TypedDict):
    """`change_makers`: one row per candidate that a change makes: what made it when it was first planned."""

    candidate_id: str
    prompt: str | None


class CandidateCountsRow(TypedDict):
    """`candidate_counts`: one row: how much of a candidate there is."""

    reviews: int
    judgments: int | None
    scores: int | None
    kind: str


class CurrentSignaturesRow(TypedDict):
    """`current_signatures`: one row per signature that the last refresh planned (the last run of any kind, if none
    did): what a leaderboard shows unless asked otherwise.
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
    form: str
    text_cut: str
    ascii_fold: bool
    engine_version: str
    chance: str | None


class PlannedSignaturesRow(TypedDict):
    """`planned_signatures`: one row per signature that has planned pairs, the one planned last first."""

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
    form: str
    text_cut: str
    ascii_fold: bool
    engine_version: str
    chance: str | None


class CandidateSignaturesRow(TypedDict):
    """`candidate_signatures`: one row per signature that a candidate has planned pairs under."""

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
    form: str
    text_cut: str
    ascii_fold: bool
    engine_version: str
    chance: str | None


class PlannedCandidateRow(TypedDict):
    """`planned_candidate`: at most one row: a candidate."""

    candidate_id: str
    kind: str
    model: str | None
    prompt: str | None
    guideline: str | None
    change: str | None


class PlannedCandidatesRow(TypedDict):
    """`planned_candidates`: one row per candidate that has planned pairs under every one of the signatures asked
    for.
    """

    candidate_id: str


class WaitingTextsRow(TypedDict):
    """`waiting_texts`: one row per reason for which pairs of a candidate wait for a text: how many papers, and
    what was said of one.
    """

    reason: str | None
    papers: int
    detail: str | None


class UncoveredRow(TypedDict):
    """`uncovered`: one row per candidate that lacks reviews of papers that were planned for it: how many of how
    many, and the first three.
    """

    candidate: str
    papers: int
    lacking: int
    examples: list[str] | None
