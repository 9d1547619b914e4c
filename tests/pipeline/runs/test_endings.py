"""The end of a flow run: done, paused and incomplete are told apart, a pause reaches who called, every flow ends so."""

from __future__ import annotations

import ast

import pytest

from gre_bench.core.errors import BudgetReached, Paused, SettingsError, UnfinishedError
from gre_bench.pipeline.runs.prefect_engine import ended, summary_of
from tests.conftest import ROOT

DONE = {"edition": "ICLR-2025", "outcome": "done", "message": ""}
FLOWS = sorted(path for path in (ROOT / "flows").rglob("*.py") if "@flow(" in path.read_text())


def raising(error: Exception) -> dict:
    raise error


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_done_is_its_summary(strict):
    assert ended(lambda *asked: DONE | {"asked": asked}, 1, 2, strict=strict) == DONE | {"asked": (1, 2)}
    assert ended(dict, strict=strict) == {}, "a flow that cannot end short of done says no outcome"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("pause", [BudgetReached("raise it"), Paused("none left", 1.0)], ids=["budget", "service"])
def test_a_pause_completes_the_run_under_its_own_name_and_is_raised_to_who_called(pause, strict):
    state = ended(raising, pause, strict=strict)
    assert (state.is_completed(), state.name, state.message) == (True, "Paused", str(pause))
    with pytest.raises(type(pause)) as caught:
        summary_of(state.data)
    assert caught.value is pause


def test_a_pause_that_a_summary_tells_is_none_of_the_failures_of_a_strict_run():
    summary = {"venue": "ICLR 2025", "outcome": "paused", "message": "until noon"}
    state = ended(lambda: summary, strict=True)
    assert (state.is_completed(), state.name, state.message, summary_of(state.data)) == (
        True,
        "Paused",
        "until noon",
        summary,
    )


@pytest.mark.parametrize("outcome", ["incomplete", "fault"])
def test_what_is_short_of_done_says_so_and_fails_where_it_must_not_be(outcome):
    summary = DONE | {"outcome": outcome, "message": "3 pairs"}
    state = ended(lambda: summary)
    assert (state.is_completed(), state.name, summary_of(state.data)) == (True, outcome.capitalize(), summary)
    with pytest.raises(UnfinishedError, match=f"^ICLR-2025: {outcome}, 3 pairs$"):
        ended(lambda: summary, strict=True)


@pytest.mark.parametrize("error", [SettingsError("wrong"), OSError("gone")], ids=["a user's", "a machine's"])
def test_what_went_wrong_is_left_to_fail_the_run(error):
    with pytest.raises(type(error)):
        ended(raising, error)


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_every_flow_ends_so(path):
    flows = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(mark).startswith("flow(") for mark in node.decorator_list)
    ]
    assert flows
    for each in flows:
        assert ast.unparse(each.body[-1]).startswith("return ended("), each.name
