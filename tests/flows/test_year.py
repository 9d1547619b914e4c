"""The board of a year from a loopback OpenReview: which year, who is ranked, what may be published, and goes on after kills."""

from __future__ import annotations

import json
import multiprocessing
import sys
from datetime import date
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client

from gre_bench.cli import app
from gre_bench.core.errors import LMError, SettingsError, SourceError
from gre_bench.flows import year
from gre_bench.ingest.openreview.loopback.limits import Limit
from gre_bench.pipeline.validation_records import validation_record
from gre_bench.reports.history import history
from gre_bench.store import Store
from gre_bench.store.queries.plan import CURRENT_SIGNATURES
from gre_bench.tasks import steps
from tests.flows.fetching import served
from tests.flows.making_boards import ON, job, made, make_until, roster
from tests.ingest.records.test_venue_years import next_year
from tests.servers.scripted_chat import scripted_chat

EDITION = "SAMPLE-2026"
BOTH = "scoring.metrics=['gem','gem_s_abstract']"


@pytest.fixture(scope="module")
def chat():
    with scripted_chat() as server:
        yield server


@pytest.fixture(scope="module")
def board(tmp_path_factory, chat):
    """A board that was made, its summary, and the services that were asked."""
    folder = tmp_path_factory.mktemp("year")
    with served() as loopback:
        named = roster(folder, chat.url)
        yield folder / "state", made(loopback.v2, named, folder / "state"), loopback, named


def test_the_run_of_a_year_ends_in_a_release_and_its_history(board):
    state, summary, *_ = board
    assert (summary["edition"], summary["outcome"]) == (EDITION, "done")
    assert [*summary["stages"]] == ["fetch", "write", "score", "validate", "verdicts", "publish", "history"]
    manifest = json.loads((state / "releases" / "SAMPLE-2026-latest" / "manifest.json").read_text())
    assert manifest["validations"]["gem_s_abstract"]["verdict"] in ("pass", "undecided")
    (row,) = (row for row in summary["stages"]["history"]["history"]["rows"] if row["kind"] != "control")
    assert (row["candidate"], row["year"], row["unranked"]) == ("scripted", 2026, None)


def test_a_second_run_asks_nobody_and_publishes_nothing(board, chat):
    state, first, loopback, named = board
    sent, asked = loopback.counts.copy(), chat.count
    again = made(loopback.v2, named, state)
    assert (again["outcome"], again["message"]) == ("unchanged", first["message"])
    assert (loopback.counts, chat.count) == (sent, asked)


def test_a_metric_that_failed_is_not_published_but_where_it_is_hidden(board):
    state, _, loopback, named = board
    refused = made(loopback.v2, named, state, BOTH)
    assert refused["outcome"] == "refused" and [*refused["stages"]][-1] == "verdicts"
    assert refused["message"].startswith(
        "verdicts: nothing is published: gem: fail (passes 10 of 13 changes on 289 papers"
    )
    hidden = made(loopback.v2, named, state, BOTH, "release.unvalidated=hide")
    folder = Path(hidden["stages"]["publish"]["folder"])
    assert hidden["outcome"] == "done" and folder.name == "SAMPLE-2026-r2"
    (row,) = json.loads((folder / "manifest.json").read_text())["hidden_boards"]
    assert (row["metric"], row["verdict"]) == ("gem", "fail")
    assert "Not shown: gem, whose validation" in (folder / "index.html").read_text()
    with pytest.raises(SettingsError) as error:
        made(
            loopback.v2,
            named,
            state,
            "scoring.metrics=['gem']",
            "release.unvalidated=hide",
            "edition.sample=x",
            year=3000,
        )
    assert "\n" not in str(error.value)


def test_a_board_of_nothing_but_failed_metrics_is_not_hidden_but_refused(board):
    state, _, loopback, named = board
    found = made(loopback.v2, named, state, "scoring.metrics=['gem']", "release.unvalidated=hide")
    assert found["outcome"] == "refused"


