"""A real vLLM server on a free port of this machine, run by the Python of vLLM's own environment."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.conftest import ROOT

STARTS_WITHIN_S = 240.0

# The V2 model runner needs Triton, which has no CPU backend. Triton's debugging interpreter runs the same kernels.
INTERPRETER = """
import triton.backends
triton.backends.backends["cpu"] = triton.backends.backends["nvidia"]
"""


def vllm_python() -> Path | None:
    """Returns the Python that has vLLM: that of GRE_BENCH_VLLM_PYTHON, or of .venv-vllm; None if there is none."""
    stated = os.environ.get("GRE_BENCH_VLLM_PYTHON")
    path = Path(stated) if stated else ROOT / ".venv-vllm" / "bin" / "python"
    return path if path.is_file() else None


@contextmanager
def vllm_server(python: Path, model: Path, log: Path, *, second_runner: bool = False) -> Iterator[str]:
    """Yields the URL of a server of *model* in float32 under the name ``tiny``; *log* is a folder for its output.

    *second_runner*: use the V2 model runner with interpreted kernels, so that given tokens can be scored.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment |= {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1"}
    environment |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
    if second_runner:
        (log / "sitecustomize.py").write_text(INTERPRETER)
        environment |= {"PYTHONPATH": str(log), "TRITON_INTERPRET": "1", "VLLM_USE_V2_MODEL_RUNNER": "1"}
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name"]
    command += ["tiny", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager"]
    command += ["--max-num-seqs", "8", "--enable-scale-out"]
    with (log / "server.log").open("w") as said:
        server = subprocess.Popen(command, env=environment, cwd=log, stdout=said, stderr=said, start_new_session=True)
    try:
        _await(server, f"http://127.0.0.1:{port}", log / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _await(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/v1/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise RuntimeError(f"the vLLM server did not start: {log.read_text()[-2000:]}")
