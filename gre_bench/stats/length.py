"""Computes what scores would be if all reviews were equally long, so that length alone is not rewarded.

There is one model of length, fitted by least squares:

    score = α_group + γ_candidate + β·log(tokens of the candidate's review).

A *group* is a set of reviews whose scores can be compared directly. On a board, a group is a paper, and candidates have
effects γ. Without γ, β would mistake quality for length wherever better reviewers write more. In a validation, a group
is a paper with one of its references. All reviews there are human, and there is no γ: β compares longer with shorter
reviews of the same paper.

Three estimates are computed from the slope β. Their intervals include the uncertainty of β:

- `length_controlled_means`: a candidate's score if its reviews had the length *at*. This score is the mean score
  − β·(mean log(tokens) − log(at)). The length *at* is usually the human length, so the human score does not change. The
  human length is the geometric mean of the tokens of human reviews.
- `contrast_at_length`: the difference of two candidates at equal length. Let d_p be the difference of their scores on
  paper p, and Δ_p the difference of log(tokens). The result is mean(d) − β·mean(Δ). The influence of paper p on it is

      ψ_p = (d_p − mean(d) − β·(Δ_p − mean(Δ)))/P − mean(Δ)·s_p,  se² = P/(P − 1)·Σ ψ_p²,

  where s_p is the influence of paper p on β. The interval is Student's with P − 1 degrees of freedom.
- `gre_bench.stats.effects.effect_at_length`: the effect of a perturbation at the length of the unperturbed review.

In this form of the difference, all candidates share β. A second form gives each of the two candidates its own slope:

    d_p = c + β_a·(log a_p − m) − β_b·(log b_p − m).

Here log a_p and log b_p are the log lengths of the two reviews. The length m is the midpoint of their means, and c is
the difference at this length. The interval of c is robust against unequal variances (HC3), with P − 3 degrees of
freedom. A difference at equal length is reported only if both forms show it.

β is not a causal effect: a longer review may well say more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.stats.intervals import (
    Interval,
    PairedTest,
    clustered_error,
    compute_t_interval_and_p,
    two_way_clustered_error,
)
from gre_bench.stats.samples import Array, Indices, Keys, Values, check_finite, group_indices

LEAST_OVERLAP = 0.1
"""No difference is reported if lengths overlap less than this, because equal length would then be an extrapolation. For
normal log lengths, this means that their means lie more than 2.3 standard deviations apart."""


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope β of score on log(tokens), in the metric's unit.

    *influence*: paper → its influence on β. The influences sum to zero, and β's variance is P/(P − 1)·Σ influence².
    """

    value: float
    influence: dict[object, float]

    def error(self, papers: Keys, own: Array, times: float, exchanges: tuple[Keys, Keys] | None = None) -> float:
        """Returns the standard error of an estimate that depends on β, in the estimate's unit.

        Args:
            papers: (n,) the papers of the estimate, each once.
            own: (n,) the influence that each of *papers* would have on the estimate if β were known.
            times: the derivative of the estimate by β.
            exchanges: as for `contrast_at_length`. Papers that only the slope depends on are independent.
        """
        influence = dict.fromkeys(self.influence, 0.0) | dict(zip(papers, own.tolist(), strict=True))
        psi = np.array([own + times * self.influence.get(paper, 0.0) for paper, own in influence.items()])
        if exchanges is None:
            return error_by_paper(psi)
        known = [dict(zip(papers, side, strict=True)) for side in exchanges]
        first, second = ([side.get(paper, (paper,)) for paper in influence] for side in known)
        return two_way_clustered_error(psi * len(psi), first, second)[0]


@dataclass(frozen=True, slots=True)
class LengthContrast:
    """The difference of two candidates at equal length.

    - *common*: with one slope for all candidates. *own*: with the two candidates' own slopes; None for fewer than
      `FEWEST` papers, or if the lengths do not determine these slopes.
    - *overlap*: 2·min(q, 1 − q), where q is the share of pairs of reviews in which the first candidate's is the longer.
      It is 1 if neither candidate writes longer reviews, and 0 if the lengths of the two do not overlap.
    """

    common: PairedTest
    own: PairedTest | None
    overlap: float

    @property
    def p(self) -> float:
        """The p-value of the difference: the larger of the two forms' p-values; 1 if `why_not` gives a reason."""
        if self.why_not:
            return 1.0
        assert self.own is not None
        return max(self.common.p, self.own.p)

    @property
    def why_not(self) -> str | None:
        """Why nothing can be said about the difference at equal length; None if something can.

        One reason is that the two forms disagree: their differences have opposite signs.
        """
        if self.overlap < LEAST_OVERLAP:
            return "lengths barely overlap"
        if self.own is None:
            return "the candidates' own slopes are unknown"
        return "the two forms disagree" if self.common.value * self.own.value < 0 else None


FEWEST = 10
"""A candidate's own slope needs at least this many papers."""


