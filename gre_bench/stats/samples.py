"""What every statistic asks of its numbers: they are there, they are finite, and each belongs to a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.intp]]


def finite(values: Sequence[float] | Array, at_least: int) -> Array:
    """*values* as an array (n,); ValueError where there are too few or one is not a finite number."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) < at_least:
        raise ValueError(f"needs at least {at_least} values, got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError("a value is not finite")
    return numbers


def places(groups: Sequence[object], length: int) -> tuple[Places, int]:
    """For each of *length* values the place of its group, in order of appearance, and the number of groups."""
    if len(groups) != length:
        raise ValueError(f"{length} values but {len(groups)} groups")
    names = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    return np.array([names[name] for name in groups], dtype=np.intp), len(names)
