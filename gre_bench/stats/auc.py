"""How well a score separates two samples: the area under the ROC curve (AUC), with an interval clustered by paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.samples import Array, finite, group_indices


@dataclass(frozen=True, slots=True)
class Separation:
    """The probability that a random score of one sample, *same*, exceeds a random score of another, *other*.

    - *auc*: the probability, which is the area under the ROC curve. Equal scores count half.
    - *low*, *high*: the ends of its 95% interval, clustered by paper.
    - *same_pairs*, *other_pairs*: the number of scores in each sample.
    """

    auc: float
    low: float
    high: float
    same_pairs: int
    other_pairs: int


def separation(
    same: Sequence[float], same_papers: Sequence[object], other: Sequence[float], other_papers: Sequence[object]
) -> Separation:
    """Returns the AUC of the scores *same* against the scores *other*, with a 95% interval clustered by paper.

    *same_papers* and *other_papers* hold the paper of each score. Equal scores count half. Raises ValueError for fewer
    than two scores in a sample, or fewer than two papers in all.

    The placement value of a score is the share of the other sample that lies below the score. The variance sums the
    placement values of each paper over both samples (Obuchowski 1997). The interval is therefore valid even if scores
    of one paper depend on each other. Its ends are cut to [0, 1].
    """
    from scipy.special import stdtrit

    x, y = finite(same, at_least=2), finite(other, at_least=2)
    above_x = _placements(x, y)
    above_y = 1.0 - _placements(y, x)
    auc = float(above_x.mean())
    groups, size = group_indices([*same_papers, *other_papers], len(x) + len(y))
    if size < 2:
        raise ValueError("the interval of a separation needs at least two papers")
    parts = np.concatenate([(above_x - auc) / len(x), (above_y - auc) / len(y)])
    sums = np.bincount(groups, weights=parts, minlength=size)
    error = math.sqrt(size / (size - 1) * float(sums @ sums))
    half = float(stdtrit(size - 1, 0.975)) * error
    return Separation(auc, max(0.0, auc - half), min(1.0, auc + half), len(x), len(y))


def _placements(x: Array, y: Array) -> Array:
    """Returns for each value in *x* the share of the values in *y* that are smaller; equal values count half."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left")
    upto = np.searchsorted(ordered, x, side="right")
    return np.asarray((below + upto) / 2 / len(y))
