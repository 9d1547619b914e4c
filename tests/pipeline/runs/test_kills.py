"""A run that is killed goes on where it was: the final tables are those of an undisturbed run.

Kills at random moments and under the Prefect engine are in ``tests/faults``.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.cli.calling import call
from tests.faults.killing import commanded, said
from tests.flows.refreshing import DEMO, EDITION, assert_same, refreshed, tables, use
from tests.forks import CONTEXT
from tests.holds import LONGEST_S, wait_for
from tests.pipeline.runs import killed
from tests.scripted_lms import OverlapLM

COMMITTED = 48
"""Scores of the three papers that a refresh which is held has behind it."""
REFRESH = ("refresh", "--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Tables of a run that nobody disturbed."""
    return tables(refreshed(tmp_path_factory.mktemp("undisturbed") / "state"))


def held(state: Path):
    """A refresh at work that stands still when three papers are scored."""
    process = CONTEXT.Process(target=killed.refresh_slowly, args=(str(state), state / "hold"))
    process.start()
    wait_for((state / "hold").exists, process)
    return process


def assert_goes_on(state: Path, undisturbed) -> None:
    """The next run knows the settings of this one, scores the rest, and leaves the tables of an undisturbed one."""
    use(OverlapLM())
    assert Store(state, EDITION).status()["done"] == COMMITTED
    assert call("refresh", "--no-prefect", "--edition", EDITION, "--state", state)[0] == 0
    assert Store(state, EDITION).status()["due"] == 256 - COMMITTED
    assert_same(tables(state), undisturbed)


def test_a_kill_in_the_middle_of_scoring_loses_at_most_one_chunk(undisturbed, tmp_path):
    process = held(tmp_path)
    process.kill()
    process.join()
    assert Store(tmp_path, EDITION).status()["state"] == "running"
    (status,) = json.loads(call("status", "--json", "--state", tmp_path)[1])
    assert status["state"] == "cut short"
    assert_goes_on(tmp_path, undisturbed)


def test_a_run_that_is_stopped_by_hand_says_so_and_keeps_what_is_done(undisturbed, tmp_path):
    held_at, asked = tmp_path / "hold", (*REFRESH, "--set", "run.chunk_papers=1", "--state", str(tmp_path / "state"))
    process = commanded(tmp_path, *asked, held_at=held_at)
    wait_for(held_at.exists, process)
    os.killpg(process.pid, signal.SIGINT)
    process.join(60)
    assert (process.exitcode, "stopped; what was done is kept" in said(tmp_path)[1]) == (130, True)
    assert_goes_on(tmp_path / "state", undisturbed)


def test_two_processes_on_one_edition_and_readers_all_the_while(tmp_path):
    state = tmp_path / "state"
    store, worker = Store(state, EDITION), held(state)
    second = commanded(tmp_path, *REFRESH, "--state", str(state))
    reading_until(store, lambda: second.exitcode is not None)
    assert second.exitcode == 3
    assert f"edition {EDITION} is being written by process {worker.pid} on" in said(tmp_path)[1]
    (state / "hold").unlink()
    reading_until(store, lambda: worker.exitcode is not None)
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


def is_scoring(store: Store, pid: int) -> bool:
    status = store.status() or {}
    return status.get("pid") == pid and status["stage"] == "scoring"
