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
    """Refreshes; returns how many refreshes the edition has then had, and what was shown."""
    use(OverlapLM())
    models = tmp_path / "models.toml"
    models.write_text("")

    def refresh(*more):
        asked = ("evaluation_lm.backend=scripted", "scoring.metrics=['gem']", f"writing.models={models}", *more)
        settings = [word for one in asked for word in ("--set", one)]
        how = ("--limit", 2, "--no-prefect", "--state", tmp_path / "state")
        code, shown, said = call("refresh", "--settings", DEMO, *settings, *how)
        assert code == 0, (shown, said)
        had = Store(tmp_path / "state", EDITION).query("select count(*) as n from runs where command = 'refresh'")
        return had[1][0]["n"], shown

    return refresh


def runs_of_two(refresh, *more):
    """How many refreshes the edition has had after one, and after the same once more."""
    return refresh(*more)[0], refresh(*more)[0]


def test_where_nothing_is_due_nothing_is_begun_and_whatever_may_have_changed_makes_it_run_once(
    refresh, tmp_path, monkeypatch
):
    (first, before), (second, again) = refresh(), refresh()
    assert (first, second) == (1, 1) and "0 pairs scored now" in again
    kept = [[line for line in shown.splitlines() if "pairs scored now" not in line] for shown in (before, again)]
    assert kept[0] == kept[1]
    folder = tmp_path / "state" / "editions" / EDITION
    said = folder / FILE
    changes = {
        "file": lambda: (tmp_path / "models.toml").write_text("# new\n"),
        "import": lambda: add_reviews(tmp_path / "state", reviews_by("model-a")),
        "store": lambda: os.utime(folder / "edition.duckdb"),
        "copy": lambda: (folder / "current").write_text("read-0123456789abcdef.duckdb\n"),
        "forged": lambda: said.write_text(json.dumps(json.loads(said.read_text()) | {"inputs": "0" * 64})),
    }
    for runs, (what, change) in enumerate(changes.items(), 2):
        change()
        assert runs_of_two(refresh) == (runs, runs), what
    assert runs_of_two(refresh, "scoring.ascii_fold=true") == (runs + 1, runs + 1)
    # The code of an installed package may have changed unseen.
    monkeypatch.setattr(unchanged, "has_extension_packages", lambda: True)
    assert refresh("scoring.ascii_fold=true")[0] == runs + 2
