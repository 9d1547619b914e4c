"""To add something touches as few files as docs/extending says: each is added to a copy of the tree, and is then used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SIXTEEN

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
METRIC = '''
"""The share of the reference's distinct words that the candidate's text has too."""

from collections.abc import Sequence

from gre_bench.metrics.overlap import Measure


def recalled(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """A share, 0 to 1."""
    return len(set(candidate) & set(reference)) / len(set(reference))


RECALL = Measure("word_recall", True, str.split, recalled, "distinct words between blanks")
'''
RECIPE = """
        Recipe("word_recall", "Word recall", "review", asks="nothing", unit="share", measure="word_recall:RECALL"),
"""
BACKEND = '''
"""An evaluation LM that gives every word of a reply the probability 1/e."""

from collections.abc import Sequence

from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob


class EvenLM:
    identity = LMIdentity("even", "0" * 64, "even-1")

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob]:
        counts = [len(prediction.reply.split()) for prediction in predictions]
        return [SpanLogprob(-float(count), tuple(range(count)), (-1.0,) * count) for count in counts]
'''
OPENER = """
def _even(_: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.backends.even import EvenLM

    return EvenLM()
"""
PROMPT = """
source = "an example"
kind = "own"
note = "An example."
fields = ["review"]
system = "Be brief."
user = "Shorten this review: {review}"
"""
USE = """
import json, sys
from pathlib import Path
import gre_bench
from gre_bench.catalogs import models
from gre_bench.core import settings
from gre_bench.flows.annual_refresh import refresh
from gre_bench.ingest.records.venues import venue_of
from gre_bench.pipeline.runs.job import Job
from gre_bench.prompts.library import fill
from gre_bench.store import Store
from gre_bench.tasks import steps

chosen = settings.load(Path("tests/given_judgments.toml"), (
    "edition.papers=4", "evaluation_lm.backend=even", "scoring.metrics=['gem', 'word_recall']"))
summary = refresh(Job(chosen, Path("state")), steps.undecorated())
rows = Store(Path("state"), "SAMPLE-2026").query("select metric, candidate, score, unranked from leaderboard")[1]
print(json.dumps({
    "package": gre_bench.__file__,
    "model": models.load()["added-model"].endpoint,
    "venue": venue_of("ADDED", 2031).group,
    "prompt": fill("shorten", review="Too long.").user,
    "outcome": summary["outcome"],
    "board": rows,
}, default=str))
"""


def appended(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def inserted(path: Path, after: str, line: str) -> None:
    text = path.read_text()
    assert text.count(after) == 1, (path, after)
    path.write_text(text.replace(after, after + line.strip("\n") + "\n"))


def files(tree: Path) -> dict[str, tuple[int, int]]:
    """Size and time of the last change, of every file."""
    return {
        str(path.relative_to(tree)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.is_symlink()
    }


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """What a copy of the tree says once all five are added, and the files that each addition touched."""
    tree = tmp_path_factory.mktemp("tree")
    leave = shutil.ignore_patterns("__pycache__", "evaluation_lm")
    for name in ("gre_bench", "flows", "tasks", "sql", "data", "deployments"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=leave)
    shutil.copyfile(ROOT / "constraints.txt", tree / "constraints.txt")
    shutil.copytree(SIXTEEN, tree / "fixtures" / "sixteen")
    package, touched = tree / "gre_bench", {}

    def touching(what, *changes):
        before = files(tree)
        for change, *given in changes:
            change(*given)
        after = files(tree)
        touched[what] = sorted(name for name in after if before.get(name) != after[name])

    def new(path, text):
        path.write_text(text.lstrip("\n"))

    touching("model", (appended, tree / "data" / "models.toml", MODEL))
    touching("venue", (appended, tree / "data" / "venues.toml", VENUE))
    touching(
        "metric",
        (new, package / "metrics" / "word_recall.py", METRIC),
        (inserted, package / "core" / "metrics.py", "    for given in (\n", RECIPE),
    )
    lm_catalog = package / "lm" / "catalog.py"
    touching(
        "backend",
        (new, package / "lm" / "backends" / "even.py", BACKEND),
        (inserted, lm_catalog, "from gre_bench.lm.protocol import EvaluationLM\n", OPENER),
        (inserted, lm_catalog, '    "cache-ngram": _cache_ngram,\n', '    "even": _even,'),
    )
    touching("prompt", (new, package / "prompts" / "shorten.toml", PROMPT))
    (tree / "tests").mkdir()
    toml = (ROOT / "tests" / "flows" / "given_judgments.toml").read_text().replace("../../data", "../data")
    (tree / "tests" / "given_judgments.toml").write_text(toml)
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", USE], cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["package"].startswith(str(tree))
    return said, touched


@pytest.mark.parametrize(("what", "count"), [("model", 1), ("venue", 1), ("metric", 2), ("backend", 2), ("prompt", 1)])
def test_an_addition_touches_as_many_files_as_is_said(added, what, count):
    _, touched = added
    assert len(touched[what]) == count, touched[what]


def test_what_was_added_is_listed_known_and_filled_in(added):
    said, _ = added
    assert said["model"] == "http://127.0.0.1:8000/v1"
    assert said["venue"] == "Added.cc/2031/Conference"
    assert said["prompt"] == "Shorten this review: Too long."


def test_an_added_metric_and_an_added_backend_score_the_sample(added):
    said, _ = added
    assert said["outcome"] == "done"
    of = {(row["metric"], row["candidate"]): row["score"] for row in said["board"]}
    assert 0 < of["word_recall", "human"] < 1
    # What the LM says of a reply never depends on the first review: GEM is 0.
    assert of["gem", "human"] == 0
