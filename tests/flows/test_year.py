"""The board of a year from a loopback OpenReview: which year, who is ranked, what may be published, and goes on after kills."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client

from gre_bench.api import leaderboard
from gre_bench.cli import app
from gre_bench.core.errors import LMError, SettingsError, SourceError
from gre_bench.core.records import signature_of
from gre_bench.core.rosters import roster_file
from gre_bench.flows import year
from gre_bench.ingest.openreview.loopback import Limit
from gre_bench.pipeline import validation_records
from gre_bench.pipeline.validation_records import validation_record
from gre_bench.release.signing import signing_key
from gre_bench.reports.history import history
from gre_bench.reports.verifying import verify_release
from gre_bench.stats.effects import Verdict
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.tasks import steps
from tests.cli.calling import call
from tests.flows.fetching import served
from tests.flows.making_boards import ON, job, made, make_until, records, roster, stand_ins
from tests.ingest.records.test_venues import next_year
from tests.release.test_signing import made_key
from tests.servers.scripted_chat import scripted_chat

EDITION = "SAMPLE-2026"
BOTH = "scoring.metrics=['gem','gem_s_abstract']"
KNOWN: dict[str, Verdict] = {"gem": "fail", "gem_s_abstract": "undecided", "gem_s_assw": "undecided"}


@pytest.fixture(scope="module", autouse=True)
def an_edition_is_known(tmp_path_factory):
    """What ships changes; these boards meet one edition on which GEM failed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation_records, "SHIPPED", records(tmp_path_factory.mktemp("shipped"), "ICLR-2020", KNOWN))
        yield


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
    folder = Path(first["stages"]["publish"]["folder"])
    assert verify_release(folder, state)["agrees_with_store"], "a run that changed nothing"


def test_a_signed_board_is_left_where_nothing_is_new_and_what_follows_it_is_signed_too(board, tmp_path):
    state = shutil.copytree(board[0], tmp_path / "state", symlinks=True)
    _, _, loopback, named = board
    key = made_key(tmp_path, "release")[0]
    assert call("publish", EDITION, "--again", "--sign", key, "--state", state)[0] == 0
    again = made(loopback.v2, named, state)
    assert (again["outcome"], Path(again["stages"]["publish"]["folder"]).name) == ("unchanged", f"{EDITION}-r2")
    show_both = (BOTH, "release.unvalidated=show")
    with pytest.raises(SettingsError, match=f"{EDITION}-r2 is signed.* give the key with --sign.* release.sign"):
        made(loopback.v2, named, state, *show_both)
    signed = made(loopback.v2, named, state, *show_both, f"release.sign={key}")
    about = json.loads((Path(signed["stages"]["publish"]["folder"]) / "manifest.json").read_text())
    assert (signed["outcome"], about["release"], about["signed_by"]) == ("done", f"{EDITION}-r3", signing_key(key).name)
    key.chmod(0o644)
    with pytest.raises(SettingsError, match="others can read this private key"):
        made(None, named, tmp_path / "other", f"release.sign={key}")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("known", "left_out", "validated_on"), [(KNOWN, {"gem"}, "ICLR-2020"), ({}, set(), EDITION)])
def test_the_shipped_roster_is_published_by_the_default_gate_without_the_metric_that_fails(
    tmp_path, chat, monkeypatch, known, left_out, validated_on
):
    """Seven LMs, two controls and three metrics as they ship; stand-ins are the endpoint and the evaluation LM."""
    monkeypatch.setattr(validation_records, "SHIPPED", records(tmp_path / "shipped", "ICLR-2020", known))
    models = [model["name"] for model in tomllib.loads(roster_file("yearly", tmp_path).read_text())["model"]]
    named = f"writing.models={stand_ins(tmp_path, chat.url, models)}"
    with served() as loopback:
        found = made(loopback.v2, "yearly", tmp_path / "state", named, "evaluation_lm.backend=cache-ngram",
                     "validation.resamples=200", "edition.papers=3")  # fmt: skip
    assert found["outcome"] == "done", found["message"]
    folder = Path(found["stages"]["publish"]["folder"])
    manifest = json.loads((folder / "manifest.json").read_text())
    shown, hidden = manifest["validations"], {row["metric"]: row for row in manifest.get("hidden_boards", ())}
    assert {*hidden} == left_out and {*shown, *hidden} == {"gem", "gem_s_abstract", "gem_s_assw"}
    assert all(row["verdict"] == "fail" for row in hidden.values())
    assert {(row["verdict"], row["edition"]) for row in shown.values()} == {("undecided", validated_on)}
    board = leaderboard(folder)
    assert {*board["metric"]} == {*shown} and {*models} <= {*board["candidate"][board["rank"].notna()]}
    assert {*board["validation"]} == {f"unvalidated: undecided on {validated_on}"}
    assert ("Not shown: gem, whose validation" in (folder / "index.html").read_text()) == bool(left_out)


