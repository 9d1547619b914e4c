"""How far a candidate scores above chance: its score less the score of its own reviews of other papers.

Each pair of a paper and a reference has two scores. One is the score of the candidate's review of that paper. The
other, the *score by chance*, is the score of the candidate's review of another paper.

Reviews exchange papers within small groups of papers, the *units*. In the mean difference of a unit, effects of one
review alone or of one paper alone cancel. No two units share a paper, so units are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.intervals import clustered_test
from gre_bench.stats.samples import group_indices


@dataclass(frozen=True, slots=True)
class AboveChance:
    """How far a candidate's scores lie above its scores by chance; means and interval are in the metric's unit.

    - *chance*: the mean score by chance.
    - *above*: the mean score less *chance*.
    - *low*, *high*: the ends of the 90% interval of *above*; None for fewer than two units.
    - *p*: the two-sided p-value of *above*; None for fewer than two units.
    - *papers*: the number of papers.
    - *swaps*: the number of units, the groups of papers that exchange reviews.
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
    """Returns how far the mean of *values* lies above the mean score by chance, with Student's t test over units.

    Both means are over papers, each the mean of its pairs.

    - *values* (n,): the score of each pair.
    - *differences* (n,): the score of each pair less its score by chance.
    - *papers* (n,): the paper of each pair.
    - *units* (n,): the unit of each pair, which is a group of papers that exchange reviews.

    Raises ValueError if there are no values.
    """
    if not values:
        raise ValueError("no pair has a score by chance")
    groups, size = group_indices(papers, len(values))
    pairs = np.bincount(groups)
    differences_of, values_of = (
        (np.bincount(groups, weights=column) / pairs).tolist() for column in (differences, values)
    )
    units_of = dict(zip(groups.tolist(), units, strict=True))
    above = sum(differences_of) / size
    chance = sum(values_of) / size - above
    sizes = size, len(set(units))
    if sizes[1] < 2:
        return AboveChance(chance, above, None, None, None, *sizes)
    test = clustered_test(differences_of, [units_of[paper] for paper in range(size)])
    return AboveChance(chance, above, test.low, test.high, test.p, *sizes)
