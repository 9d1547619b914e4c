"""The queries of ``sql/queries/study.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.store.queries import Query


class SeparationRow(TypedDict):
    """One row per requested signature with an AUC: how well it separates two kinds of pairs, *same* and *other*."""

    metric: str
    signature_id: str
    same: str
    other: str
    same_pairs: int
    other_pairs: int
    auc: float
    low: float | None
    high: float | None


SEPARATION = Query("separation", SeparationRow)


class EffectRow(TypedDict):
    """One row per metric and change of the requested signatures, or of all if none is named: the change's effect."""

    metric: str
    signature_id: str
    change: str
    candidate_id: str
    family: str
    made_by: str
    d: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    flat_low: float | None
    flat_high: float | None
    flat_p: float | None
    length_d: float | None
    length_low: float | None
    length_high: float | None
    mean_before: float | None
    mean_after: float | None
    pairs: int
    planned: int
    papers: int
    method: str | None
    verdict: str
    paper_verdict: str | None
    problem: str | None
    run_id: str


EFFECTS = Query("effects", EffectRow)


class AgreementRow(TypedDict):
    """One row per metric and coefficient of the requested signatures: the correlation of scores with human grades."""

    metric: str
    signature_id: str
    kind: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    flat_p: float | None
    within: float | None
    within_low: float | None
    within_high: float | None
    at_length: float | None
    at_length_low: float | None
    at_length_high: float | None
    over_length: float | None
    over_length_low: float | None
    over_length_high: float | None
    over_length_p: float | None
    reviews: int
    items: int
    graded: int
    problem: str | None
    run_id: str


AGREEMENTS = Query("agreements", AgreementRow)


class ValidationRow(TypedDict):
    """One row per validated signature among the requested ones, or among all if none is named: the outcome."""

    metric: str
    signature_id: str
    verdict: str
    edition: str
    detail: str
    validated_at: datetime


VALIDATIONS = Query("validations", ValidationRow)
