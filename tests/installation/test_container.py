"""The worker's container, built from its file as README says, by whatever builds containers here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

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
