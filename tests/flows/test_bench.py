"""``gre-bench bench scoring`` as a user calls it, on a model so small that its figures mean nothing."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="measuring needs the extra `lm`")

from flows.bench_scoring import load
from flows.cli import app
from tasks.errors import SettingsError
from tests.lm.chat_models import build_chat_model

SMALL = ["--candidates", "2", "--synopses", "2", "--rounds", "1", "--device", "cpu"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(build_chat_model(tmp_path_factory.mktemp("model") / "llama3", context=8192))


def test_json_has_the_ratios_of_each_method(model):
    done = CliRunner().invoke(app, ["bench", "scoring", "--model", model, *SMALL, "--json", "--growth"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {"one-by-one", "batches", "trie"} <= set(found["methods"])
    for row in found["methods"].values():
        assert {"cpu_ratio", "wall_ratio", "work_ratio"} <= set(row)
    assert found["pairs"] == 1 * 2 * 2 * 2
    assert found["methods"]["trie"]["work_ratio"] > 1
    assert [row["papers"] for row in found["growth"]] == [1, 2, 4, 8]


def test_the_table_names_each_method_and_the_hours_of_an_edition(model):
    done = CliRunner().invoke(app, ["bench", "scoring", "--model", model, *SMALL])
    assert done.exit_code == 0, done.output
    for words in ("one-by-one", "batches", "trie", "TFLOP/s", "8 pairs", " h"):
        assert words in done.output


def test_a_paper_has_its_candidates_references_and_synopses():
    asked = load(None, None, papers=2, candidates=3, synopses=2)
    assert asked.pairs == 2 * 3 * 2 * 2
    for paper in asked.papers:
        # Marginals once for each reference and synopsis.
        assert len(paper) == len(set(paper)) == 2 * (3 + 1) * 2
        assert len({one.synopsis for one in paper}) == 2 and len({one.reply for one in paper}) == 2


def test_too_few_reviews_are_refused_with_what_there_is():
    with pytest.raises(SettingsError, match="papers with three judged reviews: too few for 1 papers with 500"):
        load(None, None, papers=1, candidates=500, synopses=1)
    with pytest.raises(SettingsError, match="and 40 synopses each"):
        load(None, None, papers=1, candidates=1, synopses=40)


def test_a_server_needs_the_folder_of_its_model():
    done = CliRunner().invoke(app, ["bench", "scoring", "--endpoint", "http://127.0.0.1:1", *SMALL])
    assert isinstance(done.exception, SettingsError) and "--model" in str(done.exception)
