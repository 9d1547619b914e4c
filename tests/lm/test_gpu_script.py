"""The command lines of the scripts in `tests/gpu`: each is one that the program accepts. The steps themselves need minutes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

# Takes the place of Python in the script: parses a command's options, but does not run it.
PARSER = f"""#!{sys.executable}
import sys
import typer
words = sys.argv[1:]
if words[:2] == ["-m", "gre_bench.cli.app"]:
    from gre_bench.cli.app import app
    command, rest = typer.main.get_command(app), words[2:]
    while rest and rest[0] in getattr(command, "commands", {{}}):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(command.name, rest)
    if "--set" in words:
        from gre_bench.tuning.settings import load
        load(None, tuple(value for key, value in zip(words, words[1:]) if key == "--set")) if "tune" in words else None
    print(" ".join(words[2:5]), file=open("LOG", "a"))
elif words[:2] == ["-m", "tests.gpu.mean"]:
    print("mean", *words[2:], file=open("LOG", "a"))
elif words[:1] == ["-c"]:
    sys.exit(1)  # no CUDA device
elif words[:1] == ["tests/gpu/table.py"] and words[1] != "--judgments":
    sys.exit(any(line.split()[1] not in ("0", "skipped") for line in open(words[1] + "/steps")))
"""


def asked_by(script: str, folder: Path, *arguments: Path) -> list[str]:
    """Runs *script* with a Python that only parses its commands; returns these."""
    parser = folder / "python"
    parser.write_text(PARSER.replace("LOG", str(folder / "log")))
    parser.chmod(parser.stat().st_mode | stat.S_IXUSR)
    command = ["bash", str(ROOT / "tests" / "gpu" / script), *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | {"PYTHON": str(parser)}, capture_output=True, text=True)
    problems = [path.read_text() for path in (folder / "out").glob("*.err")]
    assert done.returncode == 0, (done.stdout, done.stderr, problems)
    return (folder / "log").read_text().splitlines()


def test_every_command_that_proves_a_gpu_is_one_of_the_program(tmp_path: Path):
    assert asked_by("prove.sh", tmp_path, tmp_path / "out") == [
        "models bench scoring", "models where smollm2-135m", "models bench scoring", "models tune lm",
    ]  # fmt: skip


def test_the_adapter_is_trained_in_two_stages_and_is_the_mean_of_both(tmp_path: Path):
    (never := tmp_path / "never").mkdir()
    for name in ("a.notes.jsonl.gz", "b.papers.jsonl"):
        (never / name).touch()
    out = tmp_path / "out"
    assert asked_by("train.sh", tmp_path, tmp_path, never, out) == [
        "models tune lm", "models tune lm", f"mean {out}-1 {out}-2 0.5 {out}",
    ]  # fmt: skip
