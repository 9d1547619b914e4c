"""The command lines of the scripts in `tests/gpu`: each is one that the program accepts. The steps themselves need minutes."""

from __future__ import annotations

import os
import subprocess
from itertools import pairwise
from pathlib import Path

import typer.main

from gre_bench.cli.app import app
from gre_bench.tuning.tuning_settings import load
from tests.conftest import ROOT

# Takes the place of Python in the script: writes down what it is asked for, and finds no CUDA device.
WRITER = """#!/bin/sh
if [ "$1" = -c ]; then exit 1; fi
if [ "$1" = -m ]; then printf '%s\\0' "$@" >>LOG && echo >>LOG; fi
"""


def asked_by(script: str, folder: Path, *arguments: Path) -> list[str]:
    """Runs *script* with what writes down the commands for Python, and parses each; returns their first words."""
    log, python = folder / "log", folder / "python"
    python.write_text(WRITER.replace("LOG", str(log)))
    python.chmod(0o755)
    command = ["bash", str(ROOT / "tests" / "gpu" / script), *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | {"PYTHON": str(python)}, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    asked = []
    for line in log.read_text().splitlines():
        _, module, *words = line.rstrip("\0").split("\0")
        asked.append(" ".join(words[:3] if module == "gre_bench.cli.app" else [module, *words]))
        if module == "gre_bench.cli.app":
            tree, rest = typer.main.get_command(app), words
            while rest and rest[0] in getattr(tree, "commands", {}):
                tree, rest = tree.commands[rest[0]], rest[1:]
            tree.make_context(tree.name, list(rest))
            if "tune" in words:
                load(None, tuple(value for key, value in pairwise(words) if key == "--set"))
    return asked


def test_every_command_that_proves_a_gpu_is_one_of_the_program(tmp_path: Path):
    assert asked_by("prove.sh", tmp_path, tmp_path / "out") == [
        "tests.gpu.random_model 60m cpu bfloat16 3 1", "models where smollm2-135m", "models bench scoring", "models tune lm",
    ]  # fmt: skip
    steps = [line.split()[:2] for line in (tmp_path / "out" / "steps").read_text().splitlines()]
    assert steps == [["kernels", "skipped"], ["random", "0"], ["smollm2", "0"], ["training", "0"]]


def test_the_adapter_is_trained_in_two_stages_and_is_the_mean_of_both(tmp_path: Path):
    (never := tmp_path / "never").mkdir()
    for name in ("a.notes.jsonl.gz", "b.papers.jsonl"):
        (never / name).touch()
    out = tmp_path / "out"
    assert asked_by("train.sh", tmp_path, tmp_path, never, out) == [
        "models tune lm", "models tune lm", f"tests.gpu.mean {out}-1 {out}-2 0.5 {out}",
    ]  # fmt: skip
