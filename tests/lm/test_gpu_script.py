"""The command lines of `tests/gpu/prove.sh`: each is one that the program accepts. The steps themselves need minutes."""

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
    print(" ".join(words[2:5]), file=open("LOG", "a"))
elif words[:1] == ["-c"]:
    sys.exit(1)  # no CUDA device
elif words[:1] == ["tests/gpu/table.py"] and words[1] != "--judgments":
    sys.exit(any(line.split()[1] not in ("0", "skipped") for line in open(words[1] + "/steps")))
"""


def test_every_command_of_the_script_is_one_of_the_program(tmp_path: Path):
    log = tmp_path / "log"
    parser = tmp_path / "python"
    parser.write_text(PARSER.replace("LOG", str(log)))
    parser.chmod(parser.stat().st_mode | stat.S_IXUSR)
    command = ["bash", str(ROOT / "tests" / "gpu" / "prove.sh"), str(tmp_path / "out")]
    done = subprocess.run(command, env=os.environ | {"PYTHON": str(parser)}, capture_output=True, text=True)
    problems = [path.read_text() for path in (tmp_path / "out").glob("*.err")]
    assert done.returncode == 0, (done.stdout, problems)
    assert log.read_text().splitlines() == [
        "models bench scoring", "models where smollm2-135m", "models bench scoring", "models tune lm",
    ]  # fmt: skip
