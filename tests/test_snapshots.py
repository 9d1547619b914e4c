"""What a user sees: six screens as text, and what no screen shows unless asked for it."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.once import once
from tests.snapshots import EDITION, FOLDER, SCREENS, make_sample, screens, shown, write_mine


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    return shutil.copytree(once("sample-demo", make_sample), folder / "state", symlinks=True)


@pytest.fixture(scope="module")
def now(state):
    write_mine(state.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(state.parent)
        return screens(state)


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_is_the_one_in_tests_snapshots(name, now):
    saved = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert now[name] == saved, "if it is meant to change: python -m tests.snapshots"


UNASKED = re.compile(
    r"[0-9a-f]{32}|signature [0-9a-f]|\d{8}T\d{6}-|_specific|rank: in parentheses|correctness: not measured"
)
"""Digests, signatures, ids of runs, specific metrics, the legend, and what was not measured."""
COMMANDS = (
    ("leaderboard", EDITION, "--all"), ("status",), ("history", "SAMPLE"), ("refresh", "--edition", EDITION, "--no-prefect"),
    ("refresh", "--edition", EDITION, "--dry-run"), ("publish", EDITION), ("publish", EDITION, "--again"),
    ("verify", f"{EDITION}-r1"), ("compare", f"{EDITION}-r1", f"{EDITION}-r2"),
    ("import", "undo", EDITION),
)  # fmt: skip


def test_digests_signatures_runs_specific_metrics_and_the_legend_are_on_no_screen_unless_asked_for(state, now):
    told = {words: shown(*words, state=state) for words in COMMANDS}
    told |= {words: now[name] for name, words in SCREENS.items() if "--details" not in words}
    assert {words: found for words, text in told.items() if (found := UNASKED.findall(text))} == {}
    assert {"rank: in parentheses", "correctness: not measured"} <= set(UNASKED.findall(now["leaderboard"]))
