"""What a year's release leaves out is said before anything is paid, by every command that plans, and in one way."""

from __future__ import annotations

import json
import shutil

import pytest

from gre_bench.core.records import Signature
from gre_bench.core.settings import load
from gre_bench.pipeline import validation_records
from gre_bench.pipeline.validation_records import format_gate_decision, predict_verdicts, read_verdicts
from tests.cli.calling import shown
from tests.flows.making_boards import records

DEMO = ("--settings", "demo")
METRICS = ("--set", "scoring.metrics=['gem','gem_s_abstract','gem_raw']", "--set", "edition.papers=4")
LINES = (
    "gem: fail (passes 1 of 2 changes on 289 papers; not abstract_only (fail), on ICLR-2020); gre-bench year leaves its "
    "board out of the release",
    "gem_s_abstract: undecided (passes 1 of 2 changes on 289 papers; not abstract_only (undecided), on ICLR-2020); "
    "gre-bench year publishes its board, marked as unvalidated",
    "gem_raw: no validation known with this evaluation LM and writer; gre-bench year validates it before it publishes",
)


@pytest.fixture(autouse=True)
def known(tmp_path, monkeypatch):
    """The folder of the records that ship, of one edition."""
    folder = records(tmp_path / "shipped", "ICLR-2020", {"gem": "fail", "gem_s_abstract": "undecided"})
    monkeypatch.setattr(validation_records, "SHIPPED", folder)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("year", "SAMPLE", "--roster", "yearly", "--year", "2026", "--dry-run",
         "--set", "evaluation_lm.backend=cache-ngram"),
        ("plan", "SAMPLE", "2026", *DEMO),
        ("refresh", "--dry-run", "--no-prefect", *DEMO),
        ("doctor", *DEMO),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_each_command_that_plans_says_which_metric_fails_is_undecided_or_has_no_record(tmp_path, command):
    _, said = shown(*command, *METRICS, "--state", tmp_path / "state")
    said = " ".join(said.split())
    for line in LINES:
        assert line in said


@pytest.mark.parametrize(
    ("verdict", "unvalidated", "does"),
    [
        ("pass", "hide", "publishes its board"),
        ("pass", "refuse", "publishes its board"),
        ("undecided", "hide", "publishes its board, marked as unvalidated"),
        ("undecided", "refuse", "publishes its board, marked as unvalidated"),
        ("fail", "hide", "leaves its board out of the release"),
        ("fail", "show", "publishes its board, marked as unvalidated"),
        ("fail", "refuse", "publishes nothing"),
        ("missing", "hide", "validates it before it publishes"),
    ],
)
def test_a_verdict_means_one_thing_to_the_gate(verdict, unvalidated, does):
    settings = load(None, (f"release.unvalidated={unvalidated}",))
    assert format_gate_decision({"metric": "gem", "verdict": verdict, "detail": "why"}, settings).endswith(
        f"gre-bench year {does}"
    )


@pytest.mark.parametrize(
    ("override", "verdict"),
    [
        ("writing.judgments=rule", "fail"),
        ("writing.judgments=openai/gpt-4o", "missing"),
        ("scoring.writer=rule-judgments-1", "missing"),
        ("evaluation_lm.backend=gem-smollm2", "missing"),
        ("evaluation_lm.folder=Llama-3.1-8B-Instruct", "missing"),
    ],
)
def test_a_record_counts_for_its_evaluation_lm_and_writer_only(tmp_path, override, verdict):
    settings = load(None, ("writing.judgments=rule", override, "scoring.metrics=['gem']"))
    assert [row["verdict"] for row in predict_verdicts(settings, tmp_path)] == [verdict]


def test_what_is_expected_by_name_is_what_the_signature_says_and_no_record_is_said(tmp_path, known):
    settings = load(None, ("writing.judgments=rule", "scoring.metrics=['gem']"))
    board = [Signature(**json.loads(file.read_text())["signature"]) for file in known.rglob("*.json")]
    (failed,) = (row for row in read_verdicts(tmp_path, "ICLR-2025", board) if row["verdict"] == "fail")
    assert predict_verdicts(settings, tmp_path) == [{name: failed[name] for name in ("metric", "verdict", "detail")}]
    shutil.rmtree(known)
    assert [row["verdict"] for row in predict_verdicts(settings, tmp_path)] == ["missing"]
    assert {row["verdict"] for row in read_verdicts(tmp_path, "ICLR-2025", board)} == {"missing"}
