"""The fault suite: what is done to a refresh, how often, what must still hold; `make faults` prints the table.

A test says by `trial` what it did; whether it held is the outcome of the test.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.report import Trial, as_markdown
from tests.flows.refreshing import refreshed, tables

TRIALS: list[Trial] = []
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or not report.passed
    return report


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    """The tables that a refresh of the sample leaves if nothing disturbs it."""
    return tables(refreshed(tmp_path_factory.mktemp("undisturbed")))


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """``trial(fault, invariant, times=1)``: one row of the table, its *times* added up over calls of a test."""
    told: dict[tuple[str, str], int] = {}

    def tell(fault: str, invariant: str, times: int = 1) -> None:
        told[fault, invariant] = told.get((fault, invariant), 0) + times
        request.node.user_properties[:] = [("trial", [*names, count]) for names, count in told.items()]

    yield tell
    assert told or request.node.stash.get(FAILED, False), "a test of the fault suite says what it tried"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    told = [value for name, value in report.user_properties if name == "trial"]
    if report.when == "call" or report.failed:
        held = report.outcome == "passed"
        for fault, invariant, times in told:
            TRIALS.append(Trial(fault, int(times), invariant, held))
    if report.failed and not told and "tests/faults/" in report.nodeid:
        # It broke before it could say what it tried: the table names the test.
        TRIALS.append(Trial(report.nodeid.rpartition("::")[2], 1, "the test ends", False))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    wanted = os.environ.get("GRE_BENCH_FAULTS_TABLE")
    if not TRIALS or not wanted:
        return
    Path(wanted).parent.mkdir(parents=True, exist_ok=True)
    Path(wanted).write_text(as_markdown(TRIALS), encoding="utf-8")
    terminalreporter.write_line(f"\n{as_markdown(TRIALS)}\nwritten to {wanted}")
