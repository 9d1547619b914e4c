"""The queries of ``sql/queries`` that return rows, each with the type of its rows: one module per file of queries.

Tests compare names and types with DuckDB's ``describe``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Row_co = TypeVar("Row_co", covariant=True)
"""A `TypedDict`: columns by name."""


@dataclass(frozen=True, slots=True)
class Query(Generic[Row_co]):
    """The query *name* of ``sql/queries``, whose rows are of the type *row*."""

    name: str
    row: type[Row_co]
