"""How strongly a perturbation of reviews moves their scores: the effect size (Cohen's d), and Holm's correction.

Each pair of a paper and a reference is scored before and after the perturbation (Xu et al. 2025, §4.2). The
standardised mean difference is

    d = (mean after − mean before)/s, s² = (variance before + variance after)/2, variances with ddof = 1.

There are two intervals of d.

**By paper** (*low*, *high*, *p*): a studentised bootstrap that resamples papers, so the pairs of one paper may depend
on each other. Each resample has its own d* and standard error se*. The quantiles of t* = (d* − d)/se* replace Student's
quantiles wherever this makes the interval wider.

Simulated with 30 papers, heavy tails and a nominal 95%, this interval covers the true d in 93 to 95% of cases. The
quantiles of t* alone cover it in 92 to 93%, the BCa bootstrap in 91%. Percentiles of d* cover it in 89%, because d and
its standard error grow together.

**Flat** (*flat_low*, *flat_high*, *flat_p*): the published interval, d ± z·sd(after − before)/(s·√pairs). It treats
pairs as independent and s as known. Xu et al. state no formula; this one agrees with their tables. Two half-widths that
they print support it:

- At d = −0.975 and 600 pairs, they print 0.045. If s were treated as estimated, the half-width would be at least
  1.96·|d|/√(2·600) = 0.055, even with a perfect correlation between before and after.
- At d = −0.40, they print 0.047, which implies a correlation of 0.83 between before and after.

The standard error by paper is the linearised one. Let x and x′ be a pair's scores before and after, each less its mean
over pairs. Let δ = after − before, and γ = −d/(4s²). Then each pair has the influence

    ψ = (δ − mean of δ)/s + γ·(x² + x′² − mean of (x² + x′²)).

The ψ sum to zero over the n pairs. For G papers, se² = G/(G − 1)·Σ_papers (Σ ψ of the paper)²/n².

The length of reviews can be held fixed (`effect_at_length`). Then x′ is replaced by x′ − β·Δ. Here Δ is the change of a
pair's log length, and β the slope of score on log length (`gre_bench.stats.length`). The derivative of d by β is then

    ∂d/∂β = −mean(Δ)/s + d·cov(x′, Δ)/(2s²),

and for each paper, this derivative times the paper's influence on β is added to its Σ ψ/n. The interval is Student's
with G − 1 degrees of freedom.

A verdict says whether a metric passes: a degradation must lower the score, and a manipulation must not raise it. If
there are too few papers to decide, the verdict is *undecided*, never *pass*. The verdict by the rule of Xu et al. 2025
(§4.2-4.3) is reported as well. Under that rule, a metric is robust if no increase is significant, however few the
papers are. The rule also does not correct for multiple tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gre_bench.stats.intervals import PairedTest, compute_t_interval_and_p
from gre_bench.stats.length import Slope
from gre_bench.stats.samples import (
    Array,
    Indices,
    Keys,
    Values,
    check_finite,
    draw_bootstrap_counts,
    equal_tailed_quantiles,
    group_indices,
)

ALPHA = 0.05
UNDEFINED = 0.01
"""Student's quantiles are used if more than this share of resamples has no standard error."""

