"""A refresh that would do nothing is found before the engine starts; whatever may have changed, it runs."""

from __future__ import annotations

import json
import os

import pytest

from gre_bench.pipeline.runs import unchanged
from gre_bench.pipeline.runs.unchanged import FILE
from gre_bench.store import Store
from tests.cli.calling import call
from tests.flows.refreshing import DEMO, EDITION, add_reviews, reviews_by, use
from tests.scripted_lms import OverlapLM


@pytest.fixture
def refresh(tmp_path):
    """Refreshes and returns how many refreshes the edition has then had; the second time nothing is due."""
    use(OverlapLM())
    models = tmp_path / "models.toml"
    models.write_text("")

    def refresh(*more):
        asked = ("evaluation_lm.backend=scripted", "scoring.metrics=['gem']", f"writing.models={models}", *more)
        settings = [word for one in asked for word in ("--set", one)]
        code, shown, said = call(
            "refresh", "--settings", DEMO, *settings, "--limit", 2, "--no-prefect", "--state", tmp_path / "state"
        )
        assert code == 0, (shown, said)
        return Store(tmp_path / "state", EDITION).query("select count(*) as n from runs where command = 'refresh'")[1][
            0
        ]["n"]

    return refresh


def test_nothing_is_begun_and_the_same_board_is_shown(refresh, tmp_path):
    asked = ("--settings", DEMO, "--set", "evaluation_lm.backend=scripted", "--limit", 2, "--no-prefect")
    before = call("refresh", *asked, "--state", tmp_path / "state")
    again = call("refresh", *asked, "--state", tmp_path / "state")
    assert before[0] == again[0] == 0
    assert [line for line in again[1].splitlines() if "pairs scored now" not in line] == [
        line for line in before[1].splitlines() if "pairs scored now" not in line
    ]
    assert "0 pairs scored now" in again[1]


def test_whatever_may_have_changed_makes_it_run_once(refresh, tmp_path):
    assert (refresh(), refresh()) == (1, 1)
    folder = tmp_path / "state" / "editions" / EDITION
    said = folder / FILE
    changes = {
        "file": lambda: (tmp_path / "models.toml").write_text("# new\n"),
        "import": lambda: add_reviews(tmp_path / "state", reviews_by("model-a")),
        "store": lambda: os.utime(folder / "edition.duckdb"),
        "copy": lambda: (folder / "read.sha256").write_text("0" * 64 + "  read.duckdb\n"),
        "forged": lambda: said.write_text(json.dumps(json.loads(said.read_text()) | {"inputs": "0" * 64})),
    }
    for runs, (what, change) in enumerate(changes.items(), 2):
        change()
        assert (refresh(), refresh()) == (runs, runs), what
    setting = "scoring.ascii_fold=true"
    assert (refresh(setting), refresh(setting)) == (runs + 1, runs + 1)


def test_the_code_of_an_installed_package_may_have_changed_unseen(refresh, monkeypatch):
    assert (refresh(), refresh()) == (1, 1)
    monkeypatch.setattr(unchanged, "extended", lambda: True)
    assert refresh() == 2