def test_a_fetch_that_the_service_limits_waits_for_the_next_run(tmp_path, chat):
    with served(limits={kind: Limit(2, 600.0) for kind in ("pdf", "attachment")}) as loopback:
        found = made(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", "fetch.pdf_batch=2")
    assert (found["outcome"], [*found["stages"]]) == ("waiting", ["fetch"])
    assert found["message"].startswith("fetch: paused until ")


def test_a_new_year_of_last_years_form_needs_no_entry(tmp_path, chat):
    with served(next_year()) as loopback:
        asked = job(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", on=date(2026, 12, 1))
        found = year.fetched(asked, steps.undecorated())
    assert asked.store.key == "SAMPLE-2027" and found["outcome"] == "done"
    assert any("Taken from the entry of SAMPLE 2026" in line for line in found["remarks"])


def test_a_new_year_of_another_form_is_one_line_before_any_cost(tmp_path, chat):
    asked = chat.count
    with served(next_year(('"weaknesses"', '"limitations"'))) as loopback:
        with pytest.raises(SourceError, match="review field 'limitations' is not known") as error:
            made(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", on=date(2026, 12, 1))
        assert loopback.counts["pdf"] + loopback.counts["attachment"] == 0
    assert "\n" not in str(error.value) and chat.count == asked


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ("", "the roster names no model: a year's board ranks language models"),
        ('[[model]]\nname = "nobody"\n', "the roster names nobody, which the models file has not"),
        ('[[model]]\nname = "scripted"\nguideline = "kind"\n', "the roster names scripted@kind, which"),
        (
            '[[model]]\nname = "scripted"\nsampling = { temperature = 9 }\n',
            "writing.sampling of scripted: .*temperature",
        ),
        ('[[model]]\nname = "scripted"\n' * 2, "scripted occurs twice"),
    ],
    ids=["no model", "an unknown model", "an unknown guideline", "impossible sampling", "a model twice"],
)
def test_a_roster_that_cannot_be_is_refused_in_one_line(tmp_path, models, says):
    with pytest.raises(SettingsError, match=says) as error:
        job(None, roster(tmp_path, "http://127.0.0.1:9/v1", models), tmp_path / "state")
    assert "\n" not in str(error.value) and not (tmp_path / "state").exists()


def test_a_key_that_is_not_set_is_told_before_anything_is_sent(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(LMError, match="set the environment variable OPENROUTER_API_KEY"):
        made(None, "yearly", tmp_path)
    assert not [*tmp_path.iterdir()]


def test_the_command_plans_the_year_with_the_validation_of_what_is_new(tmp_path, monkeypatch, capsys):
    named = roster(tmp_path, "http://127.0.0.1:9/v1", judgments="scripted")
    asked = ["year", "SAMPLE", "--roster", named, "--on", "2026-06-01", "--dry-run", "--state", str(tmp_path / "state")]
    monkeypatch.setattr(sys, "argv", ["gre-bench", *asked, "--set", "edition.papers=16"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    said = capsys.readouterr().out
    assert not ended.value.code and said.startswith("SAMPLE-2026, at most 16 papers")
    assert "write: 16 reviews by scripted" in said
    assert "write: 208 judgments of changed reviews by scripted" in said
    assert "validate: gem_s_abstract by 13 changes, counted above" in said


@pytest.mark.slow
@pytest.mark.parametrize("first", ["write", "validate"])
def test_a_run_that_is_killed_twice_ends_in_the_same_release(tmp_path, chat, first):
    """Judgments by the roster's model are a new combination: it is validated before anything is published."""
    context = multiprocessing.get_context("forkserver")
    named, state = roster(tmp_path, chat.url, judgments="scripted"), tmp_path / "state"
    few = ("validation.resamples=200", "release.unvalidated=show")
    with served() as loopback:
        for stage in (first, "publish"):
            run = context.Process(target=make_until, args=(loopback.v2, named, str(state), stage, few))
            run.start()
            run.join()
            assert run.exitcode == -9
            assert not (state / "releases").exists()
        asked = chat.count
        summary = made(loopback.v2, named, state, *few)
        assert chat.count == asked, "something was bought twice"
    assert summary["outcome"] == "done" and summary["stages"]["score"]["scored_now"] == 0
    (board,) = Store(state, EDITION).read(CURRENT_SIGNATURES)
    assert validation_record(state, board["signature_id"], EDITION).edition == EDITION
    assert (state / "releases" / "SAMPLE-2026-latest" / "index.html").is_file()
    assert history(state, None, None, ["human"])["rows"]


@pytest.mark.slow
def test_each_stage_is_a_flow_run_within_the_one_of_the_year(tmp_path, chat):
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120), served() as loopback:
        asked = job(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", BOTH)
        told = year.year("SAMPLE", None, None, asked.settings, tmp_path / "state", on=ON)
        assert told["outcome"] == "refused"
        with get_client(sync_client=True) as client:
            runs = {run.name: run for run in client.read_flow_runs()}
            states = {client.read_flow(run.flow_id).name: run.state.name for run in runs.values()}
        assert states == {"year": "Refused", "fetch": "Completed", "write": "Completed", "score": "Completed",
                          "validate": "Completed", "verdicts": "Refused"}  # fmt: skip
