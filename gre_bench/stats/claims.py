"""Does a claim hold? Contrasts with intervals, and the verdict over all of them or any of them.

A contrast is a quantity that the claim says is above zero. A claim about all contrasts holds if every 95% interval lies
above zero. This is an intersection-union test, of level 2.5% without correction. The claim does not hold if one
interval lies below zero. There, the intervals cover 95% over all contrasts together (Bonferroni). A claim that at least
one contrast is above zero is the mirror image.
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
    """A quantity that is above zero if the claim is right: its *value*, its standard *error*, and the *n* it rests on.

    *name* says in words what the quantity is. *n* counts papers, items or pairs. *freedom*: degrees of freedom of
    Student's t, infinite if the error comes from a published or stored interval.
    """

    name: str
    value: float
    error: float
    n: int
    freedom: float = math.inf

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Returns both ends of the two-sided interval at *level*: value ± t·error."""
        half = _t(0.5 + level / 2, self.freedom) * self.error
        return self.value - half, self.value + half

    @property
    def needed(self) -> int | None:
        """Returns the n that finds an effect of this size with a power of 80%: n·((t₀.₉₇₅ + z₀.₈)·error/|value|)².

        None if the present n is enough, or if the effect is below a thousandth of its error, which counts as no effect.
        """
        low, high = self.interval()
        if abs(self.value) < self.error / 1000 or low > 0 or high < 0:
            return None
        return math.ceil(self.n * ((_t(0.975, self.freedom) + _t(POWER, math.inf)) * self.error / abs(self.value)) ** 2)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The *verdict* on a claim and its *contrasts*.

    *needed* and *why* belong to the verdict "cannot be told". *needed*: the n that would decide the claim, None if
    unknown. *why*: the reason, empty if none is stated.
    """

    verdict: Verdict
    contrasts: tuple[Contrast, ...]
    needed: int | None = None
    why: str = ""


def contrast_of(name: str, differences: Sequence[float]) -> Contrast | None:
    """Returns the mean of *differences*, one per paper, as a contrast; None for fewer than two papers."""
    n = len(differences)
    if n < 2:
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((difference - mean) ** 2 for difference in differences) / (n - 1)
    return Contrast(name, mean, math.sqrt(variance / n), n, n - 1)


def from_interval(name: str, value: float, low: float, high: float, n: int, level: float = 0.95) -> Contrast:
    """Returns the contrast with *value* whose two-sided interval at *level* ends at *low* and *high*.

    The contrast's error follows from the interval's width, by the normal distribution. *n*: the number of papers, items
    or pairs.
    """
    return Contrast(name, value, (high - low) / 2 / _t(0.5 + level / 2, math.inf), n)


def judge_claim(
    contrasts: Sequence[Contrast], quantifier: Quantifier = "all", why_empty: str = "nothing to compare"
) -> ClaimResult:
    """Tests the claim that *contrasts* are above zero: all of them, or at least one, as *quantifier* says.

    Without contrasts the claim cannot be told, for the reason *why_empty*.
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
