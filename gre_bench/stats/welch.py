"""Has a mean changed from one set of papers to another? Welch's test for two sets that have no paper in common.

The test needs only the mean m, the standard error se and the number n of papers of each set:

    t = (m₂ − m₁)/√(se₁² + se₂²), with Welch and Satterthwaite's degrees of freedom
    (se₁² + se₂²)²/(se₁⁴/(n₁ − 1) + se₂⁴/(n₂ − 1)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """The mean of one set of papers.

    *mean*: the mean. *se*: the standard error of the mean. *units*: the number of papers.
    """

    mean: float
    se: float
    units: int


@dataclass(frozen=True, slots=True)
class Change:
    """How far a mean has changed between two sets of papers.

    *value*: the second mean less the first. *low*, *high*: the ends of its interval. *p*: its two-sided p-value.
    """

    value: float
    low: float
    high: float
    p: float


def change(first: Moment, second: Moment, level: float = 0.90) -> Change:
    """Returns how far the mean has changed from the set *first* to the set *second*, by Welch's test.

    *level*: the coverage of the interval. Raises ValueError for fewer than two papers in a set, or if both standard
    errors are zero.
    """
    from scipy.special import stdtr, stdtrit

    if min(first.units, second.units) < 2:
        raise ValueError("a change needs at least two papers on either side")
    variances = first.se**2, second.se**2
    total = sum(variances)
    if not total > 0:
        raise ValueError("neither side varies: the spread of the change cannot be estimated")
    df = total**2 / (variances[0] ** 2 / (first.units - 1) + variances[1] ** 2 / (second.units - 1))
    value, error = second.mean - first.mean, math.sqrt(total)
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return Change(value, value - half, value + half, 2 * float(stdtr(df, -abs(value) / error)))
