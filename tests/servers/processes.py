"""Starts real Prefect, ``transformers serve`` and vLLM servers, each as a separate process on a free port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.conftest import ROOT

PREFECT = Path(sys.executable).with_name("prefect")
STARTED_WITHIN_S = 240.0
"""Seconds allowed for a server to start, which takes about 10 on two idle cores and far longer on a busy machine."""


@contextmanager
def _run_program(
    command: Sequence[str], environment: Mapping[str, str], log: Path, cwd: Path, grace_s: float = 20.0
) -> Iterator[subprocess.Popen]:
    """Runs *command* in the background with its output in the file *log*; ends it with all its child processes."""
    with log.open("w") as said:
        process = subprocess.Popen(command, env=environment, cwd=cwd, stdout=said, stderr=said, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for_url(process: subprocess.Popen, url: str, log: Path) -> None:
    """Waits until *url* answers; fails with the end of *log* if the *process* ends or takes too long."""
    deadline = time.monotonic() + STARTED_WITHIN_S
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.3)
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")


def closed_port() -> int:
    """Returns a loopback port on which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment_of(folder: Path) -> dict[str, str]:
    """Returns the environment variables for a Prefect server on a currently free port, with its files in *folder*."""
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
def run_prefect(*command: str, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """Runs ``prefect COMMAND`` in the background."""
    with _run_program([str(PREFECT), *command], environment, log, ROOT) as process:
        yield process


@contextmanager
def served(environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """Yields the Prefect server that *environment* describes, once it answers; `kill` ends it early."""
    api = environment["PREFECT_API_URL"]
    port = api.removesuffix("/api").rpartition(":")[2]
    with run_prefect("server", "start", "--port", port, environment=environment, log=log) as server:
        _wait_for_url(server, f"{api}/health", log)
        yield server


@contextmanager
def serve_prefect(folder: Path) -> Iterator[dict[str, str]]:
    """Yields the environment variables that point to a running Prefect server with its files in *folder*."""
    environment = environment_of(folder)
    with served(environment, folder / "server.log"):
        yield environment


def kill(server: subprocess.Popen) -> None:
    """Ends the *server* and all its child processes at once."""
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def run_command(environment: dict[str, str], *command: str) -> str:
    """Returns the output of a command that must succeed: ``prefect ...``, or ``python ...`` with this interpreter."""
    program = sys.executable if command[0] == "python" else str(PREFECT)
    found = subprocess.run([program, *command[1:]], env=environment, cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def transformers_command() -> Path | None:
    """Returns the command ``transformers`` of this Python environment; None if it is not installed."""
    path = Path(sys.executable).with_name("transformers")
    return path if path.is_file() else None


@contextmanager
def transformers_server(command: Path, model: Path, log: Path) -> Iterator[str]:
    """Yields the base URL of ``transformers serve`` for the folder *model*, in bfloat16 on one thread."""
    port = str(closed_port())
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    asked = [str(command), "serve", model.name, "--host", "127.0.0.1", "--port", port]
    asked += ["--device", "cpu", "--dtype", "bfloat16"]
    with _run_program(asked, environment, log, model.parent, grace_s=5) as server:
        _wait_for_url(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"


# The V2 model runner needs Triton, which has no CPU backend. Triton's debugging interpreter runs the same kernels.
INTERPRETER = """
import triton.backends
triton.backends.backends["cpu"] = triton.backends.backends["nvidia"]
"""


def vllm_python() -> Path | None:
    """Returns a Python with vLLM: from GRE_BENCH_VLLM_PYTHON, or from .venv-vllm; None if there is none."""
    stated = os.environ.get("GRE_BENCH_VLLM_PYTHON")
    path = Path(stated) if stated else ROOT / ".venv-vllm" / "bin" / "python"
    return path if path.is_file() else None


@contextmanager
def vllm_server(python: Path, model: Path, log: Path, *, second_runner: bool = False) -> Iterator[str]:
    """Yields the URL of a vLLM server of *model* in float32 under the name ``tiny``. *log*: the folder for its output.

    *second_runner*: whether to use the V2 model runner with interpreted kernels, so that given tokens can be scored.
    """
    port = str(closed_port())
    log.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment |= {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1"}
    environment |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
    if second_runner:
        (log / "sitecustomize.py").write_text(INTERPRETER)
        environment |= {"PYTHONPATH": str(log), "TRITON_INTERPRET": "1", "VLLM_USE_V2_MODEL_RUNNER": "1"}
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name"]
    command += ["tiny", "--host", "127.0.0.1", "--port", port, "--dtype", "float32", "--enforce-eager"]
    command += ["--max-num-seqs", "8", "--enable-scale-out"]
    with _run_program(command, environment, log / "server.log", log) as server:
        _wait_for_url(server, f"http://127.0.0.1:{port}/v1/models", log / "server.log")
        yield f"http://127.0.0.1:{port}"
