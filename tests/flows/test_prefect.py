"""The flow under the real Prefect engine, and with its decorators taken off."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import time

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.sorting import FlowRunSort

from gre_bench.core.errors import BudgetReached, SettingsError
from gre_bench.flows import year
from gre_bench.flows.annual_refresh import annual_refresh
from gre_bench.pipeline.runs.prefect_engine import unwrap_flow_summary
from gre_bench.tasks.release import build_artifact_rows
from tests.conftest import ROOT
from tests.flows.making_boards import stand_ins
from tests.flows.refreshing import assert_same, demo, refreshed, tables, use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import scripted_chat


@pytest.fixture(scope="session")
def engine():
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.mark.always
def test_the_flow_runs_under_the_engine_and_leaves_the_board_as_an_artifact(engine, tmp_path):
    use(OverlapLM())
    summary = annual_refresh(demo(), tmp_path / "engine")
    assert (summary["outcome"], summary["scored_now"]) == ("done", 256)
    with get_client(sync_client=True) as client:
        key = ArtifactFilterKey(any_=["leaderboard-sample-2026"])
        (artifact,) = client.read_artifacts(artifact_filter=ArtifactFilter(key=key))
        assert artifact.type == "markdown"
        said = artifact.data.splitlines()
        assert said[0].startswith("## ") and "No order: not validated" in said[2]
        assert "](data:image/svg+xml;base64," in said[4]
        assert said[6] == "| rank | candidate | score | vs human | p | above chance |"
        assert {line.count(" | ") for line in said if line.startswith("| ")} == {5}
        assert not [line for line in said if line.startswith("## ") and "specific" in line]
        assert any(line.startswith("| – | ") and " (control) | " in line for line in said)
        assert any(re.fullmatch(r"\| – \| human \| [+-]\d+\.\d\d ±\d+\.\d\d \|.*", line) for line in said)
        assert any(
            line.startswith("scored by") and ": unvalidated" in line and "human: the baseline, one human review" in line
            for line in said
        )
        assert any(line.startswith("Next: `gre-bench leaderboard SAMPLE-2026`") for line in said)
        flow_run = client.read_flow_runs()[0]
        assert flow_run.name == "SAMPLE-2026"
        names = {task.name for task in client.read_task_runs()}
    assert any(name.startswith("score s") for name in names)
    assert_same(tables(tmp_path / "engine"), tables(refreshed(tmp_path / "plain")))


def test_a_year_that_is_refused_says_why_and_what_to_do_in_the_state_of_its_flow_run(engine, tmp_path):
    with pytest.raises(SettingsError) as caught:
        year.year("SAMPLE", roster="nobody", state=tmp_path)
    with get_client(sync_client=True) as client:
        run = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)[0]
    assert (run.state.name, run.state.message) == ("Failed", str(caught.value))
    assert run.state.message.startswith("no roster nobody; name one of yearly")


def test_the_page_of_a_flow_run_shows_what_the_run_logs_and_the_screen_does_not(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    command = [
        sys.executable,
        "-c",
        "from gre_bench.cli.app import main; main()",
        "refresh",
        "--settings",
        "demo",
        "--limit",
        "2",
        "--state",
        "state",
    ]
    found = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True)
    assert (found.returncode, found.stderr) == (0, "")
    with sqlite3.connect(tmp_path / "state" / "prefect" / "prefect.db") as database:
        said = [*database.execute("select name, message from log where flow_run_id is not null order by timestamp")]
    assert {name for name, _ in said} == {"gre_bench.run"}
    messages = [message for _, message in said]
    assert "reading papers: 2 of 2" in messages and messages[-1] == "SAMPLE-2026: done"
    assert "scoring" in messages and "scoring" not in found.stdout


@pytest.mark.night
def test_a_run_at_its_bound_is_shown_as_paused_and_the_next_one_goes_on(engine, tmp_path):
    use(OverlapLM())
    with get_client(sync_client=True) as client:
        before = {run.id for run in client.read_flow_runs()}
        with pytest.raises(BudgetReached, match="paused at budget.hours"):
            unwrap_flow_summary(annual_refresh(demo("budget.hours=1e-6"), tmp_path, limit=4, strict=True))
        assert annual_refresh(demo("budget.hours=1"), tmp_path, limit=4, strict=True)["outcome"] == "done"
        states = {run.state.name: run.state for run in client.read_flow_runs() if run.id not in before}
    assert states.keys() == {"Paused", "Completed"}
    assert states["Paused"].is_completed() and "Raise it" in states["Paused"].message


@pytest.mark.night
def test_a_step_at_its_bound_is_shown_as_paused_and_not_as_failed(engine, tmp_path):
    use(OverlapLM())
    with scripted_chat() as endpoint, get_client(sync_client=True) as client:
        bought = (
            f"writing.models={stand_ins(tmp_path, endpoint.url, ['a/b'])}",
            "writing.candidates=['a/b']",
            "budget.requests=2",
        )
        with pytest.raises(BudgetReached, match="paused at budget.requests"):
            unwrap_flow_summary(annual_refresh(demo(*bought), tmp_path / "state", limit=4))
        assert client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)[0].state.name == "Paused"
        deadline = time.monotonic() + 60
        shown = None
        # The server learns of a task run's states one by one, a little later.
        while (shown is None or shown.state.name != "Paused") and time.monotonic() < deadline:
            shown = next((run for run in client.read_task_runs() if run.name == "reviews by a/b"), None)
            time.sleep(0.2)
        assert shown is not None
        assert (shown.state.is_completed(), shown.state.name) == (True, "Paused")
        assert "budget.requests" in shown.state.message


def test_rows_of_a_history_are_six_columns_of_json_with_numbers_of_two_decimals():
    shown = {"metric": "gem", "candidate": "a/b", "edition": "V-2025", "difference": 1.23, "low": "", "high": 2.0}
    row = shown | {"difference": 1.23456789, "low": None, "signature_id": "def2f4b0419b39c6", "se": 0.5}
    assert json.loads(json.dumps(build_artifact_rows([row]))) == [shown]


def test_the_flow_works_with_the_decorators_taken_off(tmp_path):
    program = f"""
import sys, types
prefect = types.ModuleType("prefect")
bare = lambda *args, **options: args[0] if args else (lambda function: function)
prefect.flow = bare
sys.modules["prefect"] = prefect
from pathlib import Path
from tests.flows.refreshing import demo, use
from tests.scripted_lms import OverlapLM
from gre_bench.flows.annual_refresh import annual_refresh
use(OverlapLM())
summary = annual_refresh(demo(), Path({str(tmp_path)!r}))
print(summary["outcome"], summary["scored_now"])
"""
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["done 256"]
