"""A real chat server on a free port of this machine: ``transformers serve`` with a model folder, on the CPU."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STARTS_WITHIN_S = 180.0


def transformers_command() -> Path | None:
    """Returns the command ``transformers`` beside this Python, None if it is not installed."""
    path = Path(sys.executable).with_name("transformers")
    return path if path.is_file() else None


@contextmanager
def transformers_server(command: Path, model: Path, log: Path) -> Iterator[str]:
    """Yields the base URL of a server for the folder *model*, under the folder's name, in bfloat16 on one thread.

    *log*: the file for the server's output.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    asked = [str(command), "serve", model.name, "--host", "127.0.0.1", "--port", str(port)]
    asked += ["--device", "cpu", "--dtype", "bfloat16"]
    with log.open("w") as said:
        server = subprocess.Popen(
            asked, env=environment, cwd=model.parent, stdout=said, stderr=said, start_new_session=True
        )
    try:
        _await(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(5)
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _await(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"transformers serve did not start: {log.read_text()[-2000:]}")
