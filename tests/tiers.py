"""Which tests are slow: measured, not marked by hand.

``tests/durations.json`` holds the processor seconds of every test that took a while, its children's included, and those
of a fixed loop in the same run. ``make durations`` writes it. A test that took over `LIMIT` is marked `slow`, unless it
is marked `always`; so is every test of the folders `APART`. Tests without a measurement run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_name("durations.json")
WRITE = "GRE_BENCH_DURATIONS"
"""Environment variable: the file to which a run writes what its tests took."""
LIMIT, KEPT, LOOP = 0.8, 0.3, 0.5
"""Seconds that make a test slow, and that are worth a line, on a machine that runs the loop in `LOOP` seconds."""
APART = ("tests/faults/", "tests/simulations/", "tests/bench/", "tests/installation/")
_TICK = os.sysconf("SC_CLK_TCK")


def loop() -> float:
    """Returns the processor seconds of a fixed loop: what a second of another machine is compared with."""
    began = time.process_time()
    total = 0
    for number in range(12_000_000):
        total += number & 3
    return time.process_time() - began


def processor_seconds(process: int | str = "self") -> float:
    """Returns the processor seconds of a process, of its living descendants, and of those that they have waited for."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = [
            pid for file in Path(f"/proc/{process}/task").glob("*/children") for pid in file.read_text().split()
        ]
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICK + sum(map(processor_seconds, children))


def slow() -> dict[str, float]:
    """Returns the tests that are slow by the measurement, each with its seconds."""
    measured = json.loads(FILE.read_text()) if FILE.is_file() else {"loop": LOOP, "tests": {}}
    seconds = {name: value * LOOP / measured["loop"] for name, value in measured["tests"].items()}
    return {name: value for name, value in seconds.items() if value > LIMIT}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    named = slow()
    for item in items:
        if item.get_closest_marker("always") is None and (item.nodeid in named or item.nodeid.startswith(APART)):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    if WRITE not in os.environ:
        return (yield)
    began = processor_seconds()
    item.stash[_BEGAN] = began
    return (yield)


_BEGAN = pytest.StashKey[float]()
_TOOK: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    if call.when == "teardown" and _BEGAN in item.stash:
        report.user_properties.append(("processor seconds", processor_seconds() - item.stash[_BEGAN]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "processor seconds":
                _TOOK[report.nodeid] = value


def pytest_sessionfinish(session: pytest.Session) -> None:
    if WRITE in os.environ and not hasattr(session.config, "workerinput"):
        a_loop = min(loop() for _ in range(3))
        tests = {name: round(value, 1) for name, value in sorted(_TOOK.items()) if value > KEPT * a_loop / LOOP}
        Path(os.environ[WRITE]).write_text(json.dumps({"loop": round(a_loop, 3), "tests": tests}, indent=0) + "\n")
