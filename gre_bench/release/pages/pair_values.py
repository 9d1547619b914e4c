"""Reads the scores of all pairs for a page and tests candidates against each other, paired by paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import duckdb

from gre_bench.release.database import rows
from gre_bench.stats.pair_tests import PairTest, pair_tests

Unit = tuple[str, str]
"""Ids of a paper and a reference."""
Values = Mapping[str, Mapping[Unit, float]]
"""Candidate → (paper, reference) → score."""


def pair_values(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, dict[Unit, float]]]:
    """Returns the scores of all pairs by signature, candidate and (paper, reference).

    *connection*: to a release's database. Only the signatures of boards on the page are read.
    """
    by_signature: dict[str, dict[str, dict[Unit, float]]] = {}
    for row in rows(connection, "pair_values"):
        scores = by_signature.setdefault(row["signature_id"], {}).setdefault(row["candidate"], {})
        scores[row["paper_id"], row["reference_id"]] = row["value"]
    return by_signature


def comparisons(values: Values) -> list[PairTest]:
    """Returns the paired test, by paper, of every two candidates with at least two papers in common.

    *values*: the scores by candidate and (paper, reference). The p-values are not corrected for the number of tests.
    """
    try:
        return _tested(values, list(values))
    except ValueError:
        tests = []
        for first, second in combinations(values, 2):
            try:
                tests += _tested(values, (first, second))
            except ValueError:
                continue
        return tests


def by_paper(values: Mapping[Unit, float]) -> dict[str, float]:
    """Returns the mean score for each paper from *values*, one candidate's scores by (paper, reference)."""
    scores_of: dict[str, list[float]] = {}
    for (paper, _), value in values.items():
        scores_of.setdefault(paper, []).append(value)
    return {paper: sum(scores) / len(scores) for paper, scores in scores_of.items()}


def leads(own: Mapping[Unit, float], other: Mapping[Unit, float]) -> dict[str, float]:
    """Returns the mean score difference, *own* less *other*, for each paper.

    *own*, *other*: the scores of two candidates by (paper, reference). Only references for which both candidates have a
    score count.
    """
    return by_paper({unit: value - other[unit] for unit, value in own.items() if unit in other})


def _tested(values: Values, names: Sequence[str]) -> list[PairTest]:
    if len(names) < 2:
        return []
    flat = [(value, paper, name, reference) for name in names for (paper, reference), value in values[name].items()]
    scores, papers, candidates, references = zip(*flat, strict=True) if flat else ((), (), (), ())
    return pair_tests(scores, papers, candidates, references)
