"""Where values lie on the drawn axis of a board, in percent of its width, and which round values mark it."""

from __future__ import annotations

import math
from collections.abc import Sequence

Span = tuple[float, float]

FEWEST = 2
"""Ticks that an axis has at least; steps are 1, 2 or 5 times a power of ten, the largest with that many."""


def across(value: float, span: Span) -> str:
    """Where *value* lies in *span*, such as ``41.7%``."""
    return f"{_share(value, span):.2f}%"


def breadth(low: float, high: float, span: Span) -> str:
    """How broad *low* to *high* is."""
    return f"{_share(high, span) - _share(low, span):.2f}%"


def ticks(span: Span) -> list[float]:
    """Two to five round values within *span*, not so near its ends that their names would stand out."""
    low, high = span
    edge = 0.06 * (high - low)
    step = 10.0 ** math.ceil(math.log10(high - low))
    for divisor in _divisors():
        size = step / divisor
        found = [n * size for n in range(math.ceil((low + edge) / size), math.floor((high - edge) / size) + 1)]
        if len(found) >= FEWEST:
            return found
    return []


def span_of(values: Sequence[float]) -> Span:
    """What an axis about zero must hold of *values*, with a little room."""
    low, high = min((*values, 0.0)), max((*values, 0.0))
    edge = 0.06 * ((high - low) or 1.0)
    return low - edge, high + edge


def _divisors() -> list[float]:
    return [factor * 10.0**power for power in range(3) for factor in (1, 2, 5)]


def _share(value: float, span: Span) -> float:
    low, high = span
    return (value - low) / (high - low) * 100
