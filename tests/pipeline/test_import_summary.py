"""What an import says of the judgments that a writer makes of a candidate's reviews, and the flag on its board."""

from __future__ import annotations

import json
import re

from tests.cli.calling import call, shown
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, add_reviews, query, refreshed, reviews_by, run, use, with_papers_read
from tests.scripted_lms import OverlapLM

BY_RULE = ("--settings", ROOT / "tests" / "flows" / "notes_and_pdfs.toml")
TERSE = "The method is sound. However, the evaluation is weak."


def file_of(tmp_path, review: str, **more: str):
    file = tmp_path / "mine.jsonl"
    rows = [{"paper_id": f"s{n:02d}", "candidate": "terse", "review": review, **more} for n in range(1, 17)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def bring(tmp_path, review: str, state=None, **more: str) -> tuple[int, str, str]:
    state = state or with_papers_read(tmp_path / "state")
    return call("import", "reviews", file_of(tmp_path, review, **more), "--edition", EDITION, "--state", state)


def test_an_import_describes_the_judgments_by_rule_against_the_humans_and_warns_of_few(tmp_path):
    code, out, err = bring(tmp_path, TERSE)
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("terse: "))
    assert "in 16 of 16 reviews" in line and "judgments a review: 2 (human" in line and "words kept: " in line
    assert "such as: The reviewer " in line
    assert "terse: fewer than half of the humans' judgments a review" in err
    assert query(tmp_path / "state", "select count(*) from judgments") == [(0,)], "nothing is written by an import"


def test_a_review_in_which_nothing_is_judged_says_so(tmp_path):
    code, out, _ = bring(tmp_path, "Hello.")
    assert code == 0 and "terse: rule-judgments-" in out and "finds no judgment in 16 reviews" in out


def test_judgments_that_come_with_reviews_are_described_as_they_are(tmp_path):
    code, out, err = bring(tmp_path, TERSE, judgments="The reviewer appreciates the sound method.", writer="somebody")
    assert code == 0 and "somebody finds judgments in 16 of 16 reviews; judgments a review: 1;" in out
    assert "fewer than half" not in err, "no human review has judgments by somebody"


def test_where_an_lm_writes_nothing_is_bought_to_be_described(tmp_path):
    state = refreshed(tmp_path / "state")
    with_settings = json.dumps({"writing": {"judgments": "some-model"}})
    query(state, f"update runs set settings = '{with_settings}' where command = 'refresh'")
    code, out, _ = bring(tmp_path, TERSE, state)
    assert code == 0 and f"judgments: some-model writes them when {EDITION} is refreshed" in out


def test_the_board_flags_a_candidate_with_few_judgments_and_names_the_writer(tmp_path, monkeypatch):
    """Two judgments a review where the human reviews of the sample have twelve."""
    use(OverlapLM())
    state = refreshed(tmp_path / "state")
    add_reviews(state, reviews_by("terse"))
    run(state, 'scoring.metrics=["gem"]')
    few = dict(query(state, "select candidate, few_lines from leaderboard where metric = 'gem'"))
    assert (few["terse"], few["human"]) == (True, False)
    for width in (60, 80, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        words = " ".join(shown("leaderboard", EDITION, "--state", state)[1].split())
        assert re.search(r"few judgments \(\d+, human \d+\)", words)
    told = shown("leaderboard", EDITION, "--state", state, "--details")[1]
    assert "terse, a judgment by sample-author: The reviewer appreciates the experiments of paper" in told
