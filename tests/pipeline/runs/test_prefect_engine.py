"""Flow runs under the Prefect engine: how they end, what is its server's fault, and commands where it does not answer."""

from __future__ import annotations

import ast
import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import httpx
import pytest
import typer
from prefect.client.orchestration import PrefectClient
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    PREFECT_CLIENT_RETRY_EXTRA_CODES,
    PREFECT_HOME,
    get_current_settings,
    temporary_settings,
)
from typer.testing import CliRunner

from gre_bench.cli import app
from gre_bench.core.errors import BudgetReached, Paused, ServiceDown, SettingsError, Stopped, UnfinishedError
from gre_bench.pipeline.runs import prefect_engine
from gre_bench.pipeline.runs.job import describe_ending
from gre_bench.pipeline.runs.prefect_engine import (
    await_server,
    require_server,
    run_and_return_prefect_state,
    unwrap_flow_summary,
)
from gre_bench.store import INCLUDED_EDITION
from tests.checks.test_doctor import answering as answering_all
from tests.conftest import ROOT
from tests.faults.killing import gone
from tests.flows.refreshing import DEMO
from tests.servers.processes import closed_port

SCRIPTED = ("--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")
TRAINED = ("--judgments", "judgments.jsonl", "--train", "0:8", "--out", "out")
ASKED = {
    "refresh": SCRIPTED,
    "demo": (),
    "study validate": SCRIPTED,
    "study agree": SCRIPTED,
    "fetch": ("SAMPLE", "2026", "--host", "http://127.0.0.1:9"),
    "year": ("SAMPLE", "--host", "http://127.0.0.1:9", "--set", "writing.candidates=['local-vllm']"),
    "study examiners compare": ("--items", "items.tsv"),
    "study guidelines compare": ("--model", "any", "--papers-file", "papers.jsonl"),
    "study guidelines quality": ("notes.jsonl", "--edition", "SAMPLE-2026"),
    "models tune cache-ngram": TRAINED,
    "models tune lm": ("--model", "base", *TRAINED),
}
"""Every command that runs under Prefect, with what it needs to reach its flow."""
STORES_FIRST = {"study flaws"}
"""Commands that make an edition from files before its refresh; `refresh` continues it."""


def test_every_command_that_has_an_engine_is_asked_here():
    assert {name for name, command in commands(typer.main.get_command(app.app)) if takes_engine(command)} == {
        *ASKED, *STORES_FIRST,
    }  # fmt: skip


@pytest.mark.parametrize("command", ASKED)
def test_a_server_that_does_not_answer_is_one_line_and_nothing_is_begun(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(prefect_engine, "time", SimpleNamespace(sleep=lambda _seconds: None))
    api = f"http://127.0.0.1:{closed_port()}/api"
    with temporary_settings({PREFECT_API_URL: api}):
        found = CliRunner().invoke(app.app, [*command.split(), *ASKED[command], "--state", str(tmp_path / "state")])
    error = found.exception
    assert isinstance(error, ServiceDown), found
    assert app.choose_error_exit_code(error) == 3
    line = str(error)
    assert "\n" not in line and api in line and "--no-prefect" in line and "nothing was begun" in line
    made = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert not [path for path in made if INCLUDED_EDITION not in str(path)], made  # demo has shown that board before


def commands(group, above=""):
    for name, command in getattr(group, "commands", {}).items():
        yield f"{above}{name}", command
        yield from commands(command, f"{above}{name} ")


def takes_engine(command):
    return any("--no-prefect" in option.opts for option in command.params)


@pytest.fixture
def api() -> Iterator[str]:
    """Address of something that says it is well."""
    with answering_all(200, "") as (url, _), temporary_settings({PREFECT_API_URL: f"{url}/api"}):
        yield f"{url}/api"


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """What was waited, in seconds; the time goes on by just that."""
    waited: list[float] = []

    class Clock:
        sleep = staticmethod(waited.append)
        monotonic = staticmethod(lambda: sum(waited))

    monkeypatch.setattr(prefect_engine, "time", Clock)
    return waited


def unreached(url: str) -> httpx.ConnectError:
    return httpx.ConnectError("refused", request=httpx.Request("POST", url))


def test_what_the_server_did_not_answer_is_one_line_and_the_run_stopped(api):
    lost = ConcurrencySlotAcquisitionError("none\nto be had")
    for error in (unreached(f"{api}/flow_runs/"), lost, RuntimeError("Failed to reach API")):
        assert describe_ending(error)[0] == "stopped"
        with pytest.raises(ServiceDown, match="what was done is kept") as caught, require_server():
            raise error
        assert api in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_the_servers_fault_is_left_to_fly(api):
    elsewhere = unreached("http://127.0.0.1:9/v1/completions")
    others = (RuntimeError("a bug"), SettingsError("wrong"), httpx.InvalidURL("none"), httpx.ReadError("of nobody"))
    for error in (elsewhere, *others):
        assert describe_ending(error)[0] in ("fault", "refused")
        with pytest.raises(type(error)) as caught, require_server():
            raise error
        assert caught.value is error


def test_a_server_that_answers_is_not_waited_for(api, clock):
    before = PREFECT_CLIENT_MAX_RETRIES.value()
    await_server()
    assert (sum(clock), PREFECT_CLIENT_MAX_RETRIES.value()) == (0, before)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [(None, 60), (Stopped("SIGINT"), 0), (ConcurrencySlotAcquisitionError("none"), 0)],
    ids=["first", "stopped by hand", "lost"],
)
def test_a_silent_server_is_waited_for_a_minute_unless_waiting_is_over_and_then_nothing_is_tried_twice(
    error, seconds, clock
):
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{closed_port()}/api"}):
        await_server(error)
        assert seconds <= sum(clock) <= seconds * 1.15
        assert PREFECT_CLIENT_MAX_RETRIES.value() == 0


