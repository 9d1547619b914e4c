"""``gre-bench study known-answers`` as a user runs it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gre_bench.cli import app
from gre_bench.cli.commands.known_answers import _is_right
from gre_bench.core.errors import SettingsError
from gre_bench.studies import known_answers as flow
from gre_bench.studies.known_answers import Lesson, learning_curve, taught


@pytest.fixture
def short_lessons(monkeypatch):
    """Two sizes instead of ten, three simulations, both kinds of LM."""
    monkeypatch.setattr(flow, "COUNTED_PAPERS", (30, 1000))
    monkeypatch.setattr(flow, "COUNTED_SIMULATIONS", 3)
    monkeypatch.setattr(flow, "NGRAM_PAPERS", (60,))
    monkeypatch.setattr(flow, "NGRAM_SIMULATIONS", 1)


def test_tables_a_picture_and_a_file_are_made(tmp_path, short_lessons):
    pytest.importorskip("altair")
    counts = ("--simulations", "10", "--papers", "20", "--processes", "1")
    done = CliRunner().invoke(app.app, ["study", "known-answers", *counts, "--out", str(tmp_path / "k")])
    assert done.exit_code == 0, done.output
    for words in ("Exact evaluation LM", "Coverage", "Order", "Learnt LMs", "cache-ngram"):
        assert words in done.stdout
    found = json.loads((tmp_path / "k" / "known-answers.json").read_text())
    assert found["simulations"] == 10 and len(found["coverage"]) == 10 and len(found["ordering"]) == 6
    assert {(row["metric"], row["lm"], row["papers"]) for row in found["bias"]} == {
        (metric, lm, papers)
        for metric in ("gem", "gem_s_abstract")
        for lm, papers in (("counted", 30), ("counted", 1000), ("cache-ngram", 60))
    }
    picture = (tmp_path / "k" / "bias.svg").read_text()
    assert picture.startswith("<svg") and "papers to learn from" in picture and "counted" in picture


def test_processes_and_order_of_work_do_not_change_a_number(monkeypatch):
    monkeypatch.setattr(flow, "CHUNK", 2)
    alone = flow.known_answers(simulations=8, papers=20, seed=3, processes=1, learn=False)
    assert flow.known_answers(simulations=8, papers=20, seed=3, processes=2, learn=False) == alone
    assert flow.known_answers(simulations=8, papers=20, seed=4, processes=1, learn=False) != alone


def test_more_papers_teach_more_and_rows_say_of_what_bias_consists(short_lessons):
    rows = [row for seed in range(3) for papers in (100, 3000) for row in taught(Lesson("counted", papers, seed))]
    curve = {(row["metric"], row["papers"]): row for row in learning_curve(rows)}
    for metric in ("gem", "gem_s_abstract"):
        few, many = curve[metric, 100], curve[metric, 3000]
        assert few["mean"] < 4 * many["mean"] < 0
        assert few["mean"] == pytest.approx(few["marginal_error"] - few["conditional_error"])
        assert few["least"] <= few["mean"] <= few["largest"] and few["simulations"] == 3


def test_an_lm_that_cannot_be_taught_is_a_row_with_its_reason():
    rows = taught(Lesson("cache-ngram", 2, 0))
    assert len(rows) == 2 and all("training needs at least 2 papers" in row["failed"] for row in rows)
    row = learning_curve(rows)[0]
    assert (row["simulations"], row["failed"], row["mean"]) == (0, 1, None) and row["reason"]


def test_a_wrong_answer_is_exit_code_1_and_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    good = {"exactness": [{"holds": True}], "ordering": [{"holds": True}], "coverage": [], "chance": []}
    assert _is_right(good | {"coverage": [{"interval": "flat", "verdict": "outside"}]})
    assert not _is_right(good | {"coverage": [{"interval": "by paper", "verdict": "outside"}]})
    assert not _is_right(good | {"ordering": [{"holds": False}]})
    assert not _is_right(good | {"exactness": [{"holds": False}]})
    (path := tmp_path / "x").touch()
    done = CliRunner().invoke(app.app, ["study", "known-answers", "--simulations", "1", "--out", str(path)])
    assert isinstance(done.exception, SettingsError) and "is a file; name a folder" in str(done.exception)
