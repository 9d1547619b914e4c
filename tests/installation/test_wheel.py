"""The wheel in an environment of its own, called from a folder whose files bear names that the project uses too."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

EDITION = "SAMPLE-2026"
LINKS = ("constraints.txt", "data", "deployments", "flows", "sql", "tasks")
TRAP = "raise RuntimeError('a file of the user was imported')\n"


@dataclass(frozen=True, slots=True)
class Installed:
    wheel: Path
    program: Path
    folder: Path

    def call(self, *words: str | Path) -> str:
        """What a command shows in the user's folder; it ends with 0 and says nothing of an error."""
        found = subprocess.run(words, cwd=self.folder, env=plain(), text=True, capture_output=True, timeout=500)
        assert (found.returncode, found.stderr) == (0, ""), found.stderr + found.stdout
        assert "Traceback" not in found.stdout
        return found.stdout


def plain() -> dict[str, str]:
    """The environment without what points to the checkout or to the environment of the tests."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    """The wheel, installed without its dependencies: the environment finds those of the tests through a .pth file."""
    place = tmp_path_factory.mktemp("installation")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(place / "wheel")]
    source = copied(place / "source")
    subprocess.run([*pip, *build, str(source)], check=True, timeout=300)
    (wheel,) = (place / "wheel").glob("*.whl")
    venv.create(place / "environment", symlinks=True)
    python = place / "environment" / "bin" / "python"
    install = ["--python", str(python), "install", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run([*pip, *install], check=True, timeout=300, env=plain())
    found = subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[0])"], text=True)
    # A line of a .pth file adds a folder, and does not run the .pth files there: an editable install stays unseen.
    Path(found.strip(), "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    folder = place / "user"
    folder.mkdir()
    for name in ("tasks.py", "flows.py", "data.py", "sql.py", "tests.py"):
        (folder / name).write_text(TRAP)
    return Installed(wheel, place / "environment" / "bin" / "gre-bench", folder)


def copied(to: Path) -> Path:
    """The tracked files and those that are to be: a build in the checkout itself would leave its folders there."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path, new = ROOT / name, to / name
        if not path.is_symlink() and not path.is_file():
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            new.symlink_to(path.readlink())
        else:
            new.write_bytes(path.read_bytes())
    return to


def test_the_wheel_brings_one_name_and_every_file_of_the_package(installed):
    names = {name for name in zipfile.ZipFile(installed.wheel).namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"gre_bench"}
    tracked = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
    ).splitlines()
    package = {name.removeprefix("gre_bench/") for name in tracked if name.split("/")[0] in ("gre_bench", *LINKS)}
    assert {name.removeprefix("gre_bench/") for name in names} == package - set(LINKS) | {"constraints.txt"}


COMMANDS = {
    ("refresh", "--settings", "demo", "--no-prefect"): "done: 0 pairs scored now",
    ("plan", "ICLR", "2025", "--settings", "gpu"): "fetch: 300 PDFs",
    ("compare", "--published", "table6", "--published", "table7"): "Spearman",
    ("compare", EDITION, "--published", "table6"): "left out of SAMPLE-2026",
    ("publish", EDITION): "index.html",
    ("doctor",): "SAMPLE-2026 can be read",
    ("models", "list"): "smollm",
    ("sql", EDITION, "from leaderboard"): "extractive-full",
    ("why", EDITION, "extractive-full", "--metric", "gem"): "extractive-full",
    ("refresh", "--settings", "nobody"): "error: no settings file nobody; known: ",
}
ONE_AFTER_THE_OTHER = """
import json, sys
from gre_bench.cli import app
for command in json.loads(sys.argv[1]):
    sys.stderr = sys.stdout if "nobody" in command else sys.stderr
    sys.argv = ["gre-bench", *command]
    try:
        app.main()
    except SystemExit as end:
        assert (end.code or 0) == (2 if "nobody" in command else 0), (command, end.code)
    print(sys.argv, "ended", flush=True)
"""


@pytest.mark.parametrize(
    "engine",
    [pytest.param((), id="prefect", marks=pytest.mark.night), pytest.param(("--no-prefect",), id="no-prefect")],
)
def test_the_demo_and_every_command_need_nothing_but_the_installation_and_work_from_anywhere(installed, engine):
    shutil.rmtree(installed.folder / "state", ignore_errors=True)
    shown = installed.call(installed.program, "demo", *engine)
    assert f"{EDITION} · GEM-S (abstract) in nats · 30 papers" in shown
    assert "reviewer-thorough leads, ahead of reviewer-hasty (p <0.001)" in shown
    # The records of validations come along, and signatures are those of a checkout.
    assert "validated on ICLR-2023" in shown
    assert "gre-bench rank REVIEWS.csv --edition SAMPLE-2026 --as NAME" in shown
    # In one process: a start of Python for each would take longer than all of them.
    python = installed.program.parent / "python"
    rest = installed.call(python, "-P", "-c", ONE_AFTER_THE_OTHER, json.dumps(list(COMMANDS)))
    for command, expected in COMMANDS.items():
        shown, ended, rest = rest.partition(f"{['gre-bench', *command]} ended\n")
        assert ended and expected.lower() in shown.lower(), command


@pytest.mark.night
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("words", [("uvx", "--from"), ("pipx", "run", "--spec")], ids=("uvx", "pipx"))
def test_one_line_runs_the_wheel_in_a_home_that_holds_nothing(installed, tmp_path, words):
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not on this machine")
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [*words, str(installed.wheel), "gre-bench", "demo", "--no-prefect"]
    found = subprocess.run(
        command, cwd=tmp_path, env=plain() | home, text=True, capture_output=True, timeout=3000
    )  # fmt: skip
    assert found.returncode == 0 and "reviewer-thorough leads" in found.stdout, found.stderr[-2000:]
    assert (tmp_path / "state" / "editions" / EDITION).is_dir()
