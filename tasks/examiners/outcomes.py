"""What a study of examiners finds: how closely each one's grades follow the human scores, at what cost.

Kendall's tau-b, Spearman and Pearson over all texts, resampled by group (`tasks.stats.correlation`); the difference to
the best examiner and to mere length on the texts that both have graded (`tasks.stats.comparison`), Holm's correction
over each of the two families. The best one is found on the same texts, so that it is a little lucky.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Literal

from tasks.examiners.asking import FREE, Cost
from tasks.examiners.grading import Grade
from tasks.stats.association import Kind
from tasks.stats.comparison import compare
from tasks.stats.correlation import correlate
from tasks.stats.effects import holm

LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Column:
    """The *grades* that one examiner, baseline or panel gave, *by* the LM asked (empty: none).

    *excluded*: why a text was never put to it, by id. *before*, *after*: different scores before and after binning.
    *seconds*: of this run, in which archived replies take no time. *usd*: at the price of all replies; None: unknown.
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
        return f"{self.name} · {self.by}" if self.by else self.name

    @property
    def values(self) -> dict[str, float]:
        """The scores by text."""
        return {grade.item_id: grade.value for grade in self.grades if grade.value is not None}

    @property
    def cost(self) -> Cost:
        return sum((grade.cost for grade in self.grades), FREE)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient with its 95% interval by group, its p, and SciPy's p, which takes texts for independent."""

    value: float
    low: float
    high: float
    p: float
    flat_p: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One column of a study in numbers. *planned* = scored + excluded + failed + missing (to be asked again).

    *tied*: share of pairs of texts with equal scores. *unparsable*: replies that could not be read, of *replies*.
    Without coefficients there is a *problem*.
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
    prompt_tokens: int
    reply_tokens: int
    usd: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Kendall's tau of *first* less that of *second* on the *items* that both graded; *p_holm* within its family."""

    family: Literal["best", "length"]
    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    items: int
    problem: str | None = None


def outcome(
    column: Column, human: Mapping[str, float], groups: Mapping[str, str], resamples: int = 10_000, seed: int = 0
) -> Outcome:
    """The numbers of *column* against the *human* scores, both by text; *groups*: what is resampled together."""
    values, cost = column.values, column.cost
    problems = [grade.problem for grade in column.grades if grade.problem is not None]
    reasons = Counter([*column.excluded.values(), *(problem.code for problem in problems)])
    coefficients, problem = _coefficients(values, human, groups, resamples, seed)
    masses = [mass for grade in column.grades for mass in grade.mass.values()]
    ties = sum(comb(count, 2) for count in Counter(values.values()).values())
    return Outcome(
        column.name, column.by, column.kind,
        planned=len(column.grades) + len(column.excluded), scored=len(values), excluded=len(column.excluded),
        failed=sum(one.final for one in problems), missing=sum(not one.final for one in problems),
        reasons=dict(reasons), groups=len({groups[name] for name in values}),
        kendall=coefficients.get("kendall"), spearman=coefficients.get("spearman"),
        pearson=coefficients.get("pearson"), problem=problem,
        tied=ties / comb(len(values), 2) if len(values) > 1 else None,
        before=column.before, after=column.after, filtered=sum(grade.filtered for grade in column.grades),
        mass=sum(masses) / len(masses) if masses else None,
        replies=cost.replies, unparsable=cost.unparsable, prompt_tokens=cost.prompt_tokens,
        reply_tokens=cost.reply_tokens, usd=column.usd, seconds=column.seconds,
    )  # fmt: skip


def differences(
    columns: Sequence[Column],
    found: Sequence[Outcome],
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Difference]:
    """Every column against the best examiner, and against length; *found* are their outcomes, in the same order."""
    ranked = [(one.kendall.value, place) for place, one in enumerate(found) if one.kendall and one.kind == "examiner"]
    by_length = next((column for column in columns if column.kind == "baseline" and column.name == LENGTH), None)
    out: list[Difference] = []
    if ranked:
        best = columns[max(ranked, key=lambda one: (one[0], -one[1]))[1]]
        out += _family("best", columns, best, human, groups, resamples, seed)
    if by_length is not None:
        out += _family("length", columns, by_length, human, groups, resamples, seed)
    return out


def _family(
    family: Literal["best", "length"],
    columns: Sequence[Column],
    other: Column,
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int,
    seed: int,
) -> list[Difference]:
    rows: list[Callable[[float], Difference]] = []
    ps: list[float] = []
    failed: list[Difference] = []
    theirs = other.values
    for column in columns:
        if column is other:
            continue
        mine = column.values
        both = [name for name in human if name in mine and name in theirs]
        try:
            test = compare(
                "kendall", [mine[name] for name in both], [theirs[name] for name in both],
                [human[name] for name in both], [groups[name] for name in both], resamples=resamples, seed=seed,
            )  # fmt: skip
        except ValueError as error:
            titles = column.title, other.title
            failed.append(Difference(family, *titles, *[None] * 5, items=len(both), problem=str(error)))
            continue
        ps.append(test.p)
        numbers = (test.difference, test.low, test.high, test.p)
        titles = column.title, other.title
        rows.append(lambda p, titles=titles, numbers=numbers, n=len(both): Difference(family, *titles, *numbers, p, n))
    return [made(p) for made, p in zip(rows, holm(ps), strict=True)] + failed


def _coefficients(
    values: Mapping[str, float], human: Mapping[str, float], groups: Mapping[str, str], resamples: int, seed: int
) -> tuple[dict[Kind, Estimate], str | None]:
    names = [name for name in human if name in values]
    scores, wanted = [values[name] for name in names], [human[name] for name in names]
    drawn = [groups[name] for name in names]
    kinds: tuple[Kind, ...] = ("kendall", "spearman", "pearson")
    found: dict[Kind, Estimate] = {}
    for kind in kinds:
        try:
            one = correlate(kind, scores, wanted, drawn, resamples=resamples, seed=seed)
        except ValueError as error:
            return {}, str(error)
        found[kind] = Estimate(one.value, one.low, one.high, one.p, one.flat_p)
    return found, None
