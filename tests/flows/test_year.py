"""The board of a year from a loopback OpenReview, and as it is deployed: who is ranked, what is published, kills gone on after."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.client.orchestration import get_client
from prefect.utilities.callables import parameter_schema

from gre_bench.api import leaderboard
from gre_bench.core.errors import LMError, SettingsError, SourceError
from gre_bench.core.records import build_signature_from_row
from gre_bench.core.rosters import find_roster_file
from gre_bench.flows import year
from gre_bench.pipeline import validation_records
from gre_bench.pipeline.validation_records import find_validation_record
from gre_bench.release.manifest import verify_release
from gre_bench.reports import yearly
from gre_bench.reports.history import compare_years
from gre_bench.stats.effects import Verdict
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from tests.cli.calling import call, shown
from tests.flows.fetching import LOGIN, served
from tests.flows.making_boards import ON, job, made, make_until, records, roster, stand_ins
from tests.flows.test_deployments import FILE, deploy
from tests.ingest.records.test_venues import next_year
from tests.one_line import one_line
from tests.servers.chat import scripted_chat
from tests.servers.openreview import Limit
from tests.servers.processes import run_command, run_prefect, serve_prefect

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


def test_the_run_of_a_year_ends_in_a_release_and_its_history_and_a_second_one_asks_nobody(board, chat):
    state, summary, loopback, named = board
    assert (summary["edition"], summary["outcome"]) == (EDITION, "done")
    assert [*summary["stages"]] == ["fetch", "write", "score", "validate", "verdicts", "publish", "history"]
    manifest = json.loads((state / "releases" / "SAMPLE-2026-latest" / "manifest.json").read_text())
    assert manifest["validations"]["gem_s_abstract"]["verdict"] in ("pass", "undecided")
    (row,) = (row for row in summary["stages"]["history"]["history"]["rows"] if row["kind"] != "control")
    assert (row["candidate"], row["year"], row["unranked"]) == ("scripted", 2026, None)
    sent, asked = loopback.counts.copy(), chat.count
    again = made(loopback.v2, named, state)
    assert (again["outcome"], again["message"]) == ("unchanged", summary["message"])
    assert (loopback.counts, chat.count) == (sent, asked)
    assert call("verify", summary["stages"]["publish"]["folder"])[0] == 0


@pytest.mark.parametrize(("known", "left_out", "validated_on"), [(KNOWN, {"gem"}, "ICLR-2020"), ({}, set(), EDITION)])
def test_the_shipped_roster_is_published_by_the_default_gate_without_the_metric_that_fails(
    tmp_path, chat, monkeypatch, known, left_out, validated_on
):
    """Seven LMs, two controls and three metrics as they ship; stand-ins are the endpoint and the evaluation LM."""
    monkeypatch.setattr(validation_records, "SHIPPED", records(tmp_path / "shipped", "ICLR-2020", known))
    models = [model["name"] for model in tomllib.loads(find_roster_file("yearly", tmp_path).read_text())["model"]]
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
    with one_line(kind=SettingsError):
        made(loopback.v2, named, state, "scoring.metrics=['gem']", "edition.sample=x", year=3000)
    # A board of nothing but failed metrics is not hidden but refused.
    found = made(loopback.v2, named, state, "scoring.metrics=['gem']")
    assert found["outcome"] == "refused" and found["message"].endswith(
        "Next: publish these boards with their verdict: release.unvalidated=show"
    )


def test_a_fetch_that_the_service_limits_waits_for_the_next_run(tmp_path, chat):
    with served(limits={kind: Limit(2, 600.0) for kind in ("pdf", "attachment")}) as loopback:
        found = made(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", "fetch.pdf_batch=2")
    assert (found["outcome"], [*found["stages"]]) == ("waiting", ["fetch"])
    assert found["message"].startswith("fetch: paused until ")


def test_a_new_year_of_last_years_form_needs_no_entry_and_one_of_another_form_is_one_line_before_any_cost(
    tmp_path, chat
):
    with served(next_year()) as loopback:
        asked = job(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", on=date(2026, 12, 1))
        found = yearly.run_fetch_stage(asked)
    assert asked.work.store.key == "SAMPLE-2027" and found["outcome"] == "done"
    assert any("Taken from the entry of SAMPLE 2026" in line for line in found["remarks"])
    count = chat.count
    with served(next_year(('"weaknesses"', '"limitations"'))) as loopback:
        with one_line("review field 'limitations' is not known", kind=SourceError):
            made(loopback.v2, roster(tmp_path, chat.url), tmp_path / "other", on=date(2026, 12, 1))
        assert loopback.counts["pdf"] + loopback.counts["attachment"] == 0
    assert chat.count == count


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ([], ["the roster names no model: a year's board ranks language models"]),
        (['name = "nobody"'], ["the roster names nobody, which the models file has not"]),
        (['name = "scripted"\nguideline = "kind"'], ["the roster names scripted@kind, which"]),
        (['name = "scripted"\nsampling = { temperature = 9 }'], ["writing.sampling of scripted: ", "temperature"]),
        (['name = "scripted"'] * 2, ["scripted occurs twice"]),
    ],
    ids=["no model", "an unknown model", "an unknown guideline", "impossible sampling", "a model twice"],
)
def test_a_roster_that_cannot_be_is_refused_in_one_line(tmp_path, models, says):
    entries = "".join(f"[[model]]\n{model}\n" for model in models)
    with one_line(*says, kind=SettingsError):
        job(None, roster(tmp_path, "http://127.0.0.1:9/v1", entries), tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_a_key_that_is_not_set_is_told_before_anything_is_sent(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(LMError, match="set the environment variable OPENROUTER_API_KEY"):
        made(None, "yearly", tmp_path)
    assert not [*tmp_path.iterdir()]


def test_the_command_plans_the_year_with_the_validation_of_what_is_new(tmp_path):
    named = roster(tmp_path, "http://127.0.0.1:9/v1", judgments="scripted")
    asked = ("year", "SAMPLE", "--roster", named, "--year", "2026", "--dry-run", "--state", tmp_path / "state")
    code, said = shown(*asked, "--set", "edition.papers=16")
    assert code == 0 and said.startswith("SAMPLE-2026, at most 16 papers")
    assert "write: 16 reviews by scripted" in said
    assert "write: 208 judgments of changed reviews by scripted" in said
    assert "validate: gem_s_abstract by 13 changes, counted above" in said


@pytest.mark.night
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
    assert find_validation_record(state, build_signature_from_row(board), EDITION).edition == EDITION
    assert (state / "releases" / "SAMPLE-2026-latest" / "index.html").is_file()
    assert compare_years(state, None, None, ["human"])["rows"]


@pytest.mark.night
def test_each_stage_is_a_flow_run_within_the_one_of_the_year(tmp_path, chat):
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120), served() as loopback:
        asked = job(loopback.v2, roster(tmp_path, chat.url), tmp_path / "state", BOTH, "release.unvalidated=refuse")
        told = year.year("SAMPLE", None, None, asked.settings, tmp_path / "state", on=ON)
        assert told["outcome"] == "refused"
        with get_client(sync_client=True) as client:
            runs = {run.name: run for run in client.read_flow_runs()}
            by_flow = {client.read_flow(run.flow_id).name: run.state for run in runs.values()}
        states = {name: state.name for name, state in by_flow.items()}
        for name in ("year", "verdicts"):
            assert "nothing is published: " in by_flow[name].message, "a refused year says why"
            assert "Next: publish" in by_flow[name].message
        assert states == {"year": "Refused", "fetch": "Completed", "write": "Completed", "score": "Completed",
                          "validate": "Completed", "verdicts": "Refused"}  # fmt: skip


def test_the_form_of_a_year_asks_for_venue_and_year_once():
    form = parameter_schema(year.year.fn).model_dump()
    assert {"venue", "year"} <= form["properties"].keys()
    edition = form["definitions"]["EditionSettings"]["properties"]
    assert not {"venue", "year"} & edition.keys() and {"sample", "papers"} <= edition.keys()
    assert "venue" not in str(form["definitions"]["Settings"]["properties"]["edition"])


RUNS = """
import json
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    flows = {flow.id: flow.name for flow in client.read_flows()}
    runs = sorted(client.read_flow_runs(), key=lambda run: run.expected_start_time)
    print(json.dumps([(flows[run.flow_id], run.state_name, run.work_pool_name, str(run.start_time), str(run.end_time))
                      for run in runs if run.start_time]))
