"""The year as it is deployed: a schedule fires it, two work pools do it, and runs that are killed are gone on with."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gre_bench.release.manifest import verify
from tests.flows.fetching import ACCOUNT, served
from tests.flows.making_boards import ON, roster
from tests.flows.test_deployments import FILE
from tests.servers.processes import answered, running, serving
from tests.servers.scripted_chat import scripted_chat

RUNS = """
import json
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    flows = {flow.id: flow.name for flow in client.read_flows()}
    print(json.dumps([(flows[run.flow_id], run.state_name, run.work_pool_name) for run in client.read_flow_runs()]))
"""
QUICKLY = {
    "edition": {"papers": 6},
    "release": {"unvalidated": "show"},
    "validation": {"resamples": 200},
    "writing": {"chunk": 4},
}
STATUS = ("editions", "SAMPLE-2026", "status.json")


def deployment(folder: Path, host: str, named: str, **chosen: dict[str, Any]) -> Path:
    """The file of the deployments of a year, of the sample and every 20 seconds, by the roster *named*.

    *chosen*: settings by group, beside those of the deployment that ships.
    """
    deployed = yaml.safe_load(FILE.read_text())
    kept = [item for item in deployed["deployments"] if item["name"] in ("year-iclr", "score", "validate-on-gpu")]
    year = next(item for item in kept if item["name"] == "year-iclr")
    year |= {"name": "year-sample", "schedules": [{"interval": 20, "active": True}]}
    settings = year["parameters"]["settings"] | chosen
    settings["fetch"] |= {"host": host, "backoff_s": 0.01}
    year["parameters"] |= {
        "venue": "SAMPLE", "roster": named, "settings": settings, "on": ON.isoformat(), "state": str(folder / "state"),
    }  # fmt: skip
    file = folder / "prefect.yaml"
    file.write_text(yaml.safe_dump(deployed | {"deployments": kept}))
    return file


def killed(state: Path, when: Callable[[dict[str, Any]], bool], log: Path, within_s: float = 300) -> int:
    """Kills the process that works on the edition as soon as its status says so; its id."""
    deadline = time.monotonic() + within_s
    while True:
        assert time.monotonic() < deadline, log.read_text()
        try:
            status = json.loads(state.joinpath(*STATUS).read_text())
            if status["state"] == "running" and when(status):
                os.kill(status["pid"], signal.SIGKILL)
                return status["pid"]
        except (OSError, ValueError):
            pass
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_scheduled_year_that_is_killed_twice_ends_in_a_release(tmp_path):
    state, logs = tmp_path / "state", [tmp_path / "cpu.log", tmp_path / "gpu.log"]
    login = {"OPENREVIEW_USERNAME": ACCOUNT.username, "OPENREVIEW_PASSWORD": ACCOUNT.password}
    (tmp_path / "server").mkdir()
    with served() as loopback, scripted_chat(pause_s=0.1) as chat, serving(tmp_path / "server") as server:
        answered(server | login, "python", "deployments/server_setup.py")
        answered(server, "prefect", "--no-prompt", "deploy", "--all", "--prefect-file",
                 str(deployment(tmp_path, loopback.v2, roster(tmp_path, chat.url, judgments="scripted"), **QUICKLY)))  # fmt: skip
        with (
            running("worker", "start", "--pool", "gre-bench-cpu", environment=server, log=logs[0]),
            running("worker", "start", "--pool", "gre-bench-gpu", environment=server, log=logs[1]),
        ):
            first = killed(state, lambda status: status["command"] == "write" and chat.count > 2, logs[0])
            second = killed(state, lambda status: status["command"] == "validate", logs[1])
            assert first != second
            deadline = time.monotonic() + 600
            while not (state / "releases" / "SAMPLE-2026-latest").exists():
                assert time.monotonic() < deadline, logs[0].read_text()
                time.sleep(1)
            runs: list[list[str]] = []
            while ["year", "Completed"] not in [run[:2] for run in runs]:
                assert time.monotonic() < deadline, runs
                runs = json.loads(answered(server, "python", "-c", RUNS))
    assert verify(state / "releases" / "SAMPLE-2026-latest")["release"] == "SAMPLE-2026-r1"
    assert {name for name, _, pool in runs if pool == "gre-bench-gpu"} == {"annual-refresh", "validate-metrics"}
    ended = {(name, state) for name, state, _ in runs}
    assert {("year", "Crashed"), ("validate-metrics", "Crashed"), ("history", "Completed")} <= ended, ended
    bought = [json.dumps(body["messages"]) for body in chat.requests]
    assert len(bought) - len(set(bought)) <= 16, "more was bought twice than was in flight at a kill"
