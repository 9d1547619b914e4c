"""The queries of ``sql/queries`` that return rows, with the type of their rows; one module per SQL file.

Tests compare the names and types of the fields with DuckDB's ``describe``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Row_co = TypeVar("Row_co", covariant=True)
"""A `TypedDict`: columns by name."""


@dataclass(frozen=True, slots=True)
class Query(Generic[Row_co]):
    """A query of ``sql/queries``: its *name* and the type of its rows, *row*."""

    name: str
    row: type[Row_co]
