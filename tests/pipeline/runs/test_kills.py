"""A run that is killed goes on where it was: the final tables are those of an undisturbed run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.conftest import ROOT
from tests.flows.refreshing import DEMO, EDITION, assert_same, tables
from tests.forks import CONTEXT
from tests.holds import LONGEST_S, wait_for
from tests.pipeline.runs import killed

KILLS = 10
SOME_KILLS = 5
COMMITTED = 48
"""Scores of the three papers that a refresh which is held has behind it."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Tables of a run that nobody disturbed."""
    state = tmp_path_factory.mktemp("undisturbed")
    started(state).join()
    return tables(state)


def started(state, held_at=None):
    process = CONTEXT.Process(target=killed.refresh_slowly, args=(str(state), held_at))
    process.start()
    return process


def kill(process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.join()


@pytest.mark.slow
def test_ten_kills_at_random_moments_of_scoring_change_no_table(undisturbed, tmp_path):
    state, held_at, random, kills = tmp_path / "state", tmp_path / "hold", Random(20261121), 0
    while kills < KILLS:
        process = started(state, held_at)
        wait_for(partial(is_held_or_done, process, held_at), process)
        held_at.unlink(missing_ok=True)
        process.join(random.uniform(0.0, 0.2))
        if process.exitcode is None:
            kill(process)
        if process.exitcode == 0:
            assert_same(tables(state), undisturbed)
            shutil.rmtree(state)
        else:
            kills += 1
    last = started(state)
    last.join()
    assert last.exitcode == 0
    assert_same(tables(state), undisturbed)


@pytest.mark.slow  # tests/faults/test_commit_points.py kills at chosen commits
def test_kills_at_random_moments_of_the_other_stages_change_no_table(undisturbed, tmp_path):
    random = Random(7)
    for _ in range(SOME_KILLS):
        process = started(tmp_path)
        process.join(random.uniform(0.02, 0.6))
        if process.exitcode is None:
            kill(process)
    last = started(tmp_path)
    last.join()
    assert last.exitcode == 0
    assert_same(tables(tmp_path), undisturbed)


def test_a_kill_in_the_middle_of_scoring_loses_at_most_one_chunk(undisturbed, tmp_path):
    store, held_at = Store(tmp_path, EDITION), tmp_path / "hold"
    process = started(tmp_path, held_at)
    wait_for(held_at.exists, process)
    kill(process)
    kept = store.status()["done"]
    assert kept == COMMITTED
    again = started(tmp_path)
    again.join()
    assert again.exitcode == 0
    assert store.status()["due"] == 256 - kept
    assert_same(tables(tmp_path), undisturbed)


def test_two_processes_on_one_edition_and_readers_all_the_while(tmp_path):
    store, held_at = Store(tmp_path, EDITION), tmp_path / "hold"
    worker = started(tmp_path, held_at)
    wait_for(held_at.exists, worker)
    second = command(
        "refresh",
        "--no-prefect",
        "--settings",
        str(DEMO),
        "--set",
        "evaluation_lm.backend=scripted",
        "--state",
        str(tmp_path),
    )
    reading_until(store, lambda: second.poll() is not None)
    _, message = second.communicate()
    assert second.returncode == 3
    assert f"edition {EDITION} is being written by process {worker.pid} on" in message
    held_at.unlink()
    reading_until(store, lambda: not worker.is_alive())
    read(store)
    assert worker.exitcode == 0


def reading_until(store: Store, has_ended: Callable[[], bool]) -> None:
    """Reads the board again and again until a process *has_ended*; fails if it does not end."""
    deadline = time.monotonic() + LONGEST_S / 2
    read(store)
    while not has_ended():
        assert time.monotonic() < deadline, "a process does not end"
        read(store)
        time.sleep(0.05)


def read(store: Store) -> None:
    rows = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in store.read(CURRENT_SIGNATURES)])
    assert rows
    assert all(row["score"] is None or row["score"] > -1e9 for row in rows)


@pytest.mark.slow
def test_a_kill_and_a_ctrl_c_under_the_prefect_engine_change_no_table_and_leave_no_server(undisturbed, tmp_path):
    store = Store(tmp_path, EDITION)
    asked = ["refresh", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted"]
    asked += ["--set", "run.chunk_papers=1", "--state", str(tmp_path)]
    process = command(*asked, held_at=tmp_path / "first")
    wait_for((tmp_path / "first").exists, process)
    servers = children(process.pid)
    assert servers
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert store.status()["state"] == "running"
    status = command("status", "--json", "--state", str(tmp_path))
    assert json.loads(status.communicate()[0])[0]["state"] == "cut short"
    wait_for_end(servers)
    # As status says: the settings of the run that was killed are known.
    again = command("refresh", "--edition", EDITION, "--state", str(tmp_path), held_at=tmp_path / "second")
    wait_for((tmp_path / "second").exists, again)
    servers = children(again.pid)
    os.killpg(again.pid, signal.SIGINT)  # a terminal's Ctrl-C goes to the whole group
    _, message = again.communicate(timeout=60)
    assert again.returncode == 130
    assert message.splitlines()[-1] == "stopped; what was done is kept, the same command goes on from there"
    assert store.status()["state"] == "stopped"
    wait_for_end(servers)
    last = command(*asked)
    _, message = last.communicate()
    assert last.returncode == 0, message
    assert_same(tables(tmp_path), undisturbed)


@pytest.mark.parametrize("sign", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_run_that_is_stopped_by_hand_says_so_and_keeps_what_is_done(undisturbed, tmp_path, sign):
    store = Store(tmp_path, EDITION)
    asked = ["refresh", "--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted"]
    asked += ["--set", "run.chunk_papers=1", "--state", str(tmp_path)]
    process = command(*asked, held_at=tmp_path / "hold")
    wait_for((tmp_path / "hold").exists, process)
    os.killpg(process.pid, sign)
    _, message = process.communicate(timeout=60)
    assert (process.returncode, "stopped; what was done is kept" in message) == (130, True)
    assert store.status()["done"] == COMMITTED
    again = command("refresh", "--no-prefect", "--edition", EDITION, "--state", str(tmp_path))
    assert again.wait() == 0
    assert_same(tables(tmp_path), undisturbed)


def children(pid: int) -> list[int]:
    """Process ids of the direct children of *pid*."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.1)


def command(*arguments: str, held_at: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.runs.killed", *arguments],
        cwd=ROOT,
        env=os.environ | ({"SCRIPTED_LM_HELD_AT": str(held_at)} if held_at else {}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def is_held_or_done(process, held_at: Path) -> bool:
    return held_at.exists() or process.exitcode == 0


def is_scoring(store: Store, pid: int) -> bool:
    status = store.status() or {}
    return status.get("pid") == pid and status["stage"] == "scoring"
