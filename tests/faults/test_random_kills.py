"""SIGKILL at random moments of all stages, many in a row on the same state: the run that ends leaves the same tables.

Some refreshes are whole, some buy their texts of a scripted server, some are under the Prefect engine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from shutil import rmtree

import pytest

from gre_bench.writing.spend_log import SpendLog
from tests.conftest import ROOT
from tests.faults.invariants import assert_accounted, assert_paid_once, assert_readable, assert_undisturbed
from tests.faults.killing import (
    DEMO,
    by_lm,
    debris,
    descendants,
    ended,
    killed_after,
    left_behind,
    stage_of,
    started,
    wait_for_end,
    whole,
)
from tests.flows.refreshing import EDITION, assert_same, tables
from tests.servers.scripted_chat import scripted_chat

WHOLE, BOUGHT, ENGINE = 110, 70, 20
"""Kills of each kind: 200 in all."""
SAME = "tables, texts and replies as undisturbed; readers never see half a board"
PAID = "paid calls at most the undisturbed ones and those in flight"
PAUSE_S = 0.002


def killed(state: Path, random: Random, longest_s: float, *overrides: str, **more) -> str | None:
    """The stage at which a refresh under *state* was killed after at most *longest_s*; None if it was done before."""
    process = started(state, *overrides, pause_s=PAUSE_S, **more)
    hit = killed_after(process, random.uniform(0.0, longest_s))
    assert_readable(state)
    return stage_of(state) if hit else None


def chains(
    folder: Path, kills: int, random: Random, longest_s: float, check: Callable[[Path], None], *overrides: str, **more
) -> Counter[str]:
    """Kills of refreshes, one after the other on one state until one is done; then on the next. Stage by stage."""
    stages: Counter[str] = Counter()
    state = folder / "state"
    while True:
        hit = killed(state, random, longest_s, *overrides, **more)
        if hit:
            stages[hit] += 1
        if stages.total() < kills and hit:
            continue
        assert ended(state, *overrides, **more) == 0
        check(state)
        assert debris(state) == []
        rmtree(state)
        if stages.total() >= kills:
            return stages


def took(state: Path, *overrides: str, **more) -> float:
    """Seconds of a refresh that nobody disturbs."""
    began = time.monotonic()
    assert ended(state, *overrides, pause_s=PAUSE_S, **more) == 0
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_random_kills_of_a_whole_refresh(tmp_path, trial):
    seconds = took(tmp_path / "undisturbed")
    expected = whole(tmp_path / "undisturbed")

    def check(state: Path) -> None:
        assert_same(whole(state), expected)
        assert_accounted(state, done=True)

    for stage, times in chains(tmp_path, WHOLE, Random(20261124), 0.6 * seconds, check).items():
        trial(f"SIGKILL at a random moment: {stage}", SAME, times)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_random_kills_of_a_refresh_that_buys_its_texts(tmp_path, trial):
    random, hits = Random(20261125), Counter[str]()
    with scripted_chat(pause_s=0.02) as server:
        overrides = by_lm(tmp_path, server, "writing.chunk=4")
        seconds = took(tmp_path / "undisturbed", *overrides, limit=4)
        expected, paid = whole(tmp_path / "undisturbed"), server.count
        while hits.total() < BOUGHT:
            state, before = tmp_path / f"state-{hits.total()}", server.count
            while hit := killed(state, random, 0.7 * seconds, *overrides, limit=4):
                hits[hit] += 1
            assert ended(state, *overrides, limit=4) == 0
            assert_same(whole(state), expected)
            assert_accounted(state, done=True)
            spent = SpendLog(state / "spending.jsonl").whole(EDITION)
            assert_paid_once(server.requests[before:], paid, spent.unanswered)
            assert server.count - before <= spent.requests
            rmtree(state)
    for stage, times in hits.items():
        trial(f"SIGKILL at a random moment, texts bought: {stage}", f"{SAME}; {PAID}", times)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_random_kills_under_the_prefect_engine_leave_no_server(tmp_path, trial):
    random = Random(20261126)
    assert ended(tmp_path / "undisturbed") == 0
    expected = tables(tmp_path / "undisturbed")
    state, hits = tmp_path / "state", Counter[str]()
    seconds = engine(tmp_path / "first", None)
    while hits.total() < ENGINE:
        if engine(state, random.uniform(0.1, 1.0) * seconds) is None:
            hits[stage_of(state)] += 1
            if (state / "editions").exists():
                assert_readable(state)
        else:
            assert_undisturbed(state, expected)
            rmtree(state)
    engine(state, None)
    assert_undisturbed(state, expected)
    for stage, times in hits.items():
        trial(f"SIGKILL at a random moment under the Prefect engine: {stage}", f"{SAME}; no server is left", times)


def engine(state: Path, kill_after_s: float | None) -> float | None:
    """Seconds that ``gre-bench refresh`` took under a Prefect engine of its own; None if it was killed."""
    command = ("refresh", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted", "--state", str(state))
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.runs.killed", *command, "--set", "run.chunk_papers=4"], cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=kill_after_s)
    except subprocess.TimeoutExpired:
        servers = descendants(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert left_behind(process.pid) == []
        wait_for_end(servers)
        return None
    assert process.returncode == 0, out
    return time.monotonic() - began
