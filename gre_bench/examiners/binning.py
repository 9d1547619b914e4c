"""Close scores made equal (Kim et al. 2023, §4.4): what differs by noise alone is not to be ranked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gre_bench.examiners.examiner import Binning, Examiner
from gre_bench.examiners.grading import Grade


@dataclass(frozen=True, slots=True)
class Binned:
    """The scores after binning, in their order, and how many different ones there were *before* and *after*."""

    values: list[float]
    before: int
    after: int


def binned(values: Sequence[float], binning: Binning, low: float, high: float) -> Binned:
    """Each of *values* as the middle of its bin (equal width over *low* to *high*) or the mean of its bin (quantile).

    A quantile never parts equal values, so that there may be fewer bins than asked for. The paper does not say how it
    cut its bins: it went from 36 different scores to 10, and from 46 to 13.
    """
    if not all(low <= value <= high for value in values):
        raise ValueError(f"a value is outside {low:g} to {high:g}")
    if binning.method == "equal_width":
        out = _equal_width(values, binning.bins, low, high)
    else:
        out = _quantile(values, binning.bins)
    return Binned(out, len(set(values)), len(set(out)))


def bin_grades(examiner: Examiner, grades: Sequence[Grade]) -> tuple[list[Grade], Binned]:
    """*grades* with their values in the bins of *examiner* (as they are if it has none), and what that came to."""
    values = [grade.value for grade in grades if grade.value is not None]
    if examiner.binning is None:
        return list(grades), Binned(values, len(set(values)), len(set(values)))
    found = binned(values, examiner.binning, examiner.form.scale.low, examiner.form.scale.high)
    new = iter(found.values)
    return [grade if grade.value is None else replace(grade, value=next(new)) for grade in grades], found


def _equal_width(values: Sequence[float], bins: int, low: float, high: float) -> list[float]:
    width = (high - low) / bins
    places = [min(bins - 1, math.floor((value - low) / width)) for value in values]
    return [low + (place + 0.5) * width for place in places]


def _quantile(values: Sequence[float], bins: int) -> list[float]:
    if not values:
        return []
    numbers = np.asarray(values, dtype=np.float64)
    edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
    places = np.searchsorted(edges, numbers, side="left")
    means = {place: float(numbers[places == place].mean()) for place in np.unique(places).tolist()}
    return [means[place] for place in places.tolist()]