def compute_human_length(tokens: Values) -> float:
    """Returns the geometric mean of the lengths of human reviews, in tokens.

    Args:
        tokens: (n,) the length of each review, in tokens.

    Raises:
        ValueError: there are no reviews, or one has no tokens.
    """
    return math.exp(float(_compute_log_lengths(tokens).mean()))


def estimate_length_slope(
    values: Values, tokens: Values, papers: Keys, groups: Keys | None = None, candidates: Sequence[str] | None = None
) -> Slope:
    """Returns the slope β of the module's model, with each paper's influence on it.

    Args:
        values: (n,) scores, in the metric's unit.
        tokens: (n,) the length of each score's review, in tokens.
        papers: (n,) the paper of each score.
        groups: (n,) the group of each score; None: its paper.
        candidates: (n,) the candidate of each score; None: the model has no candidate effects.

    Returns:
        The slope, in the metric's unit per unit of log(tokens).

    Raises:
        ValueError: there are fewer than three scores or two papers, or a review has no tokens. Also if no group has
            reviews of different lengths after candidate effects are removed.
    """
    scores, logs = check_finite(values, at_least=3), _compute_log_lengths(tokens)
    names = [""] * len(scores) if candidates is None else list(candidates)
    if not len(scores) == len(logs) == len(names):
        raise ValueError(f"{len(scores)} values, {len(logs)} lengths and {len(names)} candidates")
    owners, size = group_indices(papers, len(scores))
    if size < 2:
        raise ValueError("length control needs at least two papers")
    cells = group_indices(papers if groups is None else groups, len(scores))
    kinds = group_indices(names, len(names))
    length, score = (_remove_fixed_effects(column, *cells, *kinds) for column in (logs, scores))
    information = math.fsum(length * length)
    if information <= 1e-9 * max(1e-9, float(((logs - logs.mean()) ** 2).sum())):
        raise ValueError(
            "length cannot be separated from paper and candidate: no paper has reviews of different lengths"
        )
    slope = math.fsum(length * score) / information
    influence = np.bincount(owners, weights=length * (score - slope * length) / information, minlength=size)
    return Slope(slope, dict(zip(dict.fromkeys(papers), influence.tolist(), strict=True)))


def length_controlled_means(
    values: Values, tokens: Values, papers: Keys, at: float, candidates: Sequence[str],
    exchanges: Mapping[str, Mapping[Any, str]] | None = None,
) -> dict[str, Interval]:  # fmt: skip
    """Returns candidate → its mean score if its reviews were *at* tokens long, with a 90% interval.

    The intervals treat the length *at* as known.

    Args:
        values: (n,) scores, in the metric's unit.
        tokens: (n,) the length of each score's review, in tokens.
        papers: (n,) the paper of each score.
        at: the length to control for, in tokens.
        candidates: (n,) the candidate of each score.
        exchanges: candidate → paper → the exchange that the score depends on: the group of papers whose reviews by the
            candidate were swapped to measure chance scores. The papers of a candidate without exchanges are
            independent.

    Returns:
        The means and intervals, in the metric's unit. A candidate whose papers are all in one exchange has no entry.

    Raises:
        ValueError: *at* is not positive; or as `estimate_length_slope`.
    """
    if not at > 0:
        raise ValueError(f"the length to control for must be positive, not {at}")
    slope = estimate_length_slope(values, tokens, papers, candidates=candidates)
    scores, logs = check_finite(values, at_least=3), _compute_log_lengths(tokens)
    owners, size = group_indices(papers, len(scores))
    kinds, _ = group_indices(candidates, len(scores))
    by_slope = np.array(list(slope.influence.values()))
    moved = scores - slope.value * logs
    controlled = {}
    for kind, name in enumerate(dict.fromkeys(candidates)):
        mine = kinds == kind
        away = float(logs[mine].mean()) - math.log(at)
        own = np.where(mine, moved - moved[mine].mean(), 0.0) / mine.sum()
        influence = np.bincount(owners, weights=own, minlength=size) - away * by_slope
        if shared := (exchanges or {}).get(name):
            if (units := len(set(shared.values()))) < 2:
                continue
            labels = [shared.get(paper, (paper,)) for paper in slope.influence]
            error = clustered_error(influence * size, labels)[0]
        else:
            error, units = error_by_paper(influence), size
        value = float(scores[mine].mean()) - slope.value * away
        controlled[name] = Interval(value, *compute_t_interval_and_p(value, error, units - 1, 0.90)[:2], units)
    return controlled


