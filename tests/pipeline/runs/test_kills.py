"""A run that is killed goes on where it was: the final tables are those of an undisturbed run.

Kills at random moments, stops by hand, second writers and the Prefect engine are in ``tests/faults``.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.cli.calling import call
from tests.flows.refreshing import EDITION, assert_same, refreshed, tables, use
from tests.forks import CONTEXT
from tests.holds import LONGEST_S, wait_for
from tests.pipeline.runs import killed
from tests.scripted_lms import OverlapLM

COMMITTED = 48
"""Scores of the three papers that a refresh which is held has behind it."""


def held(state: Path):
    """A refresh at work that stands still when three papers are scored."""
    process = CONTEXT.Process(target=killed.refresh_slowly, args=(str(state), state / "hold"))
    process.start()
    wait_for((state / "hold").exists, process)
    return process


def test_a_kill_in_the_middle_of_scoring_loses_at_most_one_chunk_and_the_next_run_knows_the_settings(tmp_path):
    process, store = held(tmp_path), Store(tmp_path, EDITION)
    process.kill()
    process.join()
    assert (store.status()["state"], store.status()["done"]) == ("running", COMMITTED)
    (status,) = json.loads(call("status", "--json", "--state", tmp_path)[1])
    assert status["state"] == "cut short"
    use(OverlapLM())
    assert call("refresh", "--no-prefect", "--edition", EDITION, "--state", tmp_path)[0] == 0
    assert store.status()["due"] == 256 - COMMITTED
    assert_same(tables(tmp_path), tables(refreshed(tmp_path / "undisturbed")))


def test_a_board_is_read_all_the_while_that_it_is_written(tmp_path):
    store, worker = Store(tmp_path, EDITION), held(tmp_path)
    read(store)
    (tmp_path / "hold").unlink()
    deadline = time.monotonic() + LONGEST_S / 2
    while worker.exitcode is None:
        assert time.monotonic() < deadline, "a process does not end"
        read(store)
        time.sleep(0.05)
    read(store)
    assert worker.exitcode == 0


def read(store: Store) -> None:
    rows = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in store.read(CURRENT_SIGNATURES)])
    assert rows
    assert all(row["score"] is None or row["score"] > -1e9 for row in rows)


def is_scoring(store: Store, pid: int) -> bool:
    status = store.status() or {}
    return status.get("pid") == pid and status["stage"] == "scoring"
