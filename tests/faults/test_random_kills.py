"""SIGKILL at random moments of all stages, many in a row on the same state: the run that ends leaves the same tables.

Some refreshes are whole, some buy their texts of a scripted server, some are under the Prefect engine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from random import Random
from shutil import rmtree

import pytest

from gre_bench.writing.spend_log import SpendLog
from tests.faults import killing
from tests.faults.invariants import assert_accounted, assert_paid_once, assert_readable, assert_undisturbed
from tests.faults.killing import by_lm, debris, ended, killed_after, left_behind, stage_of, started, whole
from tests.flows.refreshing import EDITION, assert_same, tables
from tests.servers.chat import scripted_chat

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


def took(state: Path, *overrides: str, **more) -> float:
    """Seconds of a refresh that nobody disturbs."""
    began = time.monotonic()
    assert ended(state, *overrides, pause_s=PAUSE_S, **more) == 0
    return time.monotonic() - began


@pytest.mark.night
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bought", [False, True], ids=["whole", "texts bought"])
def test_random_kills_of_a_refresh(tmp_path, trial, bought):
    random, hits, kills = Random(20261124 + bought), Counter[str](), BOUGHT if bought else WHOLE
    asked = {"limit": 4} if bought else {}
    with scripted_chat(pause_s=0.02) as server:
        overrides = by_lm(tmp_path, server, "writing.chunk=4") if bought else ()
        longest_s = (0.7 if bought else 0.6) * took(tmp_path / "undisturbed", *overrides, **asked)
        expected, paid = whole(tmp_path / "undisturbed"), server.count
        while hits.total() < kills:
            state, before = tmp_path / f"state-{hits.total()}", server.count
            while hits.total() < kills and (hit := killed(state, random, longest_s, *overrides, **asked)):
                hits[hit] += 1
            assert ended(state, *overrides, **asked) == 0
            assert_same(whole(state), expected)
            assert_accounted(state, done=True)
            if bought:
                spent = SpendLog(state / "spending.jsonl").spent_on_all_models(EDITION)
                assert_paid_once(server.requests[before:], paid, spent.unanswered)
                assert server.count - before <= spent.requests
            else:
                assert debris(state) == []
            rmtree(state)
    kind, invariant = (", texts bought", f"{SAME}; {PAID}") if bought else ("", SAME)
    for stage, times in hits.items():
        trial(f"SIGKILL at a random moment{kind}: {stage}", invariant, times)


@pytest.mark.night
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
    began = time.monotonic()
    process = killing.under_prefect(state, "--set", "run.chunk_papers=4")
    try:
        said = process.communicate(timeout=kill_after_s)
    except subprocess.TimeoutExpired:
        servers = killing.descendants(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert left_behind(process.pid) == []
        killing.gone(servers, 30.0)
        return None
    assert process.returncode == 0, said
    return time.monotonic() - began