def test_retries_are_those_of_before_when_a_run_is_over(api, clock):
    before = PREFECT_CLIENT_MAX_RETRIES.value()
    assert before > 0
    with require_server():
        get_current_settings().client.max_retries = 0
        assert PREFECT_CLIENT_MAX_RETRIES.value() == 0
    assert PREFECT_CLIENT_MAX_RETRIES.value() == before


def test_workers_of_prefect_say_nothing_after_the_line_of_an_error(api, capfd):
    with require_server():
        for worker in (EventsWorker, APILogWorker):
            logging.getLogger(worker.__name__).warning("Still processing items: 1 items remaining...")
            assert not logging.getLogger(worker.__name__).isEnabledFor(logging.WARNING)
    assert capfd.readouterr().err == ""


def test_retries_stay_off_when_the_server_is_lost_so_that_the_process_ends_soon():
    with ExitStack() as server:
        url, _ = server.enter_context(answering_all(200, ""))
        with temporary_settings({PREFECT_API_URL: f"{url}/api"}):
            with pytest.raises(ServiceDown, match="what was done is kept"), require_server():
                server.close()
                get_current_settings().client.max_retries = 0
                raise ConcurrencySlotAcquisitionError("none")
            assert PREFECT_CLIENT_MAX_RETRIES.value() == 0


