"""Candidates of a group are ranked among themselves; what readers must know of a candidate stands beside it."""

from __future__ import annotations

import pytest

from gre_bench.pipeline.ranking import group_of
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, reviews_by, run, use
from tests.scripted_lms import OverlapLM

NAMES = ("lab/a", "lab/b", "model-a", "model-b")


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    use(OverlapLM())
    state = tmp_path_factory.mktemp("groups")
    run(state, "scoring.metrics=['gem']", limit=4)
    for number, name in enumerate(NAMES):
        rows = [
            row | {"judgments": row["judgments"] + "\nThe reviewer suggests more." * number} for row in reviews_by(name)
        ]
        add_reviews(state, rows)
    run(state, "scoring.metrics=['gem']", "board.groups={lab=['lab/*']}", "board.notes={human='paraphrased'}", limit=4)
    return state


def board(state):
    store = Store(state, EDITION)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    return {row["candidate"]: row for row in store.read(LEADERBOARD, signature_ids=ids)}


def test_each_group_has_ranks_and_tests_of_its_own(state):
    rows = board(state)
    main = {name: row["rank"] for name, row in rows.items() if row["group_name"] is None and row["rank"]}
    lab = {name: row["rank"] for name, row in rows.items() if row["group_name"] == "lab"}
    assert sorted(main) == ["human", "model-a", "model-b"] and set(main.values()) <= {1, 2, 3}
    assert sorted(lab) == ["lab/a", "lab/b"] and set(lab.values()) <= {1, 2}
    assert rows["lab/a"]["tests"] == 1 and rows["model-a"]["tests"] == 3
    assert {rows[name]["next_candidate"] for name in lab} <= {"lab/a", "lab/b", None}


def test_a_group_is_shown_apart(state):
    code, text = shown("leaderboard", EDITION, "--state", state)
    assert code == 0 and "group lab: " in text and "lab/b" not in text and "paraphrased" in text
    code, text = shown("leaderboard", EDITION, "--all", "--state", state)
    assert code == 0 and "group lab, ranked among itself" in text and "lab/b" in text


def test_humans_and_controls_belong_to_no_group():
    groups = {"first": ("*",), "second": ("model-a",)}
    assert [group_of(name, groups) for name in ("human", "generic", "model-a")] == [None, None, "first"]
