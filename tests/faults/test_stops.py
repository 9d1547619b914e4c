"""Ctrl-C and SIGTERM: a run ends within ten seconds whatever it waits for, keeps its state, leaves no process behind."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import pytest

from tasks.store import Store
from tests.faults.invariants import assert_paid_once, assert_readable, assert_undisturbed
from tests.faults.killing import DEMO, by_lm, children, commanded, ended, left_behind, said, wait_for
from tests.flows.refreshing import EDITION, tables
from tests.servers.scripted_chat import scripted_chat

ENDS_IN_S = 10.0
STOPPED = "stopped; what was done is kept, the same command goes on from there"
CLEAN = "ends within 10 s with one line and exit 130; the state is kept, no process is left"
REFRESH = ("refresh", "--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")
SIGNS = pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
ONE_SIGN = [pytest.param(signal.SIGINT, id="ctrl-c"), pytest.param(signal.SIGTERM, id="sigterm", marks=pytest.mark.slow)]
SOONER = pytest.mark.parametrize("sign", ONE_SIGN)
STAGES = ("importing", "reading papers", "writing reviews", "writing judgments", "writing synopses", "planning",
          "scoring", "publishing")  # fmt: skip


def asked(state: Path, *overrides: str) -> tuple[str, ...]:
    return (*REFRESH, *(part for one in overrides for part in ("--set", one)), "--state", str(state))


def stop(process: BaseProcess, folder: Path, sign: signal.Signals) -> bool:
    """Stops the command *process* and looks at its end; False if it was done before."""
    began = time.monotonic()
    # A terminal's Ctrl-C goes to the whole group, an operator's signal to the process.
    os.killpg(process.pid, sign) if sign == signal.SIGINT else os.kill(process.pid, sign)
    process.join(ENDS_IN_S + 20)
    if process.exitcode is None:
        process.kill()
        raise AssertionError("it does not end")
    out, err = said(folder)
    if process.exitcode == 0 and STOPPED not in err:
        return False
    assert time.monotonic() - began < ENDS_IN_S, err
    assert process.exitcode == 130, err
    assert err.splitlines() == [STOPPED], err
    assert not out
    assert left_behind(process.pid) == []
    return True


def at_stage(state: Path, process: BaseProcess, stage: str) -> bool:
    """The run *process* has come to *stage*, or to a later one."""
    status = Store(state, EDITION).status() or {}
    if status.get("pid") != process.pid:
        return False
    names = [place for place, name in enumerate(STAGES) if status["stage"].startswith(name)]
    return bool(names) and names[0] >= STAGES.index(stage)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    state = tmp_path_factory.mktemp("undisturbed")
    assert ended(state) == 0
    return tables(state)


@pytest.mark.slow
@SIGNS
def test_a_refresh_that_is_stopped_at_a_random_moment_of_every_stage(undisturbed, tmp_path, trial, sign):
    random = Random(20261123)
    for round_ in range(2):
        state, folder = tmp_path / f"state{round_}", tmp_path / "said"
        for stage in STAGES:
            process = commanded(folder, *asked(state, "run.chunk_papers=1"), pause_s=0.004)
            wait_for(partial(at_stage, state, process, stage), process)
            time.sleep(random.uniform(0.0, 0.15))
            if stop(process, folder, sign):
                trial(f"{sign.name}: {stage_of_stop(state)}", CLEAN)
                assert (Store(state, EDITION).status() or {})["state"] == "stopped"
            assert_readable(state)
        assert ended(state, "run.chunk_papers=1") == 0
        assert_undisturbed(state, undisturbed)
    trial(f"{sign.name}: then a run to its end", "tables equal those of the undisturbed run")


def stage_of_stop(state: Path) -> str:
    """The last stage that the log of the stopped run names."""
    import json

    log = Path((Store(state, EDITION).status() or {})["log"])
    stages = [entry["stage"] for entry in map(json.loads, log.read_text().splitlines()) if entry["event"] == "stage"]
    return " ".join(stages[-1].split()[:2])


@SOONER
def test_a_refresh_whose_endpoint_does_not_answer(tmp_path, trial, sign):
    with scripted_chat(pause_s=120.0) as server:
        overrides = by_lm(tmp_path, server)
        process = commanded(tmp_path, *asked(tmp_path / "state", *overrides), "--limit", "2")
        wait_for(lambda: server.count >= 2, process)
        assert stop(process, tmp_path, sign)
        in_flight = server.count
    trial(f"{sign.name}: an LM endpoint does not answer", CLEAN)
    with scripted_chat() as server:
        overrides = by_lm(tmp_path, server)
        assert ended(tmp_path / "state", *overrides, limit=2) == 0
        paid = server.count
        assert ended(tmp_path / "undisturbed", *overrides, limit=2) == 0
        assert_paid_once(server.requests[:paid], server.count - paid, in_flight)
    assert_undisturbed(tmp_path / "state", tables(tmp_path / "undisturbed"))


@pytest.mark.slow
@SIGNS
def test_a_refresh_whose_replies_come_soon_keeps_what_is_in_flight(tmp_path, trial, sign):
    with scripted_chat(pause_s=1.0) as server:
        overrides = by_lm(tmp_path, server)
        process = commanded(tmp_path, *asked(tmp_path / "state", *overrides), "--limit", "2")
        wait_for(lambda: server.count >= 2, process)
        assert stop(process, tmp_path, sign)
        kept = len(list((tmp_path / "state" / "replies").glob("*/*.json")))
        assert kept == server.count
        assert ended(tmp_path / "state", *overrides, limit=2) == 0
        asked_for = [str(body["messages"]) for body in server.requests]
        assert len(asked_for) == len(set(asked_for)), "a reply was bought twice"
    trial(f"{sign.name}: replies are in flight", f"{CLEAN}; what is paid for is kept")


@SOONER
def test_a_refresh_whose_pdf_children_hang(undisturbed_two, tmp_path, trial, sign):
    process = commanded(tmp_path, *asked(tmp_path / "state"), "--limit", "2")
    hung: set[int] = set()
    wait_for(lambda: bool(children(process.pid)), process)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        for pid in children(process.pid):
            os.kill(pid, signal.SIGSTOP)
            hung.add(pid)
        time.sleep(0.02)
    assert hung
    assert stop(process, tmp_path, sign)
    assert not any(Path(f"/proc/{pid}").exists() for pid in hung)
    assert ended(tmp_path / "state", limit=2) == 0
    assert_undisturbed(tmp_path / "state", undisturbed_two)
    trial(f"{sign.name}: processes that read PDFs hang", CLEAN)


@pytest.fixture(scope="module")
def undisturbed_two(tmp_path_factory):
    state = tmp_path_factory.mktemp("undisturbed-two")
    assert ended(state, limit=2) == 0
    return tables(state)


@pytest.mark.slow
@SIGNS
def test_a_refresh_that_waits_for_another(tmp_path, trial, sign):
    with Store(tmp_path / "state", EDITION).lock("test"):
        process = commanded(tmp_path, *asked(tmp_path / "state"), "--wait", "600")
        time.sleep(1.5)
        assert stop(process, tmp_path, sign)
    trial(f"{sign.name}: waiting for the edition", CLEAN)
