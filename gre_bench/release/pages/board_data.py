"""Computes the data that the script of the boards' page needs.

These are the points of the plots, the scores by (paper, reference), and the paired tests of every two candidates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import duckdb

from gre_bench.release.figures import assign_family_marks
from gre_bench.release.pages.board_page import Board, BoardEntry
from gre_bench.release.public_tables import run_page_query
from gre_bench.stats.families import CandidateTest
from gre_bench.stats.pair_tests import run_candidate_tests
from gre_bench.store import Row

DIGITS = 4
"""Scores are scaled by a power of ten so that the largest has about this many digits, then rounded to whole numbers."""


def build_board_data(boards: Sequence[Board], values: Mapping[str, Values], papers: Sequence[Row]) -> str:
    """Returns, as JSON, the data that the script of the boards' page needs.

    *values*: the scores by signature, candidate and (paper, reference). The keys of the JSON are:
    - ``marks``: colour and shape of each model family.
    - ``papers``: title and address of each paper.
    - ``units``: one number per (paper, reference): the index of the paper in ``papers``.
    - ``boards``: one object per board.

    Each board has its metric, its title, the unit of its scores, a number of digits, and these keys:
    - ``scale``: the power of ten by which scores are multiplied, so that they can be rounded to whole numbers.
    - ``points``: one object per candidate, with the fields of `BoardEntry` that the plots show.
    - ``values``: one text per candidate, with its scaled scores in the order of ``units``, joined by commas. A missing
      score is empty.
    - ``tests``: one list per two candidates: their indices in ``points``, the mean difference, the ends of its 90%
      interval, the p-value, the number of papers, and the median and trimmed mean of the differences. If the board
      itself tests these two candidates, the Holm-corrected p-value follows.
    """
    index_of = {paper["paper_id"]: index for index, paper in enumerate(papers)}
    units = sorted({unit for by_candidate in values.values() for scores in by_candidate.values() for unit in scores})
    return json.dumps({
        "marks": {name: [mark.colour, mark.shape] for name, mark in assign_family_marks(boards).items()},
        "papers": [[paper["title"] or paper["paper_id"], paper["href"]] for paper in papers],
        "units": [index_of[paper] for paper, _ in units],
        "boards": [_build_board_object(board, values.get(board.signature_id, {}), units) for board in boards],
    }, separators=(",", ":"))  # fmt: skip


def _build_board_object(board: Board, values: Values, units: Sequence[Unit]) -> dict[str, Any]:
    names = [entry.candidate for entry in board.entries]
    index_of = {name: index for index, name in enumerate(names)}
    largest = max((abs(value) for scores in values.values() for value in scores.values()), default=1.0)
    corrected = {frozenset((test.first, test.second)): test.p_holm for test in board.tests}
    scale = 10 ** max(0, DIGITS - math.ceil(math.log10(largest or 1.0)))
    return {
        "metric": board.metric,
        "title": board.title,
        "unit": board.unit,
        "digits": board.digits,
        "scale": scale,
        "points": [_build_chart_point(entry) for entry in board.entries],
        "values": [
            ",".join(str(round(scores[unit] * scale)) if unit in scores else "" for unit in units)
            for scores in (values.get(name, {}) for name in names)
        ],
        "tests": [
            [
                index_of[test.first],
                index_of[test.second],
                *map(_round_score, (test.difference, test.low, test.high, test.p)),
                test.papers,
                _round_score(test.median),
                _round_score(test.trimmed),
                *([_round_score(p)] if (p := corrected.get(frozenset((test.first, test.second)))) is not None else []),
            ]
            for test in compare_every_two_candidates({name: values[name] for name in names if values.get(name)})
        ],
    }


def _build_chart_point(entry: BoardEntry) -> dict[str, Any]:
    fields = {
        "name": entry.candidate, "kind": entry.kind, "family": entry.family, "href": entry.href, "rank": entry.rank,
        "mean": entry.mean, "low": entry.low, "high": entry.high, "usd": entry.usd, "parameters": entry.parameters,
        "released": entry.released.isoformat() if entry.released else None, "words": entry.words,
    }  # fmt: skip
    return {name: _round_score(value) if isinstance(value, float) else value for name, value in fields.items()
            if value is not None}  # fmt: skip


def _round_score(value: float) -> float:
    """Returns *value* rounded to six significant digits, which is finer than the statistical precision of scores."""
    return float(f"{value:.6g}")


Unit = tuple[str, str]
"""(paper id, reference id)."""
Values = Mapping[str, Mapping[Unit, float]]
"""Candidate → (paper, reference) → score."""


def read_board_scores(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, dict[Unit, float]]]:
    """Returns signature id → candidate → (paper, reference) → score, for the boards on the page.

    *connection*: a connection to a release's database.
    """
    by_signature: dict[str, dict[str, dict[Unit, float]]] = {}
    for row in run_page_query(connection, "pair_values"):
        scores = by_signature.setdefault(row["signature_id"], {}).setdefault(row["candidate"], {})
        scores[row["paper_id"], row["reference_id"]] = row["value"]
    return by_signature


def compare_every_two_candidates(values: Values) -> list[CandidateTest]:
    """Returns the paired test, by paper, of every two candidates with at least two papers in common.

    *values*: the scores by candidate and (paper, reference). The p-values are not corrected for the number of tests.
    """
    try:
        return _run_paired_tests(values, list(values))
    except ValueError:
        tests = []
        for first, second in combinations(values, 2):
            try:
                tests += _run_paired_tests(values, (first, second))
            except ValueError:
                continue
        return tests


def average_by_paper(values: Mapping[Unit, float]) -> dict[str, float]:
    """Returns paper → mean score; *values*: one candidate's scores by (paper, reference)."""
    scores_of: dict[str, list[float]] = {}
    for (paper, _), value in values.items():
        scores_of.setdefault(paper, []).append(value)
    return {paper: sum(scores) / len(scores) for paper, scores in scores_of.items()}


def compute_lead_by_paper(own: Mapping[Unit, float], other: Mapping[Unit, float]) -> dict[str, float]:
    """Returns paper → mean score difference, *own* minus *other*.

    *own*, *other*: the scores of two candidates by (paper, reference). References that lack a score of either candidate
    are ignored.
    """
    return average_by_paper({unit: value - other[unit] for unit, value in own.items() if unit in other})


def _run_paired_tests(values: Values, names: Sequence[str]) -> list[CandidateTest]:
    if len(names) < 2:
        return []
    flat = [(value, paper, name, reference) for name in names for (paper, reference), value in values[name].items()]
    scores, papers, candidates, references = zip(*flat, strict=True) if flat else ((), (), (), ())
    return run_candidate_tests(scores, papers, candidates, references)