"""
QUICKLY = {
    "edition": {"papers": 6},
    "release": {"unvalidated": "show"},
    "validation": {"resamples": 200},
    "writing": {"chunk": 4},
}
STATUS = ("editions", "SAMPLE-2026", "status.json")


def deployment(folder: Path, host: str, named: str, **chosen: dict[str, Any]) -> Path:
    """The file of the deployments of a year, of the sample and every 20 seconds, by the roster *named*.

    *chosen*: settings by group, beside those of the deployment that ships.
    """
    deployed = yaml.safe_load(FILE.read_text())
    kept = [item for item in deployed["deployments"] if item["name"] in ("year-iclr", "score", "validate-on-gpu")]
    year = next(item for item in kept if item["name"] == "year-iclr")
    year |= {"name": "year-sample", "schedules": [{"interval": 20, "active": True}]}
    settings = year["parameters"]["settings"] | chosen
    settings["fetch"] |= {"host": host}
    year["parameters"] |= {
        "venue": "SAMPLE", "roster": named, "settings": settings, "on": ON.isoformat(), "state": str(folder / "state"),
    }  # fmt: skip
    file = folder / "prefect.yaml"
    file.write_text(yaml.safe_dump(deployed | {"deployments": kept}))
    return file


def killed(state: Path, when: Callable[[dict[str, Any]], bool], log: Path, within_s: float = 300) -> int:
    """Kills the process that works on the edition as soon as its status says so; its id."""
    deadline = time.monotonic() + within_s
    while True:
        assert time.monotonic() < deadline, log.read_text()
        try:
            status = json.loads(state.joinpath(*STATUS).read_text())
            if status["state"] == "running" and when(status):
                os.kill(status["pid"], signal.SIGKILL)
                return status["pid"]
        except (OSError, ValueError):
            pass
        time.sleep(0.02)


@pytest.mark.night
@pytest.mark.timeout(1500)
def test_a_scheduled_year_that_is_killed_twice_ends_in_a_release(tmp_path):
    state, logs = tmp_path / "state", [tmp_path / "cpu.log", tmp_path / "gpu.log"]
    (tmp_path / "server").mkdir()
    with served() as loopback, scripted_chat(pause_s=0.1) as chat, serve_prefect(tmp_path / "server") as server:
        named = roster(tmp_path, chat.url, judgments="scripted")
        deploy(server | LOGIN, deployment(tmp_path, loopback.v2, named, **QUICKLY))
        with (
            run_prefect("worker", "start", "--pool", "gre-bench-cpu", environment=server, log=logs[0]),
            run_prefect("worker", "start", "--pool", "gre-bench-gpu", environment=server, log=logs[1]),
        ):
            first = killed(state, lambda status: status["command"] == "write" and chat.count > 2, logs[0])
            second = killed(state, lambda status: status["command"] == "validate", logs[1])
            assert first != second
            deadline = time.monotonic() + 600
            while not (state / "releases" / "SAMPLE-2026-latest").exists():
                assert time.monotonic() < deadline, logs[0].read_text()
                time.sleep(1)
            runs: list[list[str]] = []
            while ["year", "Completed"] not in [run[:2] for run in runs]:
                assert time.monotonic() < deadline, runs
                runs = json.loads(run_command(server, "python", "-c", RUNS))
    assert verify_release(state / "releases" / "SAMPLE-2026-latest")["release"] == "SAMPLE-2026-r1"
    assert {name for name, _, pool, *_ in runs if pool == "gre-bench-gpu"} == {"annual-refresh", "validate-metrics"}
    ended = {(name, state) for name, state, *_ in runs}
    assert {("year", "Crashed"), ("validate-metrics", "Crashed"), ("history", "Completed")} <= ended, ended
    bought = [json.dumps(body["messages"]) for body in chat.requests]
    assert len(bought) - len(set(bought)) <= 16, "more was bought twice than was in flight at a kill"
