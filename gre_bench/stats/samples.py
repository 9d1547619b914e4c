"""Checks the numbers that a statistic takes: there are enough, each is finite, and each belongs to a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Indices = np.ndarray[Any, np.dtype[np.intp]]


def finite(values: Sequence[float] | Array, at_least: int) -> Array:
    """Returns *values* as an array (n,) of finite numbers.

    Raises ValueError for fewer than *at_least* values, or if a value is NaN or infinite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) < at_least:
        raise ValueError(f"needs at least {at_least} values, got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError("a value is not finite")
    return numbers


def group_indices(groups: Sequence[object], length: int) -> tuple[Indices, int]:
    """Returns the index of each value's group, as an array (length,), and the number of groups.

    *groups* holds a label for each of the *length* values: equal labels mean the same group. Groups are numbered in
    order of their first appearance. Raises ValueError if *groups* does not have *length* labels.
    """
    if len(groups) != length:
        raise ValueError(f"{length} values but {len(groups)} groups")
    names = {name: index for index, name in enumerate(dict.fromkeys(groups))}
    return np.array([names[name] for name in groups], dtype=np.intp), len(names)
