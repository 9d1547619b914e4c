"""Does a claim hold? A claim says that all, or at least one, of several quantities, its contrasts, are above zero.

Each contrast has two one-sided p-values, of "not above" and of "not below" zero. With m contrasts, a claim has two
p-values, doubled because either verdict is open:

- A claim that *all* contrasts are above zero holds by p = 2·max p (an intersection-union test). It does not hold by
  p = 2·min(1, m·min p) of the contrasts below zero (Bonferroni).
- A claim that *any* contrast, at least one, is above zero holds by p = 2·min(1, m·min p). It does not hold by
  p = 2·max p of the contrasts below zero.

The smaller p is the claim's. Claims that are tested together, each under each metric, form one family: `decided`
applies Holm's correction over all of them. A claim has a verdict if its corrected p is below 5%; otherwise it cannot be
told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gre_bench.stats.effects import holm
from gre_bench.stats.samples import Values

Verdict = Literal["holds", "does not hold", "cannot be told"]
Quantifier = Literal["all", "any"]
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Contrast:
    """A quantity that is above zero if the claim is right, such as the mean score difference of two candidates.

    - *error*: the standard error of *value*.
    - *n*: the number of papers, items or pairs behind the estimate; None if unknown.
    - *freedom*: the degrees of freedom of Student's t; infinite if *error* comes from a published or stored interval.
    """

    name: str
    value: float
    error: float
    n: int | None
    freedom: float = math.inf

    def interval(self) -> tuple[float, float]:
        """Returns the ends of the two-sided 95% interval, value ± t·error."""
        half = _t(0.975, self.freedom) * self.error
        return self.value - half, self.value + half

    def p_above(self, margin: float = 0.0) -> float:
        """Returns the one-sided p-value of the hypothesis that the quantity is at most −*margin*."""
        return _tail(self.value + margin, self.error, self.freedom)

    def p_below(self) -> float:
        """Returns the one-sided p-value of the hypothesis that the quantity is at least 0."""
        return _tail(-self.value, self.error, self.freedom)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The outcome of testing a claim, with the *contrasts* that it rests on.

    - *leaning*: the verdict if *p_holm* is small enough.
    - *p*: the claim's p-value; None if nothing could be compared.
    - *p_holm*: *p* after Holm's correction over *tests* claims.
    - *why*: why the claim cannot be told, in words; empty if the intervals are merely too wide.
    """

    contrasts: tuple[Contrast, ...] = ()
    leaning: Verdict = "cannot be told"
    p: float | None = None
    p_holm: float | None = None
    tests: int = 1
    quantifier: Quantifier = "all"
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        return self.leaning if self.p_holm is not None and self.p_holm < ALPHA else "cannot be told"

    @property
    def deciding(self) -> Contrast | None:
        """The contrast that decides: the smallest if all must be above zero, the largest if one is enough."""
        pick = min if self.quantifier == "all" else max
        return pick(self.contrasts, key=lambda contrast: contrast.value, default=None)


def contrast_of(name: str, differences: Values) -> Contrast | None:
    """Returns the mean of *differences*, one number per paper, as a contrast; None for fewer than two papers."""
    n = len(differences)
    if n < 2:
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((difference - mean) ** 2 for difference in differences) / (n - 1)
    return Contrast(name, mean, math.sqrt(variance / n), n, n - 1)


def from_interval(name: str, value: float, low: float, high: float, n: int | None) -> Contrast:
    """Returns the contrast whose standard error follows from its 95% interval, by the normal distribution."""
    return Contrast(name, value, (high - low) / 2 / _t(0.975, math.inf), n)


def judge_claim(
    contrasts: Sequence[Contrast],
    quantifier: Quantifier = "all",
    why_empty: str = "nothing to compare",
    *,
    margin: float = 0.0,
    lacking: str = "",
) -> ClaimResult:
    """Tests the claim that all *contrasts*, or at least one of them, are above −*margin*, by itself.

    - *why_empty*: why the claim cannot be told if there are no contrasts.
    - *margin*: the claim does not hold only if contrasts are below zero, even if *margin* is positive.
    - *lacking*: why some contrasts are missing. Such a claim may fail, but cannot hold.
    """
    if not contrasts:
        return ClaimResult(quantifier=quantifier, why=why_empty)
    above, below = [item.p_above(margin) for item in contrasts], [item.p_below() for item in contrasts]
    if quantifier == "all":
        holds, fails = max(above), min(1.0, len(below) * min(below))
    else:
        holds, fails = min(1.0, len(above) * min(above)), max(below)
    holds = 1.0 if lacking else holds
    p = min(1.0, 2 * min(holds, fails))
    why = lacking if p >= ALPHA or fails >= holds else ""
    return ClaimResult(tuple(contrasts), "holds" if holds < fails else "does not hold", p, p, 1, quantifier, why)


def decided(results: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Returns *results*, the claims of one family, with Holm's correction over all that have a p-value."""
    tested = [result.p for result in results if result.p is not None]
    adjusted = dict(zip(tested, holm(tested), strict=True))
    return [
        replace(result, p_holm=adjusted[p], tests=len(tested)) if (p := result.p) is not None
        else result
        for result in results
    ]  # fmt: skip


def _tail(value: float, error: float, freedom: float) -> float:
    """Returns P(T ≥ value/error) for Student's T; without any *error*, 0 if *value* is positive, else 1."""
    from scipy.special import ndtr, stdtr

    if not error:
        return float(value <= 0)
    return float(ndtr(-value / error) if math.isinf(freedom) else stdtr(freedom, -value / error))


def _t(quantile: float, freedom: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(quantile) if math.isinf(freedom) else stdtrit(freedom, quantile))
