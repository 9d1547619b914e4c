"""The Python API: the example in its docstring, one score against the definition, boards of an edition and a release."""

from __future__ import annotations

import doctest
import math
import subprocess
import sys
import warnings

import pandas
import pytest

import gre_bench
from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.store import Store
from gre_bench.store.queries import SAMPLE
from tests.cli.calling import call
from tests.flows.refreshing import EDITION, run, use
from tests.scripted_lms import OverlapLM

HUMAN = ["The reviewer appreciates the clear proofs.", "The reviewer criticizes the missing baselines."]
MINE = "The reviewer appreciates the clear proofs."


def test_the_example_of_the_package_is_true():
    done = doctest.testmod(gre_bench)
    assert done.attempted >= 5 and done.failed == 0


def test_a_score_is_the_sum_of_what_each_token_gains():
    lm = gre_bench.open_lm()
    found = gre_bench.score(lm, MINE, HUMAN)
    assert found.nats == pytest.approx(math.fsum(found.conditional) - math.fsum(found.marginal), abs=1e-9)
    assert found.tokens is not None and "".join(found.tokens) == "\n".join(HUMAN)
    assert len(found.tokens) == len(found.conditional) == len(found.marginal)


def test_a_synopsis_takes_away_what_it_tells():
    lm = gre_bench.open_lm()
    alone, given = (gre_bench.score(lm, MINE, HUMAN, synopsis).nats for synopsis in (None, "\n".join(HUMAN)))
    assert given < alone


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no-such-lm", "no evaluation LM no-such-lm, and no such folder; known: .*gem-smollm2"),
        ("gem-smolm2", "did you mean gem-smollm2"),
        ("smollm2-135", "did you mean .*smollm2-135m"),
        ("", "a name or a folder, not ''; known: "),
        (None, "a name or a folder, not None"),
    ],
)
def test_a_name_that_is_no_evaluation_lm_is_refused(name, line):
    with pytest.raises(GreBenchError, match=line):
        gre_bench.open_lm(name)


