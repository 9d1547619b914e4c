"""Computes how closely the grades of each rater in a study follow the human scores, and what the grades cost.

The coefficients are Kendall's tau-b, Spearman's and Pearson's over all texts. Their intervals come from resampling
groups of texts (`gre_bench.stats.correlation`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

from gre_bench.examiners.results.column import Column
from gre_bench.stats.association import Kind
from gre_bench.stats.correlation import correlate


@dataclass(frozen=True, slots=True)
class Estimate:
    """A correlation coefficient with its 95% interval and p-value, both from resampling groups of texts.

    *flat_p* is SciPy's p-value, which treats texts as independent.
    """

    value: float
    low: float
    high: float
    p: float
    flat_p: float | None


@dataclass(frozen=True, slots=True)
class ExaminerResult:
    """The result of one rater, that is, of one column of a study.

    - *by*: the name of the rater's LM.
    - *planned*: the number of texts, the sum of the next four.
    - *scored*: the number of texts with a score.
    - *excluded*: the number of texts left out beforehand.
    - *failed*: the number of texts without a score that are not tried again.
    - *missing*: the number of texts that the next run tries again.
    - *reasons*: the number of texts without a score, by reason.
    - *groups*: the number of groups with scored texts.
    - *problem*: the reason why there are no coefficients.
    - *tied*: the share of pairs of texts with equal scores.
    - *before*, *after*: the numbers of distinct scores before and after binning.
    - *filtered*: the number of texts that the LM called redundant.
    - *mass*: for the aggregation logprob, the mean total probability of the declared scores.
    - *unparsable*: the number of replies that could not be read.
    - *hallucinated*: the number of replies with an "Answer:" that nobody requested (Kotonya et al. 2023, §5.2).
    """

    name: str
    by: str
    kind: str
    planned: int
    scored: int
    excluded: int
    failed: int
    missing: int
    reasons: dict[str, int]
    groups: int
    kendall: Estimate | None
    spearman: Estimate | None
    pearson: Estimate | None
    problem: str | None
    tied: float | None
    before: int
    after: int
    filtered: int
    mass: float | None
    replies: int
    unparsable: int
    hallucinated: int
    prompt_tokens: int
    reply_tokens: int
    usd: float | None
    seconds: float


def outcome(
    column: Column, human: Mapping[str, float], groups: Mapping[str, str], resamples: int = 10_000, seed: int = 0
) -> ExaminerResult:
    """Returns the result of *column*: its agreement with the human scores, its counts and its cost.

    - *human*: the human score of each text, by the text's id.
    - *groups*: the group of each text, such as its source; the bootstrap resamples whole groups.
    """
    values, cost = column.values, column.cost
    problems = [grade.problem for grade in column.grades if grade.problem is not None]
    reasons = Counter([*column.excluded.values(), *(problem.code for problem in problems)])
    coefficients, problem = _coefficients(values, human, groups, resamples, seed)
    masses = [mass for grade in column.grades for mass in grade.mass.values()]
    ties = sum(comb(count, 2) for count in Counter(values.values()).values())
    return ExaminerResult(
        column.name, column.by, column.kind,
        planned=len(column.grades) + len(column.excluded), scored=len(values), excluded=len(column.excluded),
        failed=sum(item.final for item in problems), missing=sum(not item.final for item in problems),
        reasons=dict(reasons), groups=len({groups[name] for name in values}),
        kendall=coefficients.get("kendall"), spearman=coefficients.get("spearman"),
        pearson=coefficients.get("pearson"), problem=problem,
        tied=ties / comb(len(values), 2) if len(values) > 1 else None,
        before=column.before, after=column.after, filtered=sum(grade.filtered for grade in column.grades),
        mass=sum(masses) / len(masses) if masses else None,
        replies=cost.replies, unparsable=cost.unparsable, hallucinated=cost.hallucinated,
        prompt_tokens=cost.prompt_tokens, reply_tokens=cost.reply_tokens, usd=column.usd, seconds=column.seconds,
    )  # fmt: skip


def _coefficients(
    values: Mapping[str, float], human: Mapping[str, float], groups: Mapping[str, str], resamples: int, seed: int
) -> tuple[dict[Kind, Estimate], str | None]:
    names = [name for name in human if name in values]
    scores, wanted = [values[name] for name in names], [human[name] for name in names]
    group_of_each = [groups[name] for name in names]
    kinds: tuple[Kind, ...] = ("kendall", "spearman", "pearson")
    estimates: dict[Kind, Estimate] = {}
    for kind in kinds:
        try:
            correlation = correlate(kind, scores, wanted, group_of_each, resamples=resamples, seed=seed)
        except ValueError as error:
            return {}, str(error)
        estimates[kind] = Estimate(
            correlation.value, correlation.low, correlation.high, correlation.p, correlation.flat_p
        )
    return estimates, None