def contrast_at_length(
    slope: Slope, papers: Keys, first: Values, second: Values, first_tokens: Values, second_tokens: Values,
    exchanges: tuple[Keys, Keys] | None = None,
) -> LengthContrast:  # fmt: skip
    """Returns the difference of two candidates, *first* less *second*, at equal length, with 95% intervals.

    Args:
        slope: β of the board, from all its candidates, on these *papers* and possibly more.
        papers: (n,) the papers that both candidates reviewed, each once.
        first: (n,) the first candidate's score on each paper, in the metric's unit.
        second: (n,) the second candidate's score on each paper.
        first_tokens: (n,) the length of the first candidate's review of each paper, in tokens.
        second_tokens: (n,) the length of the second candidate's review of each paper, in tokens.
        exchanges: for each of the two candidates, (n,) the exchange that its score on each paper depends on: the group
            of papers whose reviews by the candidate were swapped to measure chance scores (`two_way_clustered_error`).
            If None, papers are independent.

    Returns:
        The difference in both forms, in the metric's unit, and the overlap of lengths.

    Raises:
        ValueError: there are fewer than two papers, a review has no tokens, or the sequences differ in length.
    """
    scores, other_scores = check_finite(first, at_least=2), check_finite(second, at_least=2)
    logs, other_logs = _compute_log_lengths(first_tokens), _compute_log_lengths(second_tokens)
    count = len(papers)
    if not count == len(set(papers)) == len(scores) == len(other_scores) == len(logs) == len(other_logs):
        raise ValueError("a contrast needs one score and one length of both candidates on each paper")
    difference, longer = scores - other_scores, logs - other_logs
    away = float(longer.mean())
    moved = difference - slope.value * longer
    value, error = float(moved.mean()), slope.error(papers, (moved - moved.mean()) / count, -away, exchanges)
    independent = count if exchanges is None else min(len(set(side)) for side in exchanges)
    below = float((other_logs[None, :] < logs[:, None]).mean())
    equal = float((other_logs[None, :] == logs[:, None]).mean())
    share = below + equal / 2
    common = PairedTest(value, *compute_t_interval_and_p(value, error, independent - 1, 0.95), count)
    return LengthContrast(
        common, _compare_with_own_slopes(difference, logs, other_logs, exchanges), 2 * min(share, 1 - share)
    )


def error_by_paper(influence: Array) -> float:
    """Returns the standard error √(P/(P − 1)·Σ ψ²) of an estimate, in the estimate's unit.

    Args:
        influence: (P,) the influence ψ of each of P papers; the influences sum to zero.
    """
    return math.sqrt(len(influence) / (len(influence) - 1) * float(influence @ influence))


def _compare_with_own_slopes(
    difference: Array, logs: Array, other_logs: Array, exchanges: tuple[Keys, Keys] | None
) -> PairedTest | None:
    """Returns the mean *difference* (papers,) at the midpoint of the mean log lengths, with a slope for each candidate.

    *logs*, *other_logs* (papers,): the log lengths of the two candidates.
    """
    count = len(difference)
    if count < FEWEST:
        return None
    middle = (float(logs.mean()) + float(other_logs.mean())) / 2
    columns = np.stack([np.ones(count), logs - middle, middle - other_logs], axis=1)
    products = np.einsum("pi,pj->ij", columns, columns)
    if np.linalg.cond(products) > 1e10:
        return None
    inverse = np.linalg.inv(products)
    estimate = inverse @ np.einsum("pi,p->i", columns, difference)
    leverage = np.einsum("pi,ij,pj->p", columns, inverse, columns)
    if leverage.max() > 1 - 1e-9:
        return None
    residual = (difference - columns @ estimate) / (1 - leverage)
    influence = (columns @ inverse[0]) * residual
    error, independent = math.sqrt(float(influence @ influence)), count
    if exchanges is not None:
        error, independent = two_way_clustered_error(influence * count, *exchanges)
    value = float(estimate[0])
    return PairedTest(value, *compute_t_interval_and_p(value, error, max(1, independent - 3), 0.95), count)


def _compute_log_lengths(tokens: Values) -> Array:
    counts = check_finite(tokens, at_least=1)
    if not (counts > 0).all():
        raise ValueError("a review has no tokens: its length has no logarithm")
    return np.log(counts)


def _remove_fixed_effects(column: Array, groups: Indices, size: int, kinds: Indices, number: int) -> Array:
    """Returns the residual of *column* (n,) after group and candidate effects are removed by least squares.

    By the theorem of Frisch, Waugh and Lovell, β can be fitted to the residuals alone.
    """
    members = np.bincount(groups, minlength=size)

    def within(values: Array) -> Array:
        return np.asarray(values - (np.bincount(groups, weights=values, minlength=size) / members)[groups])

    target = within(column)
    if number == 1:
        return target
    # The normal equations are set up without BLAS, because the last digits of its products depend on the processor and
    # its load.
    held = np.bincount(groups * number + kinds, minlength=size * number).reshape(size, number)
    products = np.diag(held.sum(axis=0)) - np.einsum("pk,pl->kl", held / members[:, None], held)
    totals = np.bincount(kinds, weights=target, minlength=number)
    return np.asarray(target - within(np.linalg.lstsq(products, totals, rcond=None)[0][kinds]))
