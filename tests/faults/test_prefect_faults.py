"""The Prefect server absent: a run under the real engine stops in one line, and nothing that was done is lost."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.faults.invariants import assert_undisturbed
from tests.flows.refreshing import DEMO, run, tables, use
from tests.scripted_lms import OverlapLM

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WITHIN_S = 420.0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    use(OverlapLM())
    state = tmp_path_factory.mktemp("undisturbed")
    run(state)
    return tables(state)


def refreshing(state: Path, environment: Mapping[str, str] | None = None, *more: str) -> subprocess.Popen[str]:
    """A refresh under the engine, slow enough to be disturbed."""
    asked = ["refresh", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted"]
    asked += ["--set", "run.chunk_papers=1", "--state", str(state), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.flows.killed", *asked],
        cwd=ROOT,
        env=dict(os.environ) | dict(environment or {}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
