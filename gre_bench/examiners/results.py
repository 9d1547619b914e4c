"""The grades of each rater in a study, how closely they follow the human scores, and what they cost.

A rater is an examiner, a metric without an LM, or a panel. The coefficients are Kendall's tau-b, Spearman's and
Pearson's over all texts. Their intervals come from resampling groups of texts (`gre_bench.stats.correlation`).

Each rater is compared with the best examiner, and with the length of the texts as a score. A comparison uses the texts
that both raters have graded (`gre_bench.stats.correlation`). Holm's correction is made twice: over the comparisons with
the best examiner, and over the comparisons with length. The best examiner is chosen on the same texts, which favours it
slightly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import Literal

from gre_bench.core.asking import FREE, Cost
from gre_bench.examiners.grading import Grade
from gre_bench.stats.association import Kind
from gre_bench.stats.correlation import compare, correlate
from gre_bench.stats.effects import holm

LENGTH = "length"
KINDS: tuple[Kind, ...] = ("kendall", "spearman", "pearson")


@dataclass(frozen=True, slots=True)
class Column:
    """The *grades* of all texts by one rater: an examiner, a metric without an LM (``baseline``), or a panel.

    - *by*: the name of the rater's LM; empty if it has none.
    - *excluded*: the reason why a text was not graded, by the text's id.
    - *before*, *after*: the numbers of distinct scores before and after binning.
    - *seconds*: the duration of this run; replies from the archive take no time.
    - *usd*: the price of all replies; None if unknown.
    """

    name: str
    by: str
    kind: Literal["examiner", "baseline", "panel"]
    grades: tuple[Grade, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    before: int = 0
    after: int = 0
    seconds: float = 0.0
    usd: float | None = None

    @property
    def title(self) -> str:
        """The name of the rater, followed by the name of its LM if it has one."""
        return title(self.name, self.by)

    @property
    def values(self) -> dict[str, float]:
        """The score of each text that was graded, by the text's id."""
        return {grade.item_id: grade.value for grade in self.grades if grade.value is not None}

    @property
    def cost(self) -> Cost:
        """The total cost of all grades."""
        return sum((grade.cost for grade in self.grades), FREE)


def title(name: str, by: str) -> str:
    """Returns the *name* of a rater, followed by the name of its LM *by* if it has one."""
    return f"{name} · {by}" if by else name


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

    - *planned*: the number of texts, the sum of the next four.
    - *scored*: the number of texts with a score.
    - *excluded*: the number of texts left out beforehand.
    - *failed*: the number of texts without a score that are not tried again.
    - *missing*: the number of texts that the next run tries again.
    - *reasons*: the number of texts without a score, by reason.
    - *groups*: the number of groups with scored texts.
    - *problem*: the reason why there are no coefficients.
    - *tied*: the share of pairs of texts with equal scores.
    - *filtered*: the number of texts that the LM called redundant.
    - *mass*: for the aggregation logprob, the mean total probability of the declared scores.

    The other fields are those of `Column` and `Cost`.
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
    names = [name for name in human if name in values]
    table = [values[name] for name in names], [human[name] for name in names], [groups[name] for name in names]
    coefficients: dict[Kind, Estimate] = {}
    problem = None
    try:
        for kind in KINDS:
            result = correlate(kind, *table, resamples=resamples, seed=seed)
            coefficients[kind] = Estimate(result.value, result.low, result.high, result.p, result.flat_p)
    except ValueError as error:
        coefficients, problem = {}, str(error)
    problems = [grade.problem for grade in column.grades if grade.problem is not None]
    reasons = Counter([*column.excluded.values(), *(item.code for item in problems)])
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


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two raters in how closely they follow the human scores.

    - *family*: whether *second* is the ``best`` examiner or the ``length`` of the texts.
    - *items*: the number of texts that both raters graded.
    - *difference*: Kendall's tau of *first* minus that of *second*, with its 95% interval and p-value.
    - *p_holm*: *p* after Holm's correction over all comparisons of the *family*.
    - *problem*: the reason why there is no difference.
    """

    family: Literal["best", "length"]
    first: str
    second: str
    items: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    problem: str | None = None


def differences(
    columns: Sequence[Column],
    outcomes: Sequence[ExaminerResult],
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Difference]:
    """Compares every rater with the best examiner, and with the column of text lengths if there is one.

    - *outcomes*: the results of *columns*, in the same order.
    - *human*, *groups*: as for `outcome`.
    """

    def family(name: Literal["best", "length"], other: Column) -> list[Difference]:
        rows = []
        for column in columns:
            if column is other:
                continue
            mine, theirs = column.values, other.values
            both = [item for item in human if item in mine and item in theirs]
            row = Difference(name, column.title, other.title, len(both))
            own, rival, gold = ([scores[item] for item in both] for scores in (mine, theirs, human))
            clusters = [groups[item] for item in both]
            try:
                test = compare("kendall", own, rival, gold, clusters, resamples=resamples, seed=seed)
                row = replace(row, difference=test.difference, low=test.low, high=test.high, p=test.p)
            except ValueError as error:
                row = replace(row, problem=str(error))
            rows.append(row)
        adjusted = iter(holm([row.p for row in rows if row.p is not None]))
        return [row if row.p is None else replace(row, p_holm=next(adjusted)) for row in rows]

    out: list[Difference] = []
    ranked = [
        (result.kendall.value, -index)
        for index, result in enumerate(outcomes)
        if result.kendall and result.kind == "examiner"
    ]
    if ranked:
        out += family("best", columns[-max(ranked)[1]])
    by_length = next((column for column in columns if column.kind == "baseline" and column.name == LENGTH), None)
    return out + family("length", by_length) if by_length is not None else out
