"""The scores of all pairs that a page compares candidates by, and the comparisons: the paired test by paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import duckdb

from gre_bench.release.database import rows
from gre_bench.stats.pair_tests import PairTest, pair_tests

Unit = tuple[str, str]
"""Paper and reference."""
Values = Mapping[str, Mapping[Unit, float]]
"""By candidate, the score of each of its pairs."""


def pair_values(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, dict[Unit, float]]]:
    """By signature shown, the scores of all pairs."""
    found: dict[str, dict[str, dict[Unit, float]]] = {}
    for row in rows(connection, "pair_values"):
        of = found.setdefault(row["signature_id"], {}).setdefault(row["candidate"], {})
        of[row["paper_id"], row["reference_id"]] = row["value"]
    return found


def comparisons(values: Values) -> list[PairTest]:
    """The test of each two candidates that have two papers in common; p of each question asked alone."""
    try:
        return _tested(values, list(values))
    except ValueError:
        found = []
        for one, other in combinations(values, 2):
            try:
                found += _tested(values, (one, other))
            except ValueError:
                continue
        return found


def by_paper(values: Mapping[Unit, float]) -> dict[str, float]:
    """Mean score of each paper."""
    found: dict[str, list[float]] = {}
    for (paper, _), value in values.items():
        found.setdefault(paper, []).append(value)
    return {paper: sum(scores) / len(scores) for paper, scores in found.items()}


def leads(one: Mapping[Unit, float], other: Mapping[Unit, float]) -> dict[str, float]:
    """Mean difference of each paper on the pairs that both have."""
    return by_paper({unit: value - other[unit] for unit, value in one.items() if unit in other})


def _tested(values: Values, names: Sequence[str]) -> list[PairTest]:
    if len(names) < 2:
        return []
    flat = [(value, paper, name, reference) for name in names for (paper, reference), value in values[name].items()]
    scores, papers, candidates, references = zip(*flat, strict=True) if flat else ((), (), (), ())
    return pair_tests(scores, papers, candidates, references)
