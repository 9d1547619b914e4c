"""How far a candidate scores above chance: above the score of its own reviews of other papers.

The scores are paired: the same paper and reference, once with the review of the paper and once with a review of another
paper. Reviews exchange places within small groups of papers, the *units*. In the difference of a unit, effects of a
review alone and of a paper alone cancel. Units share no paper, so they are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.stats.intervals import clustered_test


@dataclass(frozen=True, slots=True)
class AboveChance:
    """How far scores lie above chance: *chance*, the mean score by chance, and *above*, the mean score less that.

    *chance* and *above* are in the metric's unit. *low* to *high*: the 90% interval of *above*. *p*: its p-value.
    Interval and p-value are None for fewer than two independent units. *papers* and *swaps*: the numbers of papers and
    of units.
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
    """Returns the mean score by chance and the mean score above it, tested over units.

    *values* (n,) are the scores of pairs; *differences* (n,) are these scores less the scores by chance of the same
    pairs. *papers* (n,) and *units* (n,) name the paper and the unit of each pair. Raises ValueError if there are no
    values.
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
