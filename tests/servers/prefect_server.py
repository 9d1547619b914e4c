"""A real Prefect server on a free port of loopback, with a home of its own, and what tests ask of it."""

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
"""A server is up in some 10 s on two quiet cores; a busy machine may take many times that."""


@contextmanager
def running(*command: str, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """``prefect COMMAND`` in the background, stopped with all it started."""
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
    """The environment in which this server is the one to talk to."""
    environment = environment_of(folder)
    with served(environment, folder / "server.log"):
        yield environment


def environment_of(folder: Path) -> dict[str, str]:
    """The environment in which the server to talk to is one on a port that is free now, its files in *folder*."""
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
    """The server of *environment*, once it answers; `kill` ends it in the middle."""
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
    """Ends the *server* with all it started, at once."""
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def closed_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answered(environment: dict[str, str], *command: str) -> str:
    """What a command that must succeed prints: ``prefect ...``, or ``python ...`` of this environment."""
    program = sys.executable if command[0] == "python" else str(PREFECT)
    found = subprocess.run([program, *command[1:]], env=environment, cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout
