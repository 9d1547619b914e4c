"""How well a score separates two samples: the area under the ROC curve (AUC), with an interval clustered by paper."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.samples import Array, Indices, Keys, Values, check_finite, group_indices


@dataclass(frozen=True, slots=True)
class AucResult:
    """The probability that a random score of one sample, *same*, exceeds a random score of another, *other*.

    *low*, *high*: the ends of its 95% interval, clustered by paper.
    """

    auc: float
    low: float
    high: float
    same_pairs: int
    other_pairs: int


def compute_auc(same: Values, same_papers: Keys, other: Values, other_papers: Keys) -> AucResult:
    """Returns the AUC of the scores *same* against the scores *other*, with a 95% interval clustered by paper.

    The placement value of a score is the share of the other sample that lies below the score. For the variance, the
    placement values of each paper are summed over both samples (Obuchowski 1997). The interval is therefore valid even
    if the scores of one paper depend on each other. Its ends are cut to [0, 1].

    Args:
        same: (n,) scores of one sample, in any unit.
        same_papers: (n,) the paper of each of these scores.
        other: (m,) scores of the other sample, in the same unit.
        other_papers: (m,) the paper of each of these scores.

    Returns:
        The AUC between 0 and 1, its interval, and the sizes n and m of the samples. Two equal scores count half.

    Raises:
        ValueError: a sample has fewer than two scores, or there are fewer than two papers in all.
    """
    x, y = check_finite(same, at_least=2), check_finite(other, at_least=2)
    above_x = _compute_placements(x, y)
    above_y = 1.0 - _compute_placements(y, x)
    auc = float(above_x.mean())
    groups, size = group_indices([*same_papers, *other_papers], len(x) + len(y))
    if size < 2:
        raise ValueError("the interval of a separation needs at least two papers")
    parts = np.concatenate([(above_x - auc) / len(x), (above_y - auc) / len(y)])
    return AucResult(auc, *_compute_auc_interval(auc, parts, groups, size), len(x), len(y))


@dataclass(frozen=True, slots=True)
class OrderedAucResult:
    """The probability that the item with the higher label has the higher score, for two items with different labels.

    - *auc*: that probability; equal scores count half. With two labels it equals the *auc* of `AucResult`.
    - *low*, *high*: the ends of its 95% interval, clustered by paper; None if no item deviates from *auc*, because the
      uncertainty is then unknown.
    - *pairs*, *papers*: how many pairs of items were compared, and to how many papers the items belong.
    """

    auc: float
    low: float | None
    high: float | None
    pairs: int
    papers: int


def compute_ordered_auc(scores: Values, labels: Values, papers: Keys, within: bool = False) -> OrderedAucResult:
    """Returns how well *scores* order items by their *labels*, with a 95% interval clustered by paper.

    The AUC is (D + 1) / 2, where D is Somers' D of the score given the label (Newson 2002). Its variance is the
    variance of a ratio of two sums over pairs. A paper contributes the sum over its items of (pairs won − auc · pairs).
    A pair counts for both of its papers; a pair within a paper counts once.

    Args:
        scores: (n,) one score per item, in any unit.
        labels: (n,) one number per item; only the order of the numbers matters.
        papers: (n,) the paper of each item.
        within: whether only items of the same paper are compared.

    Returns:
        The AUC between 0 and 1, its interval, and the numbers of pairs and papers behind it.

    Raises:
        ValueError: there are fewer than two items, or the pairs that can be compared belong to fewer than two papers.
    """
    score, label = check_finite(scores, at_least=2), check_finite(labels, at_least=2)
    groups, size = group_indices(papers, len(score))
    if len(label) != len(score):
        raise ValueError(f"{len(score)} scores but {len(label)} labels")
    won, pairs = np.zeros(len(score)), np.zeros(len(score))
    for first in range(0, len(score), ROWS):
        rows = slice(first, first + ROWS)
        order = np.sign(label[rows, None] - label[None, :])
        if within:
            order *= groups[rows, None] == groups[None, :]
        agree = order * np.sign(score[rows, None] - score[None, :])
        pairs[rows] = np.abs(order).sum(axis=1)
        won[rows] = (pairs[rows] + agree.sum(axis=1)) / 2
    compared = np.bincount(groups, weights=pairs, minlength=size) > 0
    if compared.sum() < 2:
        raise ValueError("items with different labels belong to fewer than two papers")
    auc = float(won.sum() / pairs.sum())
    parts = (won - auc * pairs) / (pairs.sum() if within else pairs.sum() / 2)
    low, high = (
        _compute_auc_interval(auc, parts, groups, size, int(compared.sum()))
        if np.abs(parts).max() > TINY
        else (None, None)
    )
    return OrderedAucResult(auc, low, high, int(pairs.sum()) // 2, int(compared.sum()))


TINY = 1e-12
"""Deviations below this are rounding errors."""
ROWS = 1024
"""The number of items that are compared with all others at a time."""


def _compute_auc_interval(
    auc: float, parts: Array, groups: Indices, size: int, contributing: int | None = None
) -> tuple[float, float]:
    """Returns the ends of a 95% interval of *auc*, cut to [0, 1].

    - *parts*: the influence of each score on *auc*. The variance of *auc* is estimated from their sums over each paper.
    - *groups*: the index of each score's paper, below *size*.
    - *contributing*: the number of papers with at least one pair of scores that was compared; None means all papers.
    """
    from scipy.special import stdtrit

    number = contributing or size
    sums = np.bincount(groups, weights=parts, minlength=size)
    half = float(stdtrit(number - 1, 0.975)) * math.sqrt(number / (number - 1) * float(sums @ sums))
    return max(0.0, auc - half), min(1.0, auc + half)


def _compute_placements(x: Array, y: Array) -> Array:
    """Returns for each value in *x* the share of smaller values in *y*; equal values count half."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left")
    upto = np.searchsorted(ordered, x, side="right")
    return np.asarray((below + upto) / 2 / len(y))