def test_a_metric_that_failed_is_left_out_or_stops_the_release_or_is_shown_as_the_setting_says(board):
    state, _, loopback, named = board
    refused = made(loopback.v2, named, state, BOTH, "release.unvalidated=refuse")
    assert refused["outcome"] == "refused" and [*refused["stages"]][-1] == "verdicts"
    assert refused["message"].startswith(
        "verdicts: nothing is published: gem: fail (passes 1 of 2 changes on 289 papers"
    )
    assert refused["message"].endswith(
        "All texts and scores are kept. Next: publish without them: release.unvalidated=hide, or publish these boards "
        "with their verdict: release.unvalidated=show"
    )
    hidden = made(loopback.v2, named, state, BOTH)
    assert hidden["stages"]["verdicts"]["message"].startswith("left out of the release: gem: fail")
    folder = Path(hidden["stages"]["publish"]["folder"])
    assert hidden["outcome"] == "done" and folder.name == "SAMPLE-2026-r2"
    (row,) = json.loads((folder / "manifest.json").read_text())["hidden_boards"]
    assert (row["metric"], row["verdict"]) == ("gem", "fail")
    assert "Not shown: gem, whose validation" in (folder / "index.html").read_text()
    with pytest.raises(SettingsError) as error:
        made(loopback.v2, named, state, "scoring.metrics=['gem']", "edition.sample=x", year=3000)
    assert "\n" not in str(error.value)


def test_a_board_of_nothing_but_failed_metrics_is_not_hidden_but_refused(board):
    state, _, loopback, named = board
    found = made(loopback.v2, named, state, "scoring.metrics=['gem']")
    assert found["outcome"] == "refused" and found["message"].endswith(
        "Next: publish these boards with their verdict: release.unvalidated=show"
    )


def test_a_fetch_that_the_service_limits_waits_for_the_next_run(tmp_path, chat):
    with served(limits={kind: Limit(2, 600.0) for kind in ("pdf", "attachment")}) as loopback:
        found = made(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", "fetch.pdf_batch=2")
    assert (found["outcome"], [*found["stages"]]) == ("waiting", ["fetch"])
    assert found["message"].startswith("fetch: paused until ")


def test_a_new_year_of_last_years_form_needs_no_entry(tmp_path, chat):
    with served(next_year()) as loopback:
        asked = job(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", on=date(2026, 12, 1))
        found = year.fetched(asked, steps.undecorated())
    assert asked.work.store.key == "SAMPLE-2027" and found["outcome"] == "done"
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
    asked = ["year", "SAMPLE", "--roster", named, "--year", "2026", "--dry-run", "--state", str(tmp_path / "state")]
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
    few = ("validation.resamples=200", "release.unvalidated=show")  # six papers: the verdict is not the point
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
    assert validation_record(state, signature_of(board), EDITION).edition == EDITION
    assert (state / "releases" / "SAMPLE-2026-latest" / "index.html").is_file()
    assert history(state, None, None, ["human"])["rows"]


@pytest.mark.slow
def test_each_stage_is_a_flow_run_within_the_one_of_the_year(tmp_path, chat):
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120), served() as loopback:
        asked = job(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", BOTH, "release.unvalidated=refuse")
        told = year.year("SAMPLE", None, None, asked.settings, tmp_path / "state", on=ON)
        assert told["outcome"] == "refused"
        with get_client(sync_client=True) as client:
            runs = {run.name: run for run in client.read_flow_runs()}
            states = {client.read_flow(run.flow_id).name: run.state.name for run in runs.values()}
        assert states == {"year": "Refused", "fetch": "Completed", "write": "Completed", "score": "Completed",
                          "validate": "Completed", "verdicts": "Refused"}  # fmt: skip
