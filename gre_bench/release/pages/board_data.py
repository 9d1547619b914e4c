"""Writes the data for the script of the page of boards: points of plots, scores of pairs, paired tests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.release.figures.families import families
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.contents import PaperLine
from gre_bench.release.pages.pair_values import Unit, Values, comparisons

DIGITS = 4
"""Digits of the largest score: scores are scaled to whole numbers of at most this many digits."""


def board_data(boards: Sequence[Board], values: Mapping[str, Values], papers: Sequence[PaperLine]) -> str:
    """Returns, as JSON, the data that the script of the page of boards needs.

    *values*: the scores by signature, candidate and (paper, reference). The keys of the JSON are:
    - ``marks``: colour and shape of each model family.
    - ``papers``: title and address of each paper.
    - ``units``: for each (paper, reference), the index of the paper in ``papers``.
    - ``boards``: one object per board, with its title, unit, ``scale``, ``points``, ``values`` and ``tests``.

    The last three keys of a board are:
    - ``points``: one object per candidate, with the fields of `Entry` that the plots show.
    - ``values``: one text per candidate: scores times ``scale`` in the order of ``units``, joined by commas. A missing
      score is empty.
    - ``tests``: one list per two candidates: their indices, the difference, both ends of the difference's 90% interval,
      the p-value and the number of papers.
    """
    index_of = {paper.paper_id: index for index, paper in enumerate(papers)}
    units = sorted({unit for by_candidate in values.values() for scores in by_candidate.values() for unit in scores})
    return json.dumps({
        "marks": {name: [mark.colour, mark.shape] for name, mark in families(boards).items()},
        "papers": [[paper.title or paper.paper_id, paper.href] for paper in papers],
        "units": [index_of[paper] for paper, _ in units],
        "boards": [_board(board, values.get(board.signature_id, {}), units) for board in boards],
    }, separators=(",", ":"))  # fmt: skip


def _board(board: Board, values: Values, units: Sequence[Unit]) -> dict[str, Any]:
    names = [entry.candidate for entry in board.entries]
    index_of = {name: index for index, name in enumerate(names)}
    largest = max((abs(value) for scores in values.values() for value in scores.values()), default=1.0)
    scale = 10 ** max(0, DIGITS - math.ceil(math.log10(largest or 1.0)))
    return {
        "metric": board.metric,
        "title": board.title,
        "unit": board.unit,
        "digits": board.digits,
        "scale": scale,
        "points": [_point(entry) for entry in board.entries],
        "values": [
            ",".join(str(round(scores[unit] * scale)) if unit in scores else "" for unit in units)
            for scores in (values.get(name, {}) for name in names)
        ],
        "tests": [
            [index_of[test.first], index_of[test.second], *map(_short, (test.difference, test.low, test.high, test.p)),
             test.papers]
            for test in comparisons({name: values[name] for name in names if values.get(name)})
        ],
    }  # fmt: skip


def _point(entry: Entry) -> dict[str, Any]:
    fields = {
        "name": entry.candidate, "kind": entry.kind, "family": entry.family, "href": entry.href, "rank": entry.rank,
        "mean": entry.mean, "low": entry.low, "high": entry.high, "usd": entry.usd, "parameters": entry.parameters,
        "released": entry.released.isoformat() if entry.released else None, "words": entry.words,
    }  # fmt: skip
    return {name: _short(value) if isinstance(value, float) else value for name, value in fields.items()
            if value is not None}  # fmt: skip


def _short(value: float) -> float:
    """Returns *value* rounded to six significant digits. Scores are statistically less precise than that."""
    return float(f"{value:.6g}")
