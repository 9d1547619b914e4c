"""Computes what scores would be if reviews were as long as human ones, so that nobody gains by length alone.

The model is fitted by least squares:

    score = α_paper + γ_candidate + β·log(tokens of the candidate's review).

A candidate's length-controlled score is its mean score − β·(mean log(tokens) − log(at)). This moves the mean score
along the slope β to the length *at*, which is usually the human length. Three choices are made here.

- Each candidate has its own effect γ. Without γ, β would take quality for length wherever better reviewers write more.
  With γ, β compares longer and shorter reviews of the same candidate.
- All candidates share one slope β. A single candidate has one review per paper, so effects of length and of the paper
  cannot be separated. If no candidates are named, all values form one set. β then needs papers with several reviews of
  different lengths.
- The human length is the geometric mean of the tokens of human reviews, so the human score does not move.

The interval is cluster-robust by paper: Student's t with papers − 1 degrees of freedom. The interval includes the
uncertainty of β, but takes the length *at* as known. β is no causal effect: a longer review may well say more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.intervals import Interval
from gre_bench.stats.samples import Array, Indices, finite, group_indices

ALL = "all"
"""Name of the single set if no candidates are named."""


@dataclass(frozen=True, slots=True)
class LengthControl:
    """The scores that candidates would have if their reviews were *at* tokens long.

    - *at*: the length in tokens.
    - *slope*: β, the change of the score per unit of log(tokens), in the metric's unit.
    - *scores*: candidate → mean score at that length.
    """

    at: float
    slope: Interval
    scores: dict[str, Interval]


def human_length(tokens: Sequence[float]) -> float:
    """Returns the geometric mean of *tokens*, the lengths of the human reviews.

    Raises ValueError for a review without tokens.
    """
    return math.exp(float(_logs(tokens).mean()))


def length_controlled(
    values: Sequence[float],
    tokens: Sequence[float],
    papers: Sequence[object],
    at: float,
    candidates: Sequence[str] | None = None,
    level: float = 0.90,
) -> LengthControl:
    """Returns the mean score that each candidate would have if its reviews were *at* tokens long.

    - *values* (n,): the scores of pairs.
    - *tokens* (n,): the length of each pair's candidate review.
    - *papers* (n,): the paper of each pair.
    - *candidates* (n,): the candidate of each pair. If it is None, all pairs count as those of one candidate, named
      `ALL`.

    Raises ValueError for fewer than two papers or a review without tokens. Also raises it if paper and candidate alone
    determine the lengths.
    """
    from scipy.special import stdtrit

    scores, logs = finite(values, at_least=3), _logs(tokens)
    names = [ALL] * len(scores) if candidates is None else list(candidates)
    if not len(scores) == len(logs) == len(names):
        raise ValueError(f"{len(scores)} values, {len(logs)} lengths and {len(names)} candidates")
    groups, size = group_indices(papers, len(scores))
    if size < 2:
        raise ValueError("length control needs at least two papers")
    if not at > 0:
        raise ValueError(f"the length to control for must be positive, not {at}")
    kinds, number = group_indices(names, len(names))
    length, score = (_residual(column, groups, size, kinds, number) for column in (logs, scores))
    information = math.fsum(length * length)
    if information <= 1e-9 * max(1e-9, float(((logs - logs.mean()) ** 2).sum())):
        raise ValueError(
            "length cannot be separated from paper and candidate: no paper has reviews of different lengths"
        )
    slope = math.fsum(length * score) / information
    by_slope = length * (score - slope * length) / information
    t = float(stdtrit(size - 1, 0.5 + level / 2))

    def interval(value: float, influence: Array) -> Interval:
        sums = np.bincount(groups, weights=influence, minlength=size)
        half = t * math.sqrt(size / (size - 1) * float(sums @ sums))
        return Interval(value, value - half, value + half, size)

    controlled = {}
    for kind, name in enumerate(dict.fromkeys(names)):
        mine = kinds == kind
        away = float(logs[mine].mean()) - math.log(at)
        moved = scores - slope * logs
        own = np.where(mine, moved - moved[mine].mean(), 0.0) / mine.sum()
        controlled[name] = interval(float(scores[mine].mean()) - slope * away, own - away * by_slope)
    return LengthControl(at, interval(slope, by_slope), controlled)


def adjusted(values: Sequence[float], tokens: Sequence[float], control: LengthControl) -> Array:
    """Returns the scores *values* (n,) as they would be if each review were `control.at` tokens long.

    *tokens* (n,) holds the length of each score's review. With the slope β of *control*, a score changes by
    −β·(log(tokens) − log(at)).
    """
    return finite(values, at_least=1) - control.slope.value * (_logs(tokens) - math.log(control.at))


def _logs(tokens: Sequence[float]) -> Array:
    counts = finite(tokens, at_least=1)
    if not (counts > 0).all():
        raise ValueError("a review has no tokens: its length has no logarithm")
    return np.log(counts)


def _residual(column: Array, groups: Indices, size: int, kinds: Indices, number: int) -> Array:
    """Returns what remains of *column* (n,) when the effects of papers and candidates are removed by least squares.

    By the theorem of Frisch, Waugh and Lovell, β can be fitted to the remainders alone. *groups*, *kinds* (n,): the
    indices of each value's paper, of *size*, and candidate, of *number*.
    """
    members = np.bincount(groups, minlength=size)

    def within(values: Array) -> Array:
        return np.asarray(values - (np.bincount(groups, weights=values, minlength=size) / members)[groups])

    target = within(column)
    if number == 1:
        return target
    # The normal equations, without a product of matrices by BLAS: its last digits depend on the processor and its load.
    held = np.bincount(groups * number + kinds, minlength=size * number).reshape(size, number)
    products = np.diag(held.sum(axis=0)) - np.einsum("pk,pl->kl", held / members[:, None], held)
    totals = np.bincount(kinds, weights=target, minlength=number)
    return np.asarray(target - within(np.linalg.lstsq(products, totals, rcond=None)[0][kinds]))
