"""Reads a grade from a cell as a number; higher is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from gre_bench.ingest.records.cells import LARGEST, RefusedError, Row, shown


def read_grade(row: Row, key: str, names: Sequence[str] = ()) -> float | None:
    """Returns the grade in the column *key* of *row*; None if the cell is blank.

    A number is returned as it is. A name becomes its rank in *names*, where the first and worst has rank 1. Raises
    `RefusedError` for any other cell, including a number that is not finite.
    """
    value = row.get(key)
    if _is_blank(value):
        return None
    if _is_name(value, names):
        return float(names.index(str(value).strip()) + 1)
    number = _number(value)
    if number is None:
        known = f" and none of {', '.join(names)}" if names else "; name such grades, the worst first, with --grades"
        raise RefusedError(f"{key} {shown(value)} is no number{known}")
    return number


def are_mixed(values: Iterable[Any], names: Sequence[str]) -> bool:
    """Whether *values* include both names of grades (those in *names*) and numbers, which have no common order."""
    kinds = {_is_name(value, names) for value in values if _is_name(value, names) or _number(value) is not None}
    return len(kinds) == 2


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_name(value: Any, names: Sequence[str]) -> bool:
    return isinstance(value, str) and value.strip() in names


def _number(value: Any) -> float | None:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None
