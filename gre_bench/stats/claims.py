"""Does a claim hold? A claim says that all, or at least one, of several quantities are above zero.

Such a quantity is called a contrast. Each contrast has two intervals: a 95% interval, and a wider one by Bonferroni's
correction. The wider intervals cover 95% over all contrasts together. They are used where a single contrast can decide
the claim.

A claim that *all* contrasts are above zero

- holds if every 95% interval lies above zero (an intersection-union test of level 2.5%, without correction);
- does not hold if at least one wider interval lies below zero.

A claim that *any* contrast, at least one, is above zero

- holds if at least one wider interval lies above zero;
- does not hold if every 95% interval lies below zero.

In all other cases, the claim cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "does not hold", "cannot be told"]
Quantifier = Literal["all", "any"]
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Contrast:
    """A quantity that is above zero if the claim is right, such as the mean score difference of two candidates.

    - *name*: the quantity in words.
    - *value*: its estimate.
    - *error*: the standard error of *value*.
    - *n*: the number of papers, items or pairs behind the estimate; None if unknown.
    - *freedom*: the degrees of freedom of Student's t. It is infinite if *error* comes from a published or stored
      interval.
    """

    name: str
    value: float
    error: float
    n: int | None
    freedom: float = math.inf

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Returns the lower and upper end of the two-sided interval at *level*: value ± t·error."""
        half = _t(0.5 + level / 2, self.freedom) * self.error
        return self.value - half, self.value + half

    @property
    def needed(self) -> int | None:
        """Returns how large *n* must be to find an effect of this size with a power of 80%, in a two-sided test at 5%.

        The formula is n·((t₀.₉₇₅ + z₀.₈)·error/|value|)². Returns None if the present *n* is enough: the 95% interval
        excludes zero. Also returns None if *n* is unknown, or if |value| is no more than a thousandth of *error*, which
        counts as no effect.
        """
        low, high = self.interval()
        if self.n is None or abs(self.value) <= self.error / 1000 or low > 0 or high < 0:
            return None
        return math.ceil(self.n * ((_t(0.975, self.freedom) + _t(POWER, math.inf)) * self.error / abs(self.value)) ** 2)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The *verdict* on a claim, with the *contrasts* that it rests on.

    If the verdict is "cannot be told", two fields say more:

    - *needed*: how many papers, items or pairs would decide the claim; None if unknown.
    - *why*: the reason in words; empty if the intervals are merely too wide.
    """

    verdict: Verdict
    contrasts: tuple[Contrast, ...]
    needed: int | None = None
    why: str = ""


def contrast_of(name: str, differences: Sequence[float]) -> Contrast | None:
    """Returns the mean of *differences*, one number per paper, as a contrast; None for fewer than two papers.

    *name*: the quantity in words.
    """
    n = len(differences)
    if n < 2:
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((difference - mean) ** 2 for difference in differences) / (n - 1)
    return Contrast(name, mean, math.sqrt(variance / n), n, n - 1)


def from_interval(name: str, value: float, low: float, high: float, n: int | None, level: float = 0.95) -> Contrast:
    """Returns the contrast *name* with the estimate *value* and the two-sided interval from *low* to *high*.

    *level* is the interval's coverage. The standard error follows from the interval's width, by the normal
    distribution. *n*: the number of papers, items or pairs behind the estimate; None if unknown.
    """
    return Contrast(name, value, (high - low) / 2 / _t(0.5 + level / 2, math.inf), n)


def judge_claim(
    contrasts: Sequence[Contrast], quantifier: Quantifier = "all", why_empty: str = "nothing to compare"
) -> ClaimResult:
    """Tests the claim that all *contrasts*, or at least one of them, are above zero.

    *quantifier* says which: ``all`` or ``any``. If there are no contrasts, the verdict is "cannot be told", with
    *why_empty* as its reason.
    """
    if not contrasts:
        return ClaimResult("cannot be told", (), why=why_empty)
    together = 1 - 0.05 / len(contrasts)
    every, some = (0.95, together) if quantifier == "all" else (together, 0.95)
    above = [contrast.interval(every)[0] > 0 for contrast in contrasts]
    below = [contrast.interval(some)[1] < 0 for contrast in contrasts]
    if (all if quantifier == "all" else any)(above):
        return ClaimResult("holds", tuple(contrasts))
    if (any if quantifier == "all" else all)(below):
        return ClaimResult("does not hold", tuple(contrasts))
    needs = [contrast.needed for contrast, sure in zip(contrasts, above, strict=True) if not sure]
    known = [need for need in needs if need is not None]
    needed = (max if quantifier == "all" else min)(known, default=None)
    return ClaimResult("cannot be told", tuple(contrasts), needed)


def _t(quantile: float, freedom: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(quantile) if math.isinf(freedom) else stdtrit(freedom, quantile))
