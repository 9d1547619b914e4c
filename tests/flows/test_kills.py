"""A run that is killed goes on where it was: the final tables are those of an undisturbed run."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tasks.store import Store
from tests.conftest import ROOT
from tests.flows import killed
from tests.flows.refreshing import DEMO, EDITION, assert_same, tables

KILLS = 10


@pytest.fixture(scope="module")
def context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.flows.killed"])
    return context


@pytest.fixture(scope="module")
def undisturbed(context, tmp_path_factory):
    """Tables of a run that nobody disturbed."""
    state = tmp_path_factory.mktemp("undisturbed")
    started(context, state).join()
    return tables(state)


def started(context, state):
    process = context.Process(target=killed.refresh_slowly, args=(str(state),))
    process.start()
    return process


@pytest.mark.slow
def test_ten_kills_at_random_moments_of_scoring_change_no_table(context, undisturbed, tmp_path):
    store, random = Store(tmp_path, EDITION), Random(20261121)
    for _ in range(KILLS):
        process = started(context, tmp_path)
        wait_for(partial(is_scoring, store, process.pid), process)
        process.join(random.uniform(0.0, 0.12))
        assert process.is_alive()
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    last = started(context, tmp_path)
    last.join()
    assert last.exitcode == 0
    assert_same(tables(tmp_path), undisturbed)


def test_kills_at_random_moments_of_the_other_stages_change_no_table(context, undisturbed, tmp_path):
    random = Random(7)
    for _ in range(KILLS):
        process = started(context, tmp_path)
        process.join(random.uniform(0.02, 0.6))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
    last = started(context, tmp_path)
    last.join()
    assert last.exitcode == 0
    assert_same(tables(tmp_path), undisturbed)


def test_a_kill_in_the_middle_of_scoring_loses_at_most_one_chunk(context, undisturbed, tmp_path):
    store = Store(tmp_path, EDITION)
    process = started(context, tmp_path)
    wait_for(lambda: (store.status() or {}).get("done", 0) >= 48, process)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    kept = store.status()["done"]
    again = started(context, tmp_path)
    again.join()
    assert again.exitcode == 0
    status = store.status()
    assert status["due"] <= 256 - kept
    assert_same(tables(tmp_path), undisturbed)


def test_two_processes_on_one_edition_and_readers_all_the_while(context, tmp_path):
    store = Store(tmp_path, EDITION)
    worker = started(context, tmp_path)
    wait_for(lambda: store.read_file.exists() and (store.status() or {}).get("done", 0) > 0, worker)
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
    reads = 0
    while worker.is_alive() or second.poll() is None:
        assert all(
            row["mean"] is None or row["mean"] > -1e9
            for row in store.read(
                "leaderboard", signature_ids=[row["signature_id"] for row in store.read("current_signatures")]
            )
        )
        reads += 1
    _, message = second.communicate()
    assert second.returncode == 3
    assert f"edition {EDITION} is being written by process {worker.pid} on" in message
    assert worker.exitcode == 0
    assert reads > 3


@pytest.mark.slow
def test_a_kill_and_a_ctrl_c_under_the_prefect_engine_change_no_table_and_leave_no_server(undisturbed, tmp_path):
    store = Store(tmp_path, EDITION)
    asked = ["refresh", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted"]
    asked += ["--set", "run.chunk_papers=1", "--state", str(tmp_path)]
    process = command(*asked)
    wait_for(lambda: is_scoring(store, process.pid) and store.status()["done"] >= 16, process)
    servers = children(process.pid)
    assert servers
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert store.status()["state"] == "running"
    status = command("status", "--json", "--state", str(tmp_path))
    assert json.loads(status.communicate()[0])[0]["state"] == "cut short"
    wait_for_end(servers)
    # As status says: the settings of the run that was killed are known.
    again = command("refresh", "--edition", EDITION, "--state", str(tmp_path))
    wait_for(lambda: is_scoring(store, again.pid) and store.status()["done"] >= 16, again)
    servers = children(again.pid)
    os.killpg(again.pid, signal.SIGINT)  # a terminal's Ctrl-C goes to the whole group
    _, message = again.communicate(timeout=10)
    assert again.returncode == 130
    assert message.splitlines()[-1] == "stopped; what was done is kept, the same command goes on from there"
    assert store.status()["state"] == "stopped"
    wait_for_end(servers)
    last = command(*asked)
    _, message = last.communicate()
    assert last.returncode == 0, message
    assert_same(tables(tmp_path), undisturbed)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_by_hand_says_so_and_keeps_what_is_done(undisturbed, tmp_path, sign):
    store = Store(tmp_path, EDITION)
    asked = ["refresh", "--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted"]
    asked += ["--set", "run.chunk_papers=1", "--state", str(tmp_path)]
    process = command(*asked)
    wait_for(lambda: is_scoring(store, process.pid) and store.status()["done"] >= 16, process)
    os.killpg(process.pid, sign)
    _, message = process.communicate(timeout=10)
    assert (process.returncode, "stopped; what was done is kept" in message) == (130, True)
    again = command("refresh", "--no-prefect", "--edition", EDITION, "--state", str(tmp_path))
    assert again.wait() == 0
    assert_same(tables(tmp_path), undisturbed)


def children(pid: int) -> list[int]:
    """Process ids of the direct children of *pid*."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 15
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.1)


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.flows.killed", *arguments],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for(condition, process) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        alive = process.is_alive() if hasattr(process, "is_alive") else process.poll() is None
        assert alive, "the run ended before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_scoring(store: Store, pid: int) -> bool:
    status = store.status() or {}
    return status.get("pid") == pid and status["stage"] == "scoring"
