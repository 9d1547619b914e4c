"""How far the order of two candidates depends on who wrote the references.

On paper i, with the references as they are, two candidates differ by δ_i. A *stand-in* is a reviewer whose reviews
serve as references in place of human ones. If the reviews of the stand-in Z serve as references, the candidates differ
by δ_Z,i on paper i.

Suppose that a share q of the actual references is written like Z's reviews, spread evenly over papers. Then the mean
difference is d = (1 − q)·d_H + q·d_Z, where d_H is the mean difference on human references, and d_Z on Z's reviews. d_H
is positive exactly if the mean of

    u_i(q) = δ_i − q·δ_Z,i

is positive. The *tipping share* is the largest q up to which the lower bound of this mean stays above zero. The bound
is computed by Student's t over papers, which leads to a quadratic equation in q (Fieller 1954).

The share may differ between papers. Let a_i be the share of references like Z's reviews on paper i, and q the mean of
the a_i. Then

    d = (1 − q)·d_H + q·d_Z + Cov(a_i, δ_Z,i − δ_H,i)

The *worst assignment* puts references like Z's reviews on the papers where they raise the difference most. The
differences on human references, δ_H,i, are unknown, so these papers are chosen by δ_i instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.samples import Array, Keys, Values, check_finite, group_indices

ONE_SIDED = 0.95
"""The one-sided confidence level of the bounds."""
STEPS = 1000
"""The worst assignment is computed for this many equal steps of q from 0 to 1."""


def find_tipping_share(differences: Values | Array, stand_in: Values | Array, level: float = ONE_SIDED) -> float | None:
    """Returns the tipping share: the largest q up to which the lower bound of the mean of u_i(q) stays above zero.

    q is the share of references that are written like the reviews of the stand-in Z. On paper i, u_i(q) is
    δ_i − q·δ_Z,i, as in the module's docstring.

    Args:
        differences: (papers,) δ_i, the difference of the two candidates on each paper, in the metric's unit.
        stand_in: (papers,) δ_Z,i, their difference if Z's reviews are the references, in the same unit and order.
        level: the one-sided confidence level of the bound.

    Returns:
        The share, between 0 and 1; None if the bound is not above zero even at q = 0.

    Raises:
        ValueError: there are fewer than two papers, a number is not finite, or the two sequences differ in length.
    """
    delta, other = _check_paired_values(differences, stand_in)
    error, t = float(delta.std(ddof=1)) / math.sqrt(len(delta)), _compute_t_quantile(len(delta), level)
    if not delta.mean() - t * error > 0:
        return None
    return min((q for q, _ in _find_zero_crossings(delta, other, t)), default=1.0)


def reversal_share(differences: Values | Array, stand_in: Values | Array, level: float) -> float | None:
    """Returns the smallest share q from which the upper bound of the mean of u_i(q) is below zero.

    q is the share of references that are written like the reviews of the stand-in Z. On paper i, u_i(q) is
    δ_i − q·δ_Z,i, as in the module's docstring.

    Args:
        differences: (papers,) δ_i, the difference of the two candidates on each paper, in the metric's unit.
        stand_in: (papers,) δ_Z,i, their difference if Z's reviews are the references, in the same unit and order.
        level: the one-sided confidence level of the bound.

    Returns:
        The share, between 0 and 1; None if the bound is not below zero at any share below 1.

    Raises:
        ValueError: as `find_tipping_share`.
    """
    delta, other = _check_paired_values(differences, stand_in)
    crossings = _find_zero_crossings(delta, other, _compute_t_quantile(len(delta), level))
    return min((q for q, mean in crossings if mean < 0 and q < 1), default=None)


def find_tipping_share_of_worst_assignment(
    differences: Values | Array, stand_in: Values | Array, level: float = ONE_SIDED
) -> float | None:
    """Returns the tipping share under the worst assignment of references like those of the stand-in Z to papers.

    The share is computed in steps of 0.001. The papers are chosen by their measured differences, noise included, so the
    share tends to be too small.

    Args:
        differences: (papers,) δ_i, the difference of the two candidates on each paper, in the metric's unit.
        stand_in: (papers,) δ_Z,i, their difference if Z's reviews are the references, in the same unit and order.
        level: the one-sided confidence level of the bound.

    Returns:
        The share, between 0 and 1; None if the bound is not above zero even at q = 0.

    Raises:
        ValueError: as `find_tipping_share`.
    """
    delta, other = _check_paired_values(differences, stand_in)
    size = len(delta)
    best_first = np.argsort(delta - other, kind="stable")
    delta, other = delta[best_first], other[best_first]
    q = np.linspace(0.0, 1.0, STEPS + 1)[:, None]
    within = np.clip(q * size - np.arange(size), 0.0, 1.0)
    u = (1 - q) * delta + within * (delta - other)
    low = u.mean(axis=1) - _compute_t_quantile(size, level) * u.std(axis=1, ddof=1) / math.sqrt(size)
    failing = np.flatnonzero(~(low > 0))
    if not len(failing):
        return 1.0
    return float(q[failing[0] - 1, 0]) if failing[0] else None


def _check_paired_values(differences: Values | Array, stand_in: Values | Array) -> tuple[Array, Array]:
    delta, other = check_finite(differences, at_least=2), check_finite(stand_in, at_least=2)
    if len(delta) != len(other):
        raise ValueError(f"{len(delta)} differences but {len(other)} on the stand-in's reviews")
    return delta, other


def _compute_t_quantile(papers: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(papers - 1, level))


def _find_zero_crossings(delta: Array, other: Array, t: float) -> Iterator[tuple[float, float]]:
    """Yields (q, mean of δ_i − q·δ_Z,i) for each share q in (0, 1] at which a bound of that mean crosses zero."""
    m, z = float(delta.mean()), float(other.mean())
    covariance = np.cov(delta, other) / len(delta) * t**2
    a, b, c = z**2 - covariance[1, 1], m * z - covariance[0, 1], m**2 - covariance[0, 0]
    # The roots of a·q² − 2b·q + c; a root that is double up to rounding counts as double.
    under = b**2 - a * c
    if under < -1e-12 * b**2:
        return
    for divisor in {b + math.sqrt(max(0.0, under)), b - math.sqrt(max(0.0, under))}:
        if divisor and 0 < (q := float(c / divisor)) <= 1:
            yield q, m - q * z


def measure_ai_likeness(models: Array, humans: Array) -> Array:
    """Returns how AI-like each reference is: the mean score of models on it less the score of other humans on it.

    Args:
        models: (references, models) the score of each model on each reference; NaN where there is none.
        humans: (references,) the score of other humans on each reference, in the same unit; NaN where there is none.

    Returns:
        (references,) the differences, divided by their standard deviation over references, so they have no unit. NaN
        for a reference without a model's score or without a human score; all NaN if the differences do not vary.
    """
    known = ~np.isnan(models)
    counts = known.sum(axis=1)
    sums = np.where(known, models, 0.0).sum(axis=1)
    raw = np.divide(sums, counts, out=np.full(len(models), np.nan), where=counts > 0) - humans
    scored = raw[~np.isnan(raw)]
    spread = scored.std(ddof=1) if len(scored) > 1 else 0.0
    return np.asarray(raw / spread if spread > 0 else np.full(len(raw), np.nan), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class TrimmedDifference:
    """A mean difference after the most AI-like references are left out.

    - *share*, *left_out*: the share and the number of references left out. *difference*: the mean over the others.
    - *control*, *low*, *high*: the mean, the 5% and the 95% quantile of the difference if the same number of references
      is left out at random instead.
    - *p*: the p-value by re-randomisation: how often leaving out random references changes the mean at least as much.
    """

    share: float
    left_out: int
    difference: float
    control: float
    low: float
    high: float
    p: float


def trim_ai_like_references(
    differences: Values | Array, papers: Keys, like: Array, shares: Sequence[float], resamples: int = 999, seed: int = 0
) -> list[TrimmedDifference]:
    """Returns, for each of *shares*, the mean difference after that share of the most AI-like references is left out.

    The mean is over papers; the value of a paper is the mean over its references that are not left out. A paper that
    has no references left does not count. For comparison, as many random references are left out. References of unknown
    likeness always stay.

    Args:
        differences: (references,) the difference of two candidates on each reference, in the metric's unit.
        papers: (references,) the paper of each reference.
        like: (references,) the `measure_ai_likeness` of each reference; NaN: unknown.
        shares: the shares to leave out, each between 0 and 1.
        resamples: how often random references are left out instead.
        seed: the seed of these random choices.

    Returns:
        One result for each of *shares*, in order; the means are in the unit of *differences*.

    Raises:
        ValueError: there are fewer than two references, or a difference is not finite.
    """
    values = check_finite(differences, at_least=2)
    groups, size = group_indices(papers, len(values))
    able = np.flatnonzero(~np.isnan(like))
    ordered = able[np.argsort(-like[able], kind="stable")]
    random = np.random.default_rng(seed)
    shuffled = np.stack([random.permutation(able) for _ in range(resamples)]) if len(able) else np.empty((0, 0), int)
    member = np.zeros((len(values), size))
    member[np.arange(len(values)), groups] = 1.0
    rows = []
    for share in shares:
        count = round(share * len(able))
        left = np.vstack([ordered[:count], shuffled[:, :count]]) if len(able) else np.empty((1, 0), int)
        kept = np.ones((len(left), len(values)))
        np.put_along_axis(kept, left, 0.0, axis=1)
        sums, counts = (kept * values) @ member, kept @ member
        filled = counts > 0
        by_paper = np.divide(sums, counts, out=np.zeros_like(sums), where=filled)
        means = by_paper.sum(axis=1) / filled.sum(axis=1)
        own, control = float(means[0]), means[1:]
        centre = float(control.mean()) if len(control) else own
        far = int((np.abs(control - centre) >= abs(own - centre) - 1e-12).sum())
        low, high = np.quantile(control, [0.05, 0.95]) if len(control) else (own, own)
        p = (1 + far) / (1 + len(control))
        rows.append(TrimmedDifference(share, count, own, centre, float(low), float(high), p))
    return rows
