"""A model and a venue take one entry each, as docs/extending says: both are added to a copy of the tree, and are then known.

What packages add is tested where docs/extending runs (`tests/docs`), and in `tests/core/test_extensions.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MODEL = """
[[model]]
name = "added-model"
endpoint = "http://127.0.0.1:8000/v1"
model = "added/model"
"""
VENUE = """
[[venue]]
venue = "ADDED"
year = 2031
api = 2
host = "https://api2.openreview.net"
group = "Added.cc/2031/Conference"
submissions = ["Submission"]
withdrawn = ["Withdrawn_Submission"]
desk_rejected = ["Desk_Rejected_Submission"]
reviews = ["Official_Review"]
decisions = ["Decision"]
decision = "decision"
other_replies = ["Official_Comment"]
status = "venueid"
kept = [""]
text = [["review", ""]]
rating = "rating"
rating_scale = [1, 2, 3, 4, 5]
confidence = "confidence"
confidence_scale = [1, 2, 3]
evidence = "documented"
note = "An example."
"""
USE = """
import json
import gre_bench
from gre_bench.catalogs import models
from gre_bench.ingest.records.venues import venue_of
print(json.dumps({
    "package": gre_bench.__file__,
    "model": models.load()["added-model"].endpoint,
    "venue": venue_of("ADDED", 2031).group,
}))
"""


def appended(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def files(tree: Path) -> dict[str, tuple[int, int]]:
    """Size and time of the last change, of every file."""
    return {
        str(path.relative_to(tree)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.is_symlink()
    }


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """What a copy of the tree says once both are added, and the files that each addition touched."""
    tree = tmp_path_factory.mktemp("tree")
    leave = shutil.ignore_patterns("__pycache__", "evaluation_lm")
    for name in ("gre_bench", "flows", "tasks", "sql", "data", "deployments"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=leave)
    shutil.copyfile(ROOT / "constraints.txt", tree / "constraints.txt")
    touched = {}

    def touching(what, *changes):
        before = files(tree)
        for change, *given in changes:
            change(*given)
        after = files(tree)
        touched[what] = sorted(name for name in after if before.get(name) != after[name])

    touching("model", (appended, tree / "data" / "models.toml", MODEL))
    touching("venue", (appended, tree / "data" / "venues.toml", VENUE))
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", USE], cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["package"].startswith(str(tree))
    return said, touched


@pytest.mark.parametrize("what", ["model", "venue"])
def test_an_addition_touches_one_file(added, what):
    _, touched = added
    assert len(touched[what]) == 1, touched[what]


def test_what_was_added_is_known(added):
    said, _ = added
    assert said["model"] == "http://127.0.0.1:8000/v1"
    assert said["venue"] == "Added.cc/2031/Conference"
