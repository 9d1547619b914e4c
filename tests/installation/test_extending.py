"""A model and a venue take one entry each, as docs/extending says: both are added to a copy of the tree, and are then known.

What packages add is tested where docs/extending runs (`tests/docs`), and in `tests/core/test_extensions.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

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
import gre_bench
from gre_bench.catalogs import models
from gre_bench.ingest.records.venues import find_venue_entry
print(gre_bench.__file__)
print(models.load()["added-model"].endpoint, find_venue_entry("ADDED", 2031).group)
"""


def test_a_model_and_a_venue_are_known_by_one_entry_each(tmp_path):
    leave = shutil.ignore_patterns("__pycache__", "evaluation_lm")
    for name in ("gre_bench", "flows", "tasks", "sql", "data", "deployments"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=leave)
    shutil.copyfile(ROOT / "constraints.txt", tmp_path / "constraints.txt")
    for name, entry in (("models", MODEL), ("venues", VENUE)):
        with (tmp_path / "data" / f"{name}.toml").open("a") as file:
            file.write(entry)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    package, known = done.stdout.splitlines()
    assert package.startswith(str(tmp_path))
    assert known == "http://127.0.0.1:8000/v1 Added.cc/2031/Conference"