def test_a_review_that_is_not_in_judgments_is_scored_with_a_warning():
    lm = gre_bench.open_lm()
    with pytest.warns(UserWarning, match="the candidate holds no judgment; .*gre_bench.judgments"):
        gre_bench.score(lm, "The proofs are clear.", HUMAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gre_bench.score(lm, MINE, HUMAN)


def test_errors_name_what_the_caller_gave_in_python(state, tmp_path):
    with pytest.raises(GreBenchError, match=r"demo makes it.*state=FOLDER"):
        gre_bench.leaderboard("SAMPLE-2026", state=tmp_path / "none")
    with pytest.raises(SettingsError, match="ICLR-1999"):
        gre_bench.leaderboard("ICLR-1999", state=tmp_path)
    frame = pandas.DataFrame({"key": ["s01"], "First": ["Clear. " * 20], "Second": ["Short. " * 20]})
    with pytest.raises(
        GreBenchError, match="^the data frame: .* which column holds the review: .*; use columns="
    ) as error:
        gre_bench.rank(frame, EDITION, "me", state=state)
    assert str(error.value).endswith("columns={'review': ['First', 'Second']}")
    columns = {"review": ["First", "Second"]}
    with pytest.raises(SettingsError, match="where key=.s99.: no row of the data frame has that; its values: s01"):
        gre_bench.rank(frame, EDITION, "me", columns=columns, where={"key": "s99"}, state=state)


def test_importing_the_package_imports_nothing_heavy():
    heavy = ["torch", "pandas", "duckdb", "prefect", "scipy", "numpy"]
    code = f"import sys, gre_bench; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    use(OverlapLM())
    state = tmp_path_factory.mktemp("api")
    run(state, "writing.judgments=rule", "scoring.metrics=['gem']", "scoring.chance=true")
    return state


def test_an_edition_and_its_release_have_the_same_board_and_pairs(state, monkeypatch):
    monkeypatch.chdir(state)
    assert call("publish", EDITION, "--state", state)[0] == 0
    board = gre_bench.leaderboard(EDITION, "gem", state)
    released = gre_bench.leaderboard(f"{EDITION}-r1", "gem", state)
    assert board["score"].tolist() == pytest.approx(released["score"].tolist(), rel=1e-12)
    assert board["candidate"].tolist() == released["candidate"].tolist()
    pairs = gre_bench.pairs(EDITION, "gem", "human", state)
    human = board["score"].tolist()[board["candidate"].tolist().index("human")]
    assert sum(pairs["score"].tolist()) / len(pairs) == pytest.approx(human)
    pandas.testing.assert_frame_equal(pairs, gre_bench.pairs(f"{EDITION}-r1", "gem", "human", state))
    for asked in (EDITION, f"{EDITION}-r1"):
        with pytest.raises(SettingsError, match="no scores of gem_raw; (known|did you mean)"):
            gre_bench.leaderboard(asked, "gem_raw", state)


def test_ones_own_reviews_are_ranked_from_a_frame(state):
    papers = list(dict.fromkeys(row["paper_id"] for row in Store(state, EDITION).read(SAMPLE)))
    reviews = pandas.DataFrame({
        "paper_id": papers,
        "review": [f"The method of paper {n} is sound. However, the evaluation {n} is weak." for n in range(len(papers))],
    })  # fmt: skip
    mine = gre_bench.rank(reviews, EDITION, "my-model", state=state)
    assert mine["candidate"].tolist() == ["my-model"]
    (own,) = (
        gre_bench.leaderboard(EDITION, "gem", state, details=True).query("candidate == 'my-model'").to_dict("records")
    )
    assert own["scored"] == own["planned"] > 0 and own["score"] == mine["score"].item()


def test_a_board_has_twenty_columns_and_shows_its_picture_in_a_notebook(state):
    board, whole = (
        gre_bench.leaderboard(EDITION, state=state),
        gre_bench.leaderboard(EDITION, state=state, details=True),
    )
    assert board.shape[1] <= 20 < whole.shape[1] and board.shape[0] == whole.shape[0]
    shown = board._repr_html_()
    assert shown.startswith("<svg") and "<table" in shown.rpartition("</svg>")[2]
    for name in board.query("metric == @board.metric[0]")["candidate"]:
        assert name in shown.rpartition("</svg>")[0]
    assert "<svg" not in board[["candidate", "score"]]._repr_html_() and "<svg" not in repr(board)


def test_papers_comparisons_removal_and_releases_are_those_of_the_commands(state):
    every = list(dict.fromkeys(row["paper_id"] for row in Store(state, EDITION).read(SAMPLE)))
    texts = [f"The method {n} is sound. However, the evaluation {n} is weak." for n in range(len(every))]
    gre_bench.rank(pandas.DataFrame({"paper_id": every, "review": texts}), EDITION, "ours", state=state)
    papers = gre_bench.why(EDITION, "ours", "gem", state)
    values = gre_bench.pairs(EDITION, "gem", "ours", state).groupby("paper_id")["score"].mean()
    assert dict(zip(papers["paper_id"], papers["score"], strict=True)) == pytest.approx(values.to_dict())
    assert papers["lead"].is_monotonic_decreasing
    (row,) = gre_bench.compare("ours", "human", EDITION, "gem", state).to_dict("records")
    assert row["difference"] == pytest.approx(papers["lead"].mean()) and row["won"] == (papers["lead"] > 0).sum()
    folder = gre_bench.publish(EDITION, state)
    assert (folder / "manifest.json").is_file() and gre_bench.publish(EDITION, state) == folder
    assert gre_bench.remove(EDITION, "ours", state)["reviews"] == len(papers)
    with pytest.raises(SettingsError, match="ours"):
        gre_bench.why(EDITION, "ours", "gem", state)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda lm: gre_bench.judgments(float("nan")), "a review is a text, not float"),
        (lambda lm: gre_bench.score(lm, None, "a"), "the candidate's judgments are one text or a list of texts, not NoneType"),
        (lambda lm: gre_bench.score(lm, "a", [None]), "the reference's judgments are one text or a list of texts"),
        (lambda lm: gre_bench.score("cache-ngram", "a", "b"), "is what open_lm returns, not str"),
        (lambda lm: gre_bench.score(lm, "", MINE), "blank"),
        (lambda lm: gre_bench.score(lm, MINE, []), "blank"),
        (lambda lm: gre_bench.score(lm, " \n", MINE), "blank"),
    ],
)  # fmt: skip
def test_what_is_no_text_or_lm_is_one_line(asked, said):
    with pytest.raises(SettingsError, match=said):
        asked(gre_bench.open_lm("cache-ngram"))


@pytest.mark.parametrize("name", ["human", "generic"])
def test_own_reviews_never_become_those_of_the_baseline_or_a_control(state, name):
    before = gre_bench.leaderboard(EDITION, state=state)
    paper = Store(state, EDITION).read(SAMPLE)[0]["paper_id"]
    frame = pandas.DataFrame({"paper_id": [paper], "review_id": ["x"], "review": ["The method is sound."]})
    with pytest.raises(SettingsError, match="cannot be removed or added"):
        gre_bench.rank(frame, EDITION, name, state=state)
    pandas.testing.assert_frame_equal(before, gre_bench.leaderboard(EDITION, state=state))
