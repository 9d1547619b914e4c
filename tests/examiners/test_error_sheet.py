"""The sheet of rationales: a sample with empty cells, and the shares of a filled one."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Problem
from gre_bench.examiners.examiner import Item
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.results import COLUMNS, ERRORS, shares, sheet

ITEMS = [Item(str(place), "source", "text") for place in range(4)]
GRADES = [
    Grade("0", 3.0, None, {"relevance": 3.0, "fluency": 4.0}, {"relevance": "why", "fluency": "because"}),
    Grade("1", 2.0, None, {"overall": 2.0}, {"overall": "so"}),
    Grade("2", None, Problem("unparsable", "")),
    Grade("3", 5.0, None, {"overall": 5.0}),
]


def test_a_sheet_has_a_row_for_each_rationale_and_empty_cells():
    rows = sheet(ITEMS, GRADES)
    assert sorted((row["item_id"], row["aspect"], row["score"]) for row in rows) == [
        ("0", "fluency", "4"),
        ("0", "relevance", "3"),
        ("1", "overall", "2"),
    ]
    assert all(tuple(row) == COLUMNS and not any(row[error] for error in ERRORS) for row in rows)
    assert sheet(ITEMS, GRADES, rows=2, seed=1) == sheet(ITEMS, GRADES, rows=2, seed=1)
    assert len(sheet(ITEMS, GRADES, rows=2)) == 2


def filled(*cells: str) -> list[dict[str, str]]:
    return [dict(zip(ERRORS, ("yes" if mark == "x" else "no" for mark in row), strict=True)) for row in cells]


def test_shares_may_sum_to_more_than_one():
    found = shares(filled("...", "xx.", ".x.", "..x"))
    assert found == {"good": 0.25, "inconsistent": 0.25, "hallucination": 0.5, "different_aspect": 0.25}
    assert sum(found.values()) > 1


def test_an_empty_cell_is_named():
    rows = filled("...", "xx.")
    rows[1]["hallucination"] = " "
    with pytest.raises(SourceError, match="row 2 of the sheet: write yes or no into column hallucination"):
        shares(rows)
    with pytest.raises(SourceError, match="no rows"):
        shares([])
