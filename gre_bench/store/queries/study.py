"""The queries of ``sql/queries/study.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.store.queries import Query


class SeparationRow(TypedDict):
    """One row per requested signature with an AUC: how often right reviews outscore reviews of other papers.

    *same*: the candidate whose reviews are of the right paper. *other*: the control whose reviews are of other papers.
    *same_pairs*, *other_pairs*: number of scored pairs of *same* and of *other*. *low*, *high*: 95% interval of *auc*,
    by paper. *left_out*: number of papers that the evaluation LM or the writer was learnt from, which do not count.
    """

    metric: str
    signature_id: str
    same: str
    other: str
    same_pairs: int
    other_pairs: int
    auc: float
    low: float | None
    high: float | None
    left_out: int | None


SEPARATION = Query("separation", SeparationRow)


class EffectRow(TypedDict):
    """One row per requested signature and change: the effect of the change on the metric's scores.

    All signatures are returned if none is named. `gre_bench.metrics.validation.ChangeResult` explains the statistics.

    - *change*: name of the degradation or manipulation. *candidate_id*: the candidate that stands for the changed
      reviews.
    - *family*: ``degradation`` or ``manipulation``. *made_by*: the rule or writer that changed the reviews.
    - *run_id*: the run that computed the effect.
    """

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
    """One row per requested signature and coefficient: the correlation of the metric's scores with human grades.

    - *kind*: spearman, kendall or pearson. *value*: the coefficient. *low*, *high*: its 95% interval. *p*: its p-value.
    - *flat_p*: the p-value if reviews count as independent.
    - *within*: the coefficient among the reviews of one item, with its 95% interval.
    - *at_length*: the coefficient with log length held fixed, with its 95% interval.
    - *over_length*: *value* less the coefficient of length alone, with its 95% interval and p-value.
    - *reviews*: number of scored reviews. *items*: number of items of these reviews. *graded*: number of reviews with a
      grade.
    - *problem*: why there is no coefficient.
    """

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
    """One row per requested signature that was validated: the outcome of the validation.

    All signatures are returned if none is named. *verdict*: pass, fail or undecided. *edition*: the edition on
    whose reviews the metric was validated.
    *detail*: the changes that the metric does not pass or that were not tried.
    """

    metric: str
    signature_id: str
    verdict: str
    edition: str
    detail: str
    validated_at: datetime


VALIDATIONS = Query("validations", ValidationRow)