@pytest.mark.timeout(300)
def test_a_run_has_a_server_of_its_own_which_ends_with_it_and_whose_files_are_in_its_folder(tmp_path):
    program = """
import os, sys, urllib.request
from pathlib import Path
from gre_bench.pipeline.runs import prefect_engine
prefect_engine.configure_prefect(Path("state"))
from prefect.settings import PREFECT_API_URL
from tests.faults.killing import children

def work():
    api, (server,) = PREFECT_API_URL.value(), children(os.getpid())
    if sys.argv[1:]:
        print(server, flush=True)
        sys.stdin.read()
    return {"well": urllib.request.urlopen(f"{api}/health").status, "session": os.getsid(server) == server}

print(prefect_engine.run_with_or_without_prefect(True, work, dict), PREFECT_API_URL.value(), children(os.getpid()))
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    command = [sys.executable, "-c", program]
    how = {"cwd": tmp_path, "env": environment | {"PYTHONPATH": str(ROOT)}, "text": True}
    found = subprocess.run(command, capture_output=True, **how)
    assert found.stdout == "{'well': 200, 'session': True} None []\n", found.stderr
    assert found.stderr == ""
    assert {path.parts[0] for path in (file.relative_to(tmp_path) for file in tmp_path.rglob("*"))} == {"state"}
    with subprocess.Popen([*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how) as process:
        server = int(process.stdout.readline())
        process.kill()
    gone([server], 20.0)


def test_a_server_that_cannot_start_is_one_line_that_names_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(prefect_engine, "SERVER", "raise SystemExit('no server today')")
    own = temporary_settings({PREFECT_HOME: tmp_path}, restore_defaults={PREFECT_API_URL})
    with own, pytest.raises(ServiceDown) as caught, require_server():
        raise AssertionError("nothing is begun")
    line = str(caught.value)
    assert "\n" not in line and str(tmp_path / "server.log") in line and "--no-prefect" in line
    assert (tmp_path / "server.log").read_text() == "no server today\n"


DONE = {"edition": "ICLR-2025", "outcome": "done", "message": ""}
FLOWS = sorted(path for path in (ROOT / "flows").rglob("*.py") if "@flow(" in path.read_text())


def raising(error: Exception) -> dict:
    raise error


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_done_is_its_summary(strict):
    assert run_and_return_prefect_state(lambda *asked: DONE | {"asked": asked}, 1, 2, strict=strict) == DONE | {
        "asked": (1, 2)
    }
    assert run_and_return_prefect_state(dict, strict=strict) == {}, (
        "a flow that cannot end short of done says no outcome"
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("pause", [BudgetReached("raise it"), Paused("none left", 1.0)], ids=["budget", "service"])
def test_a_pause_completes_the_run_under_its_own_name_and_is_raised_to_who_called(pause, strict):
    state = run_and_return_prefect_state(raising, pause, strict=strict)
    assert (state.is_completed(), state.name, state.message) == (True, "Paused", str(pause))
    with pytest.raises(type(pause)) as caught:
        unwrap_flow_summary(state.data)
    assert caught.value is pause


def test_a_pause_that_a_summary_tells_is_none_of_the_failures_of_a_strict_run():
    summary = {"venue": "ICLR 2025", "outcome": "paused", "message": "until noon"}
    state = run_and_return_prefect_state(lambda: summary, strict=True)
    assert (state.is_completed(), state.name, state.message) == (True, "Paused", "until noon")
    assert unwrap_flow_summary(state.data) == summary


@pytest.mark.parametrize("outcome", ["incomplete", "fault"])
def test_what_is_short_of_done_says_so_and_fails_where_it_must_not_be(outcome):
    summary = DONE | {"outcome": outcome, "message": "3 pairs"}
    state = run_and_return_prefect_state(lambda: summary)
    assert (state.is_completed(), state.name, unwrap_flow_summary(state.data)) == (True, outcome.capitalize(), summary)
    strict = run_and_return_prefect_state(lambda: summary, strict=True)
    assert (strict.is_failed(), strict.message) == (True, f"ICLR-2025: {outcome}, 3 pairs")
    assert isinstance(strict.data, UnfinishedError)


def test_an_expected_error_fails_the_run_with_its_own_line_as_the_message():
    error = SettingsError("no roster nobody; name one of yearly")
    state = run_and_return_prefect_state(raising, error)
    assert (state.is_failed(), state.message, state.data) == (True, str(error), error)
    with pytest.raises(OSError, match="gone"):
        run_and_return_prefect_state(raising, OSError("gone"))


@pytest.mark.parametrize("name", prefect_engine.RUNS)
def test_prefect_adds_a_traceback_to_a_bug_and_none_to_an_expected_error(name, caplog):
    run_and_return_prefect_state(dict)
    for error in (SettingsError("name another"), KeyError("bug")):
        try:
            raise error
        except (SettingsError, KeyError):
            with caplog.at_level(logging.ERROR, name):
                logging.getLogger(name).error("%s: tried again", error, exc_info=True)
    expected, bug = caplog.records
    assert expected.exc_info is None and "name another" in expected.getMessage()
    assert bug.exc_info and "tried again" in bug.getMessage()


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_every_flow_ends_so(path):
    flows = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(mark).startswith("flow(") for mark in node.decorator_list)
    ]
    assert flows
    for each in flows:
        assert ast.unparse(each.body[-1]).startswith("return run_and_return_prefect_state("), each.name


def test_a_server_whose_database_is_away_for_a_moment_is_asked_again(monkeypatch):
    async def at_once(_seconds: float) -> None:
        pass

    monkeypatch.setattr("prefect.client.base.anyio.sleep", at_once)
    codes = prefect_engine.QUIET["PREFECT_CLIENT_RETRY_EXTRA_CODES"]
    answers = iter([500, 500, 200])

    async def asked() -> int:
        async with PrefectClient("http://127.0.0.1/api") as client:
            client._client._transport = httpx.MockTransport(lambda request: httpx.Response(next(answers)))
            return (await client._client.get("/hello")).status_code

    with temporary_settings({PREFECT_CLIENT_RETRY_EXTRA_CODES: codes}):
        assert asyncio.run(asked()) == 200
