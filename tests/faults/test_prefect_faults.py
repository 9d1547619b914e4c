"""The Prefect server absent, dying, locked: a run under the real engine ends, or stops in one line; nothing is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gre_bench.pipeline.runs.prefect_engine import QUIET
from gre_bench.store import Store
from tests.conftest import ROOT
from tests.faults.invariants import assert_readable, assert_undisturbed
from tests.faults.killing import children
from tests.flows.refreshing import DEMO, EDITION, run, use
from tests.holds import wait_for
from tests.pipeline.runs.test_kills import is_scoring
from tests.scripted_lms import OverlapLM
from tests.servers.processes import closed_port, environment_of, kill, run_command, run_prefect, served

pytestmark = [pytest.mark.night, pytest.mark.timeout(900)]
STOPS = "one line, exit code 3, what was done is kept; the next run ends in the same tables"
ENDS = "done, in the same tables"
WITHIN_S = 240.0
"""Prefect's minute of retry policy, the ends of its services, and what a busy machine adds."""
LINGERS_S = 45.0
"""Seconds from the line to the end of the process: one event's ten tries, on a busy machine."""
PAIRS = 256
WORKER_ENDS_S = 30.0
"""What an operator waits. Prefect itself tries for some seconds to tell the server of it."""
PROGRAM = "import tests.pipeline.runs.sharded; from gre_bench.cli.app import main; main()"
"""The command, with the scripted evaluation LM known to it."""


