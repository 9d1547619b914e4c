"""Tables that fit a screen of any width: no number is cut, whatever has to give way."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gre_bench.cli.views.fitted import FittedColumn, print_fitted_table, shorten_name

NUMBERS = ["+27.92 ±8.06", "-2.62 ±1.03", "+1144.30 ±118.18"]
NOTES = ["baseline", "only 3 of 600 pairs scored, few judgments by rule-judgments-4 (3, human 13)", ""]
NAMES = ["human", "anthropic/claude-3-5-sonnet-20240620+reflect5+ensemble5", "模型甲"]


def printed(width: int, capsys) -> str:
    columns = [
        FittedColumn("rank", ["1", "–", "12="]),
        FittedColumn("candidate", NAMES, kind="name"),
        FittedColumn("nats", NUMBERS),
        FittedColumn("pairs", ["600/600", "3/600", "12/12"], order=1),
        FittedColumn("note", NOTES, kind="note"),
    ]
    print_fitted_table("EDITION-2026 · gem", columns, ["", "dim", ""], width)
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [*range(20, 200, 7), 1000])
def test_at_every_width_each_number_and_each_reason_stands_whole_and_no_line_is_longer(width, capsys):
    told = printed(width, capsys)
    for number in NUMBERS:
        assert number in told
    for word in ("only", "scored,", "few", "judgments", "rule-judgments-4", "13)"):
        assert word in told.split()
    table = "─" in told
    assert table == (width >= 4 + 12 + 16 + 16 + 3 * 2)
    if table:
        assert max(map(cell_len, told.splitlines())) <= width


def test_columns_come_in_their_order_as_long_as_there_is_room(capsys):
    assert "600/600" not in printed(60, capsys) and "600/600" in printed(120, capsys)


def test_a_column_that_is_left_out_for_width_is_named_below_the_table(capsys):
    note = "left out for width: pairs; see --json, or a wider terminal"
    assert note in printed(60, capsys).splitlines() and "left out" not in printed(120, capsys)
    assert "left out" not in printed(20, capsys), "a record has all columns"


def test_a_column_without_any_cell_is_left_out(capsys):
    print_fitted_table(
        "", [FittedColumn("candidate", ["a"], kind="name"), FittedColumn("above chance", [""], 1)], [""], 80
    )
    told = capsys.readouterr().out
    assert "above" not in told and "left out" not in told


def test_names_that_would_look_alike_are_wrapped_and_not_shortened(capsys):
    names = [f"openai/gpt-4o-2024-05-13{more}+reflect5+ensemble5" for more in ("", "+fewshot1")]
    print_fitted_table(
        "", [FittedColumn("candidate", names, kind="name"), FittedColumn("nats", ["+1.00", "+2.00"])], ["", ""], 26
    )
    told = capsys.readouterr().out
    assert "…" not in told and "".join(told.split()).count("fewshot1") == 1
    print_fitted_table(
        "", [FittedColumn("candidate", names, kind="name"), FittedColumn("nats", ["+1.00", "+2.00"])], ["", ""], 120
    )
    assert all(name in capsys.readouterr().out for name in names[:1])


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=80), st.integers(12, 40))
def test_a_shortened_name_keeps_its_ends(name, width):
    found = shorten_name(name, width)
    if cell_len(name) <= width:
        assert found == name
    else:
        start, end = re.fullmatch(r"(.*?)…(.*)", found, re.S).groups()
        assert name.startswith(start) and name.endswith(end)
        assert cell_len(found) <= width
