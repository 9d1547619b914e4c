"""Which cells of a row of RMSE are set as the best and the second best."""

from __future__ import annotations

import pytest

from gre_bench.guidelines.rmse_tables import RmseCell, RmseRow


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ({"a": 1.5, "b": 1.2, "c": 2.0}, {"a": 2, "b": 1, "c": None}),
        ({"a": 1.2, "b": 1.2, "c": 1.4, "d": 1.9}, {"a": 1, "b": 1, "c": 2, "d": None}),
        ({"a": 1.2}, {"a": None, "absent": None}),
        ({"a": 1.2, "b": 1.2}, {"a": None, "b": None}),
    ],
)
def test_the_lowest_rmse_of_a_row_is_first_and_the_next_different_one_second(values, ranks):
    row = RmseRow(("model",), {column: RmseCell(value) for column, value in values.items()})
    assert {column: row.find_best_place(column) for column in ranks} == ranks
