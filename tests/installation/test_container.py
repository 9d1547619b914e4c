"""The containers: the worker's, built from its file as README says, and what compose.yaml starts from it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

pytestmark = [pytest.mark.night, pytest.mark.timeout(7200)]
FILE = ROOT / "deployments" / "container" / "Containerfile"
IMAGE = "localhost/gre-bench-worker:test"
BASE = next(line.split()[1] for line in FILE.read_text().splitlines() if line.startswith("FROM "))


def started(name: str, image: str) -> list[str | Path] | None:
    """Returns how a command begins that *name* runs in a container of *image*; None if it cannot run one here."""
    begin: list[str | Path] = [name, "run", "--rm", image]
    if name == "buildah":
        made = subprocess.run([name, "from", image], capture_output=True, text=True, timeout=900)
        begin = [name, "run", made.stdout.strip(), "--"]
    tried = subprocess.run([*begin, "true"], capture_output=True, timeout=900)
    return None if tried.returncode else begin


@pytest.fixture(scope="module")
def inside():
    """Builds the image; returns a function that runs a command in a container of it."""
    there = [name for name in ("podman", "docker", "buildah") if shutil.which(name)]
    if not there:
        pytest.skip("none of podman, docker and buildah is on this machine")
    name = next((name for name in there if started(name, BASE)), None)
    if name is None:
        pytest.skip(f"{', '.join(there)}: a container of {BASE} cannot be had here")
    subprocess.run([name, "build", "-f", FILE, "-t", IMAGE, ROOT], check=True, capture_output=True, timeout=5400)
    begin = started(name, IMAGE)
    assert begin
    return lambda *command: subprocess.run([*begin, *command], capture_output=True, text=True, timeout=1800)


def test_the_container_scores_the_sample_as_an_ordinary_user(inside):
    found = inside("gre-bench", "demo", "--no-prefect")
    assert found.returncode == 0 and "reviewer-thorough leads" in found.stdout, found.stderr
    assert inside("id", "-u").stdout.strip() == "1000"


def test_a_worker_that_asks_vllm_has_a_tokenizer_and_neither_torch_nor_the_tests_of_the_project(inside):
    found = inside("python", "-c", "import tokenizers, transformers; print(transformers.__version__)")
    assert found.returncode == 0 and found.stdout.strip(), found.stderr
    names = {line.split("==")[0].lower() for line in inside("python", "-m", "pip", "freeze").stdout.splitlines()}
    assert "tokenizers" in names and not names & {"torch", "pytest", "hypothesis"}
    assert not [name for name in names if name.startswith("nvidia-")]


@pytest.fixture
def compose(tmp_path):
    """Returns a function that runs Docker Compose on compose.yaml, as a project of its own; removes it all at the end."""
    asked = ["docker", "compose", "--project-name", "gre-bench-test", "-f", FILE.with_name("compose.yaml")]

    def run(*arguments: str) -> str:
        environment = os.environ | {"MODEL_FOLDER": str(tmp_path)}
        ran = subprocess.run([*asked, *arguments], env=environment, capture_output=True, text=True, timeout=1800)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    if not shutil.which("docker") or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        pytest.skip("Docker Compose is not on this machine")
    services = yaml.safe_load(FILE.with_name("compose.yaml").read_text())["services"]
    for image in (BASE, services["prefect"]["image"]):
        if started("docker", image) is None:
            pytest.skip(f"docker: a container of {image} cannot be had here")
    try:
        yield run
    finally:
        run("down", "--volumes")


def test_the_services_that_need_no_gpu_make_a_board_by_a_deployment(compose):
    compose("up", "--detach", "--build", "worker-cpu")
    once = ("run", "--rm", "--no-deps", "worker-cpu")
    assert "work pool gre-bench-cpu: 2 at a time" in compose(*once, "python", "deployments/server_setup.py")
    compose(*once, "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
    watched = compose(*once, "prefect", "deployment", "run", "annual-refresh/nightly-smoke", "--watch")
    assert "Flow run finished successfully" in watched
    shown = compose(
        "exec", "worker-cpu", "gre-bench", "leaderboard", "SAMPLE-2026", "--state", "state/nightly", "--json"
    )
    assert "extractive-full" in shown
