"""Computes positions of values on a drawn axis, in percent of its width, and the round values of its tick marks."""

from __future__ import annotations

import math
from collections.abc import Sequence

Span = tuple[float, float]

FEWEST = 2
"""The fewest ticks on an axis. Their step is the largest 1, 2 or 5 times a power of ten that gives so many."""


def across(value: float, span: Span) -> str:
    """Returns the position of *value* on the axis *span* (its two ends), such as ``41.7%``."""
    return f"{_share(value, span):.2f}%"


def breadth(low: float, high: float, span: Span) -> str:
    """Returns the width of the range from *low* to *high* in percent of the axis *span*, such as ``12.5%``."""
    return f"{_share(high, span) - _share(low, span):.2f}%"


def ticks(span: Span) -> list[float]:
    """Returns two to five round values for tick marks on the axis *span*.

    The values keep a distance from the ends of the axis so that their labels fit.
    """
    low, high = span
    edge = 0.06 * (high - low)
    step = 10.0 ** math.ceil(math.log10(high - low))
    for divisor in _divisors():
        size = step / divisor
        values = [n * size for n in range(math.ceil((low + edge) / size), math.floor((high - edge) / size) + 1)]
        if len(values) >= FEWEST:
            return values
    return []


def span_of(values: Sequence[float]) -> Span:
    """Returns the two ends of an axis that holds zero and all *values*, with a margin."""
    low, high = min((*values, 0.0)), max((*values, 0.0))
    edge = 0.06 * ((high - low) or 1.0)
    return low - edge, high + edge


def _divisors() -> list[float]:
    return [factor * 10.0**power for power in range(3) for factor in (1, 2, 5)]


def _share(value: float, span: Span) -> float:
    low, high = span
    return (value - low) / (high - low) * 100
