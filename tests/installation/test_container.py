"""The worker's container, built from its file as README says, by whatever builds containers here."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.night, pytest.mark.timeout(3600)]
FILE = ROOT / "deployments" / "container" / "Containerfile"
IMAGE = "gre-bench-worker:test"
BASE = next(line.split()[1] for line in FILE.read_text().splitlines() if line.startswith("FROM "))


@pytest.fixture(scope="module")
def tool() -> str:
    """podman or docker, with the base image at hand or to be had."""
    for name in ("podman", "docker"):
        if shutil.which(name) and not subprocess.run([name, "info"], capture_output=True, timeout=60).returncode:
            if subprocess.run([name, "pull", "--quiet", BASE], capture_output=True, timeout=600).returncode:
                pytest.skip(f"{name} cannot get the base image {BASE}")
            return name
    pytest.skip("neither podman nor docker works on this machine")


def test_the_container_is_built_and_scores_the_sample(tool):
    subprocess.run([tool, "build", "--quiet", "-f", FILE, "-t", IMAGE, ROOT], check=True, timeout=3000)
    command = [tool, "run", "--rm", IMAGE, "gre-bench", "demo", "--no-prefect", "--quiet"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0 and "reviewer-thorough leads" in found.stdout, found.stderr
    user = subprocess.run([tool, "run", "--rm", IMAGE, "id", "-u"], capture_output=True, text=True, timeout=60)
    assert user.stdout.strip() == "1000"
    torch = [tool, "run", "--rm", IMAGE, "python", "-c", "import transformers, torch"]
    assert "No module named 'torch'" in subprocess.run(torch, capture_output=True, text=True, timeout=120).stderr