def refreshing(state: Path, environment: Mapping[str, str], pause_s: float = 0.0) -> subprocess.Popen[str]:
    """A refresh under the engine; *pause_s* a scripted prediction makes it slow enough to be disturbed."""
    asked = ["refresh", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted"]
    asked += ["--set", "run.chunk_papers=1", "--state", str(state)]
    # The scripted evaluation LM loads Prefect before the command could quieten it.
    quiet = QUIET | {"SCRIPTED_LM_PAUSE_S": str(pause_s)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *asked],
        cwd=ROOT,
        env=dict(os.environ) | dict(environment) | quiet,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def until_scored(state: Path, process: subprocess.Popen[str], pairs: int = 32) -> None:
    """Waits until the run of *process* is scoring and has so many *pairs*."""
    store = Store(state, EDITION)
    wait_for(lambda: is_scoring(store, process.pid) and store.status()["done"] >= pairs, process)


def at_its_end(state: Path, process: subprocess.Popen[str]) -> bool:
    status = Store(state, EDITION).status() or {}
    return status.get("pid") == process.pid and status.get("stage") in ("publishing", "ended")


def assert_stops(process: subprocess.Popen[str], state: Path, undisturbed: dict, named: str) -> int:
    """One line that says what is *named*, exit code 3; the next run scores just the rest. How many pairs were kept."""
    assert process.stderr
    line, said_at = process.stderr.readline(), time.monotonic()
    _, more = process.communicate(timeout=WITHIN_S)
    assert time.monotonic() - said_at < LINGERS_S, "events are tried at a server that is gone"
    err = line + more
    assert process.returncode == 3, err[-3000:]
    assert err.count("\n") == 1 and named in err and "--no-prefect" in err, err[-3000:]
    assert_readable(state)
    status = Store(state, EDITION).status()
    assert status["state"] == "stopped" and "Prefect server" in status["message"], status
    use(OverlapLM())
    again = run(state)
    assert (again["outcome"], again["scored_now"]) == ("done", PAIRS - status["done"])
    assert_undisturbed(state, undisturbed)
    return status["done"]


def assert_ends(process: subprocess.Popen[str], state: Path, undisturbed: dict) -> None:
    _, err = process.communicate(timeout=WITHIN_S)
    assert (process.returncode, err) == (0, "")
    assert_undisturbed(state, undisturbed)


def test_a_server_that_is_not_there_is_one_line_that_names_its_address(undisturbed, tmp_path, trial):
    api = f"http://127.0.0.1:{closed_port()}/api"
    began = time.monotonic()
    process = refreshing(tmp_path / "state", {"PREFECT_API_URL": api})
    _, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 3, err[-3000:]
    assert err.count("\n") == 1 and api in err and "PREFECT_API_URL" in err and "--no-prefect" in err, err[-3000:]
    assert time.monotonic() - began < 120
    use(OverlapLM())
    assert run(tmp_path / "state")["outcome"] == "done"
    assert_undisturbed(tmp_path / "state", undisturbed)
    trial("Prefect: PREFECT_API_URL leads to a closed port", "one line that names it, exit code 3; nothing is lost")


@pytest.mark.parametrize("moment", ["in the middle of scoring", "while the board is published"])
def test_a_server_that_dies_stops_the_run_there_and_keeps_every_score(undisturbed, tmp_path, trial, moment):
    state, environment = tmp_path / "state", environment_of(tmp_path)
    scoring = moment.endswith("scoring")
    with served(environment, tmp_path / "server.log") as server:
        process = refreshing(state, environment, pause_s=0.06 if scoring else 0.0)
        if scoring:
            until_scored(state, process)
        else:
            wait_for(lambda: at_its_end(state, process), process)
        kill(server)
        kept = assert_stops(process, state, undisturbed, environment["PREFECT_API_URL"])
    assert 32 <= kept < PAIRS if scoring else kept == PAIRS
    trial(f"Prefect: its server dies {moment}", STOPS)


def test_a_server_that_is_back_within_a_minute_costs_nothing(undisturbed, tmp_path, trial):
    state, environment = tmp_path / "state", environment_of(tmp_path)
    with served(environment, tmp_path / "server.log") as server:
        process = refreshing(state, environment, pause_s=0.06)
        until_scored(state, process)
        kill(server)
    with served(environment, tmp_path / "again.log"):
        assert_ends(process, state, undisturbed)
    trial("Prefect: its server dies in the middle of scoring and is started anew", ENDS)


def test_the_temporary_server_of_a_run_that_dies_stops_the_run(undisturbed, tmp_path, trial):
    state = tmp_path / "state"
    process = refreshing(state, {"PREFECT_HOME": str(tmp_path / "prefect")}, pause_s=0.01)
    until_scored(state, process)
    servers = children(process.pid)
    assert servers
    for child in servers:
        os.kill(child, signal.SIGKILL)
    assert_stops(process, state, undisturbed, "temporary Prefect server")
    trial("Prefect: the temporary server of a run dies in the middle of scoring", STOPS)


def test_a_database_of_the_server_that_is_locked_for_45_s_costs_nothing(undisturbed, tmp_path, trial):
    state, environment = tmp_path / "state", environment_of(tmp_path)
    with served(environment, tmp_path / "server.log"):
        process = refreshing(state, environment, pause_s=0.06)
        until_scored(state, process)
        held = sqlite3.connect(tmp_path / "prefect" / "prefect.db", timeout=60, check_same_thread=False)
        held.execute("begin exclusive")
        release = threading.Timer(45.0, held.rollback)
        release.start()
        assert_ends(process, state, undisturbed)
        release.join()
        held.close()
    trial("Prefect: its database locked by another process for 45 s", ENDS)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_worker_that_is_stopped_after_its_server_is_gone_ends(tmp_path, trial, sign):
    environment, log = environment_of(tmp_path), tmp_path / "worker.log"
    with served(environment, tmp_path / "server.log") as server:
        run_command(environment, "prefect", "work-pool", "create", "pool", "--type", "process")
        started = ("worker", "start", "--pool", "pool")
        with run_prefect(*started, environment=environment, log=log) as worker:
            wait_for(lambda: "started!" in log.read_text(), worker)
            kill(server)
            time.sleep(3)
            os.kill(worker.pid, sign)
            assert worker.wait(WORKER_ENDS_S) == 0, log.read_text()
    trial(f"Prefect: {sign.name} to a worker whose server is gone", "the worker ends within 30 s")
