"""A run that is killed goes on where it was: the final tables are those of an undisturbed run.

Kills at random moments, stops by hand, second writers and the Prefect engine are in ``tests/faults``.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from gre_bench.catalogs.models import Model
from gre_bench.core.records import Chat, Completion
from gre_bench.core.settings import BudgetSettings
from gre_bench.pipeline.runs.job import Progress
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from gre_bench.writing.spend_log import ModelBudget, open_spend_log
from tests.cli.calling import call
from tests.flows.refreshing import EDITION, assert_same, demo, refreshed, tables, use
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


@pytest.mark.parametrize(
    ("started_as", "flow_run", "again"),
    [
        ("gre-bench year SAMPLE --roster mine.toml", None, "gre-bench year SAMPLE --roster mine.toml --state {state}"),
        (
            "gre-bench refresh --state=elsewhere --retry-failed",
            None,
            "gre-bench refresh --retry-failed --state {state}",
        ),
        (
            "gre-bench study points --state st --set a='b c'",
            None,
            "gre-bench study points --set 'a=b c' --state {state}",
        ),
        ("gre-bench new notes.jsonl", None, "gre-bench refresh --edition SAMPLE-2026 --state {state}"),
        ("pytest -q", None, "gre-bench refresh --edition SAMPLE-2026 --state {state}"),
        ("engine.py", "0190-ab", "prefect flow-run retry 0190-ab"),
    ],
)
def test_the_status_of_a_killed_run_names_the_command_that_ran_and_its_state(
    tmp_path, monkeypatch, started_as, flow_run, again
):
    monkeypatch.setattr(sys, "argv", shlex.split(started_as))
    if flow_run:
        monkeypatch.setenv("PREFECT__FLOW_RUN_ID", flow_run)
    store = Store(tmp_path, EDITION)
    with store.lock("refresh"):
        store.copy_for_readers()
        Progress(store, "killed", "refresh", demo())
    (status,) = json.loads(call("status", "--json", "--state", tmp_path)[1])
    expected = again.format(state=tmp_path)
    assert (status["state"], status["message"]) == ("cut short", f"run it again: {expected}")


def test_a_status_shows_no_sum_of_money_where_the_price_is_unknown(tmp_path):
    store, model = Store(tmp_path, EDITION), Model(name="m/n", endpoint="http://127.0.0.1:1/v1", model="n")
    with store.lock("refresh"):
        store.copy_for_readers()
    charged = ModelBudget(open_spend_log(tmp_path), EDITION, BudgetSettings(), model)
    charged.reserve_request()
    charged.record_spending(Chat("", ""), Completion("ok", "x", prompt_tokens=9, reply_tokens=9), 1.0)
    told = call("status", "--state", tmp_path)[1]
    assert "spent on m/n: 1 request (1 ok), 9 prompt and 9 reply tokens, price unknown, 0 s" in told
    (status,) = json.loads(call("status", "--json", "--state", tmp_path)[1])
    assert status["spent"]["usd"] is status["spent_by_model"]["m/n"]["usd"] is None


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
