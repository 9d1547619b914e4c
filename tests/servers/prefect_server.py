"""A real Prefect server on a free loopback port, with its own home folder, and helpers that question it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.conftest import ROOT

PREFECT = Path(sys.executable).with_name("prefect")
STARTED_WITHIN_S = 240.0
"""Seconds allowed for a server to start: about 10 on two quiet cores, many times that on a busy machine."""


@contextmanager
def running(*command: str, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """Runs ``prefect COMMAND`` in the background, and ends it with all its child processes."""
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


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Yields the environment variables that point to a running server with its files in *folder*."""
    environment = environment_of(folder)
    with served(environment, folder / "server.log"):
        yield environment


def environment_of(folder: Path) -> dict[str, str]:
    """Returns the environment variables for a server on a port that is free now, with its files in *folder*."""
    return os.environ | {
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{closed_port()}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "GRE_BENCH_CHECKOUT": str(ROOT),
        "PYTHONPATH": str(ROOT),
    }


@contextmanager
def served(environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """Yields the running server of *environment* once it answers; `kill` ends it early."""
    api = environment["PREFECT_API_URL"]
    port = api.removesuffix("/api").rpartition(":")[2]
    with running("server", "start", "--port", port, environment=environment, log=log) as server:
        deadline = time.monotonic() + STARTED_WITHIN_S
        while True:
            with suppress(OSError), urllib.request.urlopen(f"{api}/health", timeout=2) as answer:
                if answer.status == 200:
                    break
            assert server.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)
        yield server


def kill(server: subprocess.Popen) -> None:
    """Ends the *server* and all its child processes at once."""
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def closed_port() -> int:
    """Returns a loopback port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answered(environment: dict[str, str], *command: str) -> str:
    """Returns the output of a command that must succeed: ``prefect ...``, or ``python ...`` of this environment."""
    program = sys.executable if command[0] == "python" else str(PREFECT)
    found = subprocess.run([program, *command[1:]], env=environment, cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout
