"""Any examiner is a metric: examiners, LMExaminer and GEM meet in one validation, over real HTTP."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from gre_bench.cli.views.study_screens import show_validation
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import locate_resource
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validating import validate
from gre_bench.tasks import steps
from gre_bench.tasks.backends import Backends
from gre_bench.writing import http_writer
from gre_bench.writing.writers import WriterContext
from tests.cli.calling import shown
from tests.flows.refreshing import query, use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat, written
from tests.servers.scripted_examiner import examiner, logprobs_of

MODELS = '[[model]]\nname = "grader"\nendpoint = "{url}"\nmodel = "{model}"\n'

STUDY = """
[edition]
papers = 6
{demo}
[writing]
judgments = "rule"
models = "models.toml"

[evaluation_lm]
backend = "scripted"

[validation]
perturbations = ["sentence_deletion", "concatenation", "generic"]
resamples = 400

[scoring]
metrics = ["gem", "lm_examiner", "examiner.fine", "examiner.weighed", "examiner.p1", "length"]
examiner = "grader"

[scoring.examiners.fine]
template = "human"
granularity = "fine"

[scoring.examiners.weighed]
template = "human"
aggregation = "logprob"

[scoring.examiners.p1]
template = "p1"
"""
BODY = " ".join(
    f"We show that method {n} improves the accuracy by {n} points, although it is limited to small data."
    for n in range(2, 22)
)
METRICS = ["gem", "lm_examiner", "examiner.fine", "examiner.weighed", "examiner.p1", "length"]


@pytest.fixture(autouse=True)
def scripted(monkeypatch):
    monkeypatch.setattr(http_writer, "RetryPolicy", partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01))
    use(OverlapLM())


def sentences(prompt):
    """How much the review says that a prompt shows last, as a quality: a point for each of 40 sentences."""
    return min(1.0, len(re.findall(r"[.!?]", re.split(r"Review:|\[Review\]", prompt)[-1])) / 40)


def grader(body):
    """LMExaminer's answer to LMExaminer's prompt, a score of the scale to every other one."""
    if body.get("logprobs"):
        return shares(body)[0]["token"]
    system = next((item["content"] for item in body["messages"] if item["role"] == "system"), "")
    return written(body) if "<overall_score>" in system else examiner(quality=sentences)(body)


def shares(body):
    """Log-probabilities that move from 1 to 5 with the quality."""
    high = 0.05 + 0.8 * sentences(body["messages"][-1]["content"])
    return logprobs_of({"1": 0.9 - high, "5": high, "3": 0.1})(body)


@pytest.fixture
def study(tmp_path):
    """Writes the settings and the models file of a validation that asks the server; the settings' file."""

    def write(server, text=STUDY):
        (tmp_path / "models.toml").write_text(MODELS.format(url=server.url, model=MODEL))
        notes = locate_resource("data", "sample", "notes.jsonl")
        papers = {json.loads(line)["forum"] for line in notes.read_text().splitlines()}
        texts = [json.dumps({"paper_id": name, "text": "1 Introduction\n\n" + BODY}) for name in sorted(papers)]
        (tmp_path / "texts.jsonl").write_text("\n".join(texts) + "\n")
        sources = f'\n[sources]\nnotes = "{notes}"\ntexts = "texts.jsonl"\n'
        (tmp_path / "study.toml").write_text(text.format(demo=sources))
        return tmp_path / "study.toml"

    return write


def sign(chosen, scoring, folder):
    """The signatures of the metrics of *scoring*, as a run makes them before it asks anything."""
    backends = Backends(
        chosen.evaluation_lm, chosen.embedder, WriterContext(folder / "replies", folder / "models.toml")
    )
    return steps.sign_metrics(backends, scoring, "rule")[1]


