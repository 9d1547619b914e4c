"""How far a candidate scores above chance, which is what its own reviews of other papers score.

The scores are paired: the same paper and reference, once with the review of the paper, once with that of another one.
Reviews change places within small groups of papers, the *units*. In the difference of a unit, what its reviews score on
any paper cancels, and so does what any review scores on its papers. Units share no paper, so they are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.stats.intervals import clustered_test


@dataclass(frozen=True, slots=True)
class AboveChance:
    """Mean score by chance and the mean difference to it in the metric's unit, with its 90% interval and p-value.

    *low*, *high* and *p* are None where there are fewer than two independent units (*swaps*).
    """

    chance: float
    above: float
    low: float | None
    high: float | None
    p: float | None
    papers: int
    swaps: int


def above_chance(
    values: Sequence[float], differences: Sequence[float], papers: Sequence[object], units: Sequence[object]
) -> AboveChance:
    """Of *values* (n,), each of a paper and a reference, and their *differences* (n,) to the score by chance.

    ValueError: there are no values.
    """
    if not values:
        raise ValueError("no pair has a score by chance")
    above = sum(differences) / len(differences)
    chance = sum(values) / len(values) - above
    sizes = len(set(papers)), len(set(units))
    if sizes[1] < 2:
        return AboveChance(chance, above, None, None, None, *sizes)
    test = clustered_test(differences, units)
    return AboveChance(chance, above, test.low, test.high, test.p, *sizes)
