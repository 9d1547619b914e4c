"""The deployments, deployed to a real Prefect server on loopback, and one of them triggered."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import ROOT

PREFECT = Path(sys.executable).with_name("prefect")
FILE = ROOT / "deployments" / "prefect.yaml"


@contextmanager
def running(*command: str, environment: dict[str, str], log: Path):
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(PREFECT), *command], env=environment, cwd=ROOT, stdout=output, stderr=output, start_new_session=True
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def server(tmp_path):
    """Environment of a Prefect server of our own on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "GRE_BENCH_CHECKOUT": str(ROOT),
        "PYTHONPATH": str(ROOT),
    }
    log = tmp_path / "server.log"
    with running("server", "start", "--port", str(port), environment=environment, log=log):
        deadline = time.monotonic() + 120
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=2) as answer:
                if answer.status == 200:
                    break
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)
        yield environment


def prefect(environment, *arguments: str) -> str:
    found = subprocess.run([str(PREFECT), *arguments], env=environment, cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.mark.slow
def test_the_deployments_are_deployed_scheduled_and_triggered(server, tmp_path):
    prefect(server, "work-pool", "create", "gre-bench", "--type", "process")
    prefect(server, "--no-prompt", "deploy", "--all", "--prefect-file", str(FILE))
    listed = json.loads(prefect(server, "deployment", "inspect", "annual-refresh/annual", "--output", "json"))
    assert [(item["schedule"]["cron"], item["schedule"]["timezone"]) for item in listed["schedules"]] == [
        ("0 6 1 2 *", "UTC")
    ]
    with running("worker", "start", "--pool", "gre-bench", environment=server, log=tmp_path / "worker.log"):
        prefect(
            server,
            "deployment",
            "run",
            "annual-refresh/on-demand",
            "--param",
            f'state="{tmp_path / "state"}"',
            "--param",
            "limit=4",
            "--watch",
            "--watch-interval",
            "1",
            "--watch-timeout",
            "150",
        )
    status = json.loads((tmp_path / "state" / "editions" / "SAMPLE-2026" / "status.json").read_text())
    assert status["state"] == "done"