_FIRST, _SECOND = np.triu_indices(4)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect size of a perturbation: the standardised mean difference of scores, after less before it.

    *value* is this difference (Cohen's d); it has two intervals.

    - *low*, *high*, *p*: the interval by paper and its two-sided p-value.
    - *flat_low*, *flat_high*, *flat_p*: the published interval and p-value, which treat pairs as independent.
    - *method*: how the interval by paper was computed. ``Student``: too many resamples had no standard error for the
      bootstrap. ``no change``: all scores are equal before and after.
    """

    value: float
    low: float
    high: float
    p: float
    flat_low: float
    flat_high: float
    flat_p: float
    papers: int
    pairs: int
    method: Literal["studentised bootstrap", "Student", "no change"]


def compute_effect_size(before: Values, after: Values, papers: Keys, resamples: int = 10_000, seed: int = 0) -> Effect:
    """Returns the effect size (Cohen's d) of a perturbation of reviews on their scores, with 95% intervals.

    A negative effect means that the scores fall. If scores vary between pairs but no pair's score changes, the effect
    is exactly zero, with p = 1 and intervals of no width.

    Args:
        before: (n,) the scores of (paper, reference) pairs before the change.
        after: (n,) the scores of the same pairs after the change, in the same order and unit.
        papers: (n,) the paper of each pair; papers are resampled.
        resamples: how many resamples the bootstrap takes.
        seed: the bootstrap's seed.

    Raises:
        ValueError: there are fewer than two papers, a number is not finite, all scores are equal, or all papers have
            the same effect and it is not zero.
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    old, new = check_finite(before, at_least=2), check_finite(after, at_least=2)
    if len(old) != len(new):
        raise ValueError(f"{len(old)} scores before but {len(new)} after: they must be of the same pairs")
    groups, size = _index_papers(old, papers)
    scale = _pool_standard_deviations(old, new)
    change = (new - old) / scale
    d, error = float(change.mean()), float(change.std(ddof=1)) / math.sqrt(len(change))
    if not change.any():
        return Effect(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, size, len(old), "no change")
    half = float(ndtri(0.975)) * error
    flat_p = 2 * float(ndtr(-abs(d) / error)) if error else 0.0
    flat = (d - half, d + half, flat_p)

    sums, products = _sum_by_paper((old - old.mean()) / scale, (new - new.mean()) / scale, change - d, groups, size)
    se = float(_estimate_resampled_effects(np.ones((1, size)), sums, products, d)[1][0])
    least = 1e-6 * (abs(d) + error)
    if not se > least:
        raise ValueError("every paper has the same effect: its spread over papers cannot be estimated")
    drawn = [
        _estimate_resampled_effects(block, sums, products, d) for block in draw_bootstrap_counts(size, resamples, seed)
    ]
    values, errors = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    defined = np.isfinite(values) & (errors > least)
    student = float(stdtrit(size - 1, 0.975))
    p = 2 * float(stdtr(size - 1, -abs(d) / se))
    if 1 - defined.mean() > UNDEFINED:
        return Effect(d, d - student * se, d + student * se, p, *flat, size, len(old), "Student")
    t = (values[defined] - d) / errors[defined]
    below, above = equal_tailed_quantiles(t, 0.95)
    low, high = d - max(above, student) * se, d + max(-below, student) * se
    # The bootstrap has p = 2·(1 + k)/(1 + n), where k of n values lie on the rarer side of the observed one.
    rarer = min(int((t >= d / se).sum()), int((t <= d / se).sum()))
    p = max(p, min(1.0, 2 * (1 + rarer) / (1 + len(t))))
    return Effect(d, low, high, p, *flat, size, len(old), "studentised bootstrap")


def effect_at_length(before: Values, after: Values, longer: Values, papers: Keys, slope: Slope) -> PairedTest:
    """Returns the effect size (Cohen's d) of a perturbation, with review length held fixed, and its 95% interval.

    Args:
        before: (n,) as in `compute_effect_size`.
        after: (n,) as in `compute_effect_size`.
        longer: (n,) log(tokens after/tokens before) of each pair's review.
        papers: (n,) as in `compute_effect_size`.
        slope: the slope of score on log length, with its uncertainty; it may come from other papers.

    Raises:
        ValueError: as `compute_effect_size`.
    """
    old, raw, change = (check_finite(column, at_least=2) for column in (before, after, longer))
    if not len(old) == len(raw) == len(change):
        raise ValueError(f"{len(old)} scores before, {len(raw)} after and {len(change)} lengths")
    groups, size = _index_papers(old, papers)
    new = raw - slope.value * change
    scale = _pool_standard_deviations(old, new)
    x, y = (old - old.mean()) / scale, (new - new.mean()) / scale
    d = float((new - old).mean()) / scale
    squares = x**2 + y**2
    psi = ((y - x) - d / 4 * (squares - squares.mean())) / len(old)
    moved = change - change.mean()
    by_slope = (-float(change.mean()) + d * float(y @ moved) / (len(old) - 1) / 2) / scale
    own = np.bincount(groups, weights=psi, minlength=size).astype(float)
    error = slope.error(list(dict.fromkeys(papers)), own, by_slope)
    return PairedTest(d, *compute_t_interval_and_p(d, error, size - 1, 0.95), size)


def _index_papers(scores: Array, papers: Keys) -> tuple[Indices, int]:
    groups, size = group_indices(papers, len(scores))
    if size < 2:
        raise ValueError("an effect by paper needs at least two papers")
    return groups, size


def _pool_standard_deviations(old: Array, new: Array) -> float:
    scale = math.sqrt((old.var(ddof=1) + new.var(ddof=1)) / 2)
    if not scale > 1e-12 * max(1e-300, float(np.abs(old).max()), float(np.abs(new).max())):
        raise ValueError("the scores do not vary, before or after: their difference has no scale")
    return scale


def adjust_by_holm(p_values: Values) -> list[float]:
    """Returns p-values adjusted for multiple tests by Holm's method (1979), in the given order.

    The k-th smallest of m p-values is multiplied by m − k + 1. An adjusted p-value is at most 1, and never below the
    adjusted value of a smaller p-value.

    Args:
        p_values: (m,) raw p-values.

    Raises:
        ValueError: a number lies outside [0, 1].
    """
    values = np.asarray(p_values, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"a p-value is not between 0 and 1: {list(p_values)}")
    order = np.argsort(values, kind="stable")
    raised = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    adjusted = np.empty_like(values)
    adjusted[order] = raised
    return [float(value) for value in adjusted]


def _sum_by_paper(old: Array, new: Array, change: Array, groups: Indices, size: int) -> tuple[Array, Array]:
    """Returns four sums over each paper's pairs (papers, 4), and the products of every two of these sums (papers, 10).

    The sums are n (the number of pairs), Σδ, Σ(x + x′) and Σ(x² + x′²). *old* is x, *new* is x′ and *change* is δ, each
    less its mean. δ is summed by itself: the difference of two large sums would lose the digits of a small effect.
    Products of two different sums are doubled, because the square of a sum of four terms contains them twice.
    """
    columns = (np.ones_like(old), change, old + new, old**2 + new**2)
    sums = np.stack([np.bincount(groups, weights=column, minlength=size) for column in columns], axis=1)
    twice = np.where(_FIRST == _SECOND, 1.0, 2.0)
    return np.asarray(sums, dtype=np.float64), np.asarray(sums[:, _FIRST] * sums[:, _SECOND] * twice, dtype=np.float64)


def _estimate_resampled_effects(rows: Array, sums: Array, products: Array, d: float) -> tuple[Array, Array]:
    """Returns the effect d* of each resample and its standard error (resamples,); not finite if no score varies.

    *rows* (resamples, papers): how often each resample contains each paper. *sums*, *products*: as `_sum_by_paper`
    returns them. *d*: the effect of the sample itself.
    """
    n, delta, both, squares = (rows @ sums).T
    delta, both = delta / n, both / n
    spread = squares / n - (both**2 + delta**2) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.sqrt(np.where(spread > 1e-12, spread * n / (2 * (n - 1)), np.nan))
        values = (d + delta) / s
        gamma = -values / (4 * s**2)
        constant = -delta / s + gamma * ((both**2 + delta**2) / 2 - spread)
        psi = np.stack([constant, 1 / s - gamma * delta, -gamma * both, gamma], axis=1)
        squared = np.einsum("rk,rk->r", rows @ products, psi[:, _FIRST] * psi[:, _SECOND])
        size = len(sums)
        return values, np.sqrt(np.maximum(squared, 0.0) * size / (size - 1)) / n


Verdict = Literal["pass", "fail", "undecided"]
ChangeKind = Literal["degradation", "manipulation"]


SMALLEST, MARGIN = 0.2, 0.1
"""Limits of the effect size (Cohen's d): the smallest fall of a degraded review's score that matters, and the largest
rise of a manipulated review's score that is tolerated."""


def degradation_verdict(effect: Effect, p_holm: float) -> Verdict:
    """Returns the verdict on a degradation from its *effect* on the scores.

    - *pass*: the score falls, and *p_holm* is below 5%.
    - *fail*: the interval of the effect lies above −`SMALLEST`, so the score does not fall by that much.

    *p_holm* is the effect's p-value by paper, after `adjust_by_holm` over the degradations of the same metric,
    evaluation LM and writer.
    """
    if effect.value < 0 and p_holm < ALPHA:
        return "pass"
    return "fail" if effect.low > -SMALLEST else "undecided"


def manipulation_verdict(effect: Effect) -> Verdict:
    """Returns the verdict on a manipulation from its *effect* on the scores.

    The verdict is *pass* if the interval of the effect lies below `MARGIN`, and *fail* if it lies at or above `MARGIN`.
    A metric passes only if every manipulation passes. This is an intersection-union test, so it needs no correction for
    multiple tests.
    """
    if effect.high < MARGIN:
        return "pass"
    return "fail" if effect.low >= MARGIN else "undecided"


def decide_by_published_rule(kind: ChangeKind, effect: Effect) -> Verdict:
    """Returns the verdict by the rule of Xu et al. 2025, from the effect's *flat_p* at 5%; it is never undecided.

    A degradation passes if it lowers the score significantly. A manipulation passes unless it raises the score
    significantly.
    """
    significant = effect.flat_p < ALPHA
    if kind == "degradation":
        return "pass" if significant and effect.value < 0 else "fail"
    return "fail" if significant and effect.value > 0 else "pass"


def combine_verdicts(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the overall verdict: fail if any is fail, else undecided if any is undecided, else pass.

    Raises ValueError if there are no verdicts.
    """
    given = set(verdicts)
    if not given:
        raise ValueError("no change was tried: there is nothing to judge the metric by")
    return "fail" if "fail" in given else "undecided" if "undecided" in given else "pass"
