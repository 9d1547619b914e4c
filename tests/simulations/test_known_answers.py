"""The program that checks scoring against known answers: its tables, its processes and its learning curves."""

from __future__ import annotations

import pytest

from tests.simulations import known_answers as known
from tests.simulations.known_answers import Lesson, is_right, known_answers, learning_curve, taught


@pytest.fixture
def short_lessons(monkeypatch):
    """Two sizes instead of ten, three simulations, both kinds of LM."""
    monkeypatch.setattr(known, "COUNTED_PAPERS", (30, 1000))
    monkeypatch.setattr(known, "COUNTED_SIMULATIONS", 3)
    monkeypatch.setattr(known, "NGRAM_PAPERS", (60,))
    monkeypatch.setattr(known, "NGRAM_SIMULATIONS", 1)


def test_a_table_for_each_question_is_printed_and_the_exit_code_says_whether_all_is_right(capsys, short_lessons):
    with pytest.raises(SystemExit) as ended:
        known.main(["--simulations", "10", "--papers", "20", "--processes", "1"])
    told = capsys.readouterr().out
    assert ended.value.code == 0, told
    for words in ("Exact evaluation LM", "Coverage", "Order", "Chance", "Trained LMs", "cache-ngram"):
        assert words in told


def test_processes_and_order_of_work_do_not_change_a_number(monkeypatch):
    monkeypatch.setattr(known, "CHUNK", 2)
    alone = known_answers(simulations=8, papers=20, seed=3, processes=1, learn=False)
    assert known_answers(simulations=8, papers=20, seed=3, processes=2, learn=False) == alone
    assert known_answers(simulations=8, papers=20, seed=4, processes=1, learn=False) != alone


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


def test_only_the_flat_interval_may_miss_its_level():
    good = {"exactness": [{"holds": True}], "ordering": [{"holds": True}], "coverage": [], "chance": []}
    assert is_right(good | {"coverage": [{"interval": "flat", "verdict": "outside"}]})
    assert not is_right(good | {"coverage": [{"interval": "by paper", "verdict": "outside"}]})
    assert not is_right(good | {"ordering": [{"holds": False}]})
    assert not is_right(good | {"exactness": [{"holds": False}]})
    assert not is_right(good | {"chance": [{"verdict": "outside"}]})
