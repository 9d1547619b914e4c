"""Numbers in, numbers out: intervals, paired tests, separation.

The same quantities are columns of ``sql/views/leaderboard.sql``; a test holds the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its interval, and how many independent units it rests on."""

    value: float
    low: float
    high: float
    units: int


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Mean difference with its interval, and the two-sided p-value of Student's paired t test."""

    value: float
    low: float
    high: float
    p: float
    units: int


@dataclass(frozen=True, slots=True)
class Separation:
    """Probability that a score of *same* exceeds one of *other* (AUC), with a 95% interval clustered by paper."""

    auc: float
    low: float
    high: float
    same_pairs: int
    other_pairs: int


def flat_interval(values: Sequence[float], level: float = 0.90) -> Interval:
    """mean ± z·sd(ddof=1)/√n: the published interval, which takes pairs for independent (Xu et al. 2025, figure 4)."""
    from scipy.special import ndtri

    scores = _finite(values, at_least=2)
    half = float(ndtri(0.5 + level / 2)) * scores.std(ddof=1) / math.sqrt(len(scores))
    return Interval(float(scores.mean()), float(scores.mean() - half), float(scores.mean() + half), len(scores))


def clustered_interval(values: Sequence[float], clusters: Sequence[object], level: float = 0.90) -> Interval:
    """Mean of all *values* with a cluster-robust interval (t with clusters − 1 degrees of freedom).

    se² = G/(G−1) · Σ_g (Σ_{i∈g} (v_i − mean))² / n²: pairs of one paper may be as dependent as they like.
    """
    from scipy.special import stdtrit

    scores = _finite(values, at_least=2)
    groups, size = _groups(clusters, len(scores))
    if size < 2:
        raise ValueError("an interval by cluster needs at least two clusters")
    sums = np.bincount(groups, weights=scores - scores.mean(), minlength=size)
    error = math.sqrt(size / (size - 1) * float(sums @ sums)) / len(scores)
    half = float(stdtrit(size - 1, 0.5 + level / 2)) * error
    return Interval(float(scores.mean()), float(scores.mean() - half), float(scores.mean() + half), size)


def paired_test(differences: Sequence[float], level: float = 0.90) -> PairedTest:
    """Student's test that the mean of per-paper *differences* is zero, with its interval."""
    from scipy.special import stdtr, stdtrit

    values = _finite(differences, at_least=2)
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, 0.5 + level / 2)) * error
    mean = float(values.mean())
    p = 2 * float(stdtr(len(values) - 1, -abs(mean) / error)) if error else math.nan
    return PairedTest(mean, mean - half, mean + half, p, len(values))


def separation(
    same: Sequence[float], same_papers: Sequence[object], other: Sequence[float], other_papers: Sequence[object]
) -> Separation:
    """AUC of *same* against *other*, ties counted half, with a 95% interval that keeps a paper's scores together.

    The variance sums each paper's placement values over both samples (Obuchowski 1997), so it is right when the
    pairs of a paper depend on each other; the interval is cut to [0, 1].
    """
    from scipy.special import stdtrit

    x, y = _finite(same, at_least=2), _finite(other, at_least=2)
    above_x = _placements(x, y)
    above_y = 1.0 - _placements(y, x)
    auc = float(above_x.mean())
    groups, size = _groups([*same_papers, *other_papers], len(x) + len(y))
    if size < 2:
        raise ValueError("the interval of a separation needs at least two papers")
    parts = np.concatenate([(above_x - auc) / len(x), (above_y - auc) / len(y)])
    sums = np.bincount(groups, weights=parts, minlength=size)
    error = math.sqrt(size / (size - 1) * float(sums @ sums))
    half = float(stdtrit(size - 1, 0.975)) * error
    return Separation(auc, max(0.0, auc - half), min(1.0, auc + half), len(x), len(y))


def student_quantiles(most: int) -> list[dict[str, float | int]]:
    """Two-sided 90% and 95% quantiles of Student's t for 1 to *most* degrees of freedom."""
    from scipy.special import stdtrit

    df = np.arange(1, most + 1)
    ends = zip(df.tolist(), stdtrit(df, 0.95).tolist(), stdtrit(df, 0.975).tolist(), strict=True)
    return [{"df": n, "q90": q90, "q95": q95} for n, q90, q95 in ends]


def _placements(x: Array, y: Array) -> Array:
    """For each of *x*, the share of *y* below it, ties counted half."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left")
    upto = np.searchsorted(ordered, x, side="right")
    return np.asarray((below + upto) / 2 / len(y))


def _groups(clusters: Sequence[object], length: int) -> tuple[np.ndarray[Any, np.dtype[np.intp]], int]:
    if len(clusters) != length:
        raise ValueError(f"{length} values but {len(clusters)} clusters")
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    return np.array([names[name] for name in clusters]), len(names)


def _finite(values: Sequence[float], at_least: int) -> Array:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) < at_least:
        raise ValueError(f"needs at least {at_least} values, got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError("a value is not finite")
    return numbers
