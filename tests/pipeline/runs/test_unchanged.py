"""A refresh that would do nothing is found before the engine starts; whatever may have changed, it runs."""

from __future__ import annotations

import json
import os

import pytest

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


@pytest.mark.parametrize("what", ["setting", "file", "import", "store", "copy", "forged"])
def test_whatever_may_have_changed_makes_it_run(refresh, tmp_path, what):
    assert (refresh(), refresh()) == (1, 1)
    folder = tmp_path / "state" / "editions" / EDITION
    more = ()
    if what == "setting":
        more = ("scoring.ascii_fold=true",)
    elif what == "file":
        (tmp_path / "models.toml").write_text("# new\n")
    elif what == "import":
        add_reviews(tmp_path / "state", reviews_by("model-a"))
    elif what == "store":
        os.utime(folder / "edition.duckdb")
    elif what == "copy":
        (folder / "read.sha256").write_text("0" * 64 + "  read.duckdb\n")
    else:
        said = json.loads((folder / FILE).read_text())
        (folder / FILE).write_text(json.dumps(said | {"inputs": "0" * 64}))
    assert refresh(*more) == 2