def test_examiners_lm_examiner_and_gem_are_validated_in_one_table(study, tmp_path, capsys):
    with scripted_chat(write=grader, logprobs=shares) as server:
        file = study(server)
        where = ("--settings", file, "--state", tmp_path / "state")
        code, told = shown("study", "validate", *where, "--no-prefect", "--json")
        assert code == 0, told
        asked, summary = server.count, json.loads(told)
        again = validate(Job(settings.load(file), tmp_path / "state"))
        assert server.count == asked
    assert summary["outcome"] == again["outcome"] == "done"
    assert sorted(row["metric"] for row in summary["metrics"]) == sorted(METRICS)
    assert all(row["missing"] == row["failed"] == 0 and row["scored"] for row in summary["metrics"])
    effects = {(row["metric"], row["change"]): row for row in summary["effects"]}
    for metric in METRICS:
        assert effects[metric, "sentence_deletion"]["d"] < 0, metric
    # A review of its own paper once: no reference, so that its n is papers and not pairs.
    assert effects["examiner.fine", "sentence_deletion"]["pairs"] == 6 < effects["gem", "sentence_deletion"]["pairs"]
    assert {row["metric"] for row in summary["verdicts"]} == set(METRICS)
    show_validation(again)
    tables = capsys.readouterr().out
    assert "Examiner fine" in tables and "LMExaminer" in tables and "GEM" in tables


def test_the_scores_are_the_grades_that_the_server_gave_and_a_board_ranks_candidates_by_them(study, tmp_path):
    with scripted_chat(write=lambda body: "4") as server:
        file = study(server)
        chosen = settings.load(file, ('scoring.metrics=["examiner.fine", "examiner.p1"]',))
        summary = validate(Job(chosen, tmp_path / "state"))
        overrides = ('scoring.metrics=["examiner.p1"]', 'writing.candidates=["extractive-full"]')
        board = refresh(Job(settings.load(file, overrides), tmp_path / "board"))
    assert (summary["outcome"], board["outcome"]) == ("done", "done")
    assert all(row["missing"] == row["failed"] == 0 for row in summary["metrics"])
    values = "select distinct metric, value from pairs join signatures using (signature_id) where value is not null order by 1"
    assert query(tmp_path / "state", values) == [("examiner.fine", 4.0), ("examiner.p1", 4.0)]
    rows = query(tmp_path / "board", "select candidate, score from leaderboard where score is not null order by 1")
    assert rows == [("extractive-full", 4.0), ("human", 4.0), ("other-paper", 4.0)]


def test_examiners_that_differ_in_their_prompt_alone_are_signed_apart(study, tmp_path):
    with scripted_chat(write=grader) as server:
        file = study(server)
        trees = {
            "plain": {"template": "human"},
            "other": {"template": "human", "description": "expert"},
            "words": {"template": "human", "criteria": "ad"},
            "aggregated": {"template": "human", "aggregation": "approximation"},
        }
        chosen = settings.load(file)
        scoring = chosen.scoring.model_copy(
            update={"examiners": trees, "metrics": tuple(f"examiner.{name}" for name in trees)}
        )
        signed = sign(chosen, scoring, tmp_path)
        assert server.count == 0
    assert len({signature.signature_id for signature in signed.values()}) == 4
    # The name of the metric is a part of a signature: what else tells them apart is the digest of their prompts.
    assert len({signature.engine_version for signature in signed.values()}) == 4


@pytest.mark.parametrize(("old", "new", "why"), [
    ('template = "p1"', 'template = "p99"', "scoring.examiners.p1: no template 'p99'; known: "),
    ('template = "p1"', 'template = "p1"\nitem = "summary"', 'is for summaries: as a metric, set item = "review"'),
    ('template = "p1"', 'template = "p1"\nbinning = {{ method = "quantile" }}', "quantile bins depend on the other graded texts"),
    ('examiner = "grader"', "", "grading needs an LM: --set scoring.examiner=NAME; known: grader"),
    ('"examiner.p1"', '"examiner.nobody"', "no metric 'examiner.nobody'"),
])  # fmt: skip
def test_an_examiner_that_cannot_be_a_metric_is_refused_in_one_line_when_it_is_signed(study, tmp_path, old, new, why):
    with scripted_chat(write=grader) as server:
        file = study(server, STUDY.replace(old, new))
        with pytest.raises(SettingsError, match=re.escape(why)) as error:
            chosen = settings.load(file)
            sign(chosen, chosen.scoring, tmp_path)
        assert "\n" not in str(error.value) and server.count == 0
