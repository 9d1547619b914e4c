"""Ctrl-C and SIGTERM: a run ends within five seconds whatever it waits for, keeps its state, leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pytest

from gre_bench.cli.stopping import LINE as STOPPED
from gre_bench.cli.stopping import ONE_STOP_S
from gre_bench.release import manifest
from gre_bench.store import Store
from tests.conftest import SIXTEEN
from tests.faults.endpoints import with_settings
from tests.faults.invariants import assert_paid_once, assert_readable, assert_undisturbed
from tests.faults.killing import DEMO, GIVEN, by_lm, children, commanded, ended, gone, left_behind, said, under_prefect
from tests.flows.fetching import ACCOUNT, served
from tests.flows.refreshing import EDITION, tables, with_papers_read
from tests.holds import wait_for
from tests.ingest.pdf.test_reader import endless
from tests.servers.chat import ScriptedChat, scripted_chat
from tests.servers.openreview import fault

pytestmark = pytest.mark.timeout(1200)
ENDS_IN_S = 5.0
AT_ONCE_S = 2.5
CLEAN = "ends within 5 s with one line and exit 130; the state is kept, no process is left"
REFRESH = ("refresh", "--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")
SIGNS = pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
ONE_SIGN = [
    pytest.param(signal.SIGINT, id="ctrl-c"),
    pytest.param(signal.SIGTERM, id="sigterm", marks=pytest.mark.night),
]
SOONER = pytest.mark.parametrize("sign", ONE_SIGN)
STAGES = ("importing", "reading papers", "writing reviews", "writing judgments", "writing synopses", "planning",
          "scoring", "publishing")  # fmt: skip


def asked(state: Path, *overrides: str) -> tuple[str, ...]:
    return (*REFRESH, *with_settings(*overrides), "--state", str(state))


def stop(process: BaseProcess, folder: Path, sign: signal.Signals, host: str | None = None) -> bool:
    """Stops the command *process* and looks at its end; False if it was done before.

    It may have said before whom it contacts, and how often: in lines that name *host*.
    """
    began = time.monotonic()
    # A terminal's Ctrl-C goes to the whole group, an operator's signal to the process.
    with suppress(ProcessLookupError):
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
    assert [line for line in err.splitlines() if not host or host not in line] == [STOPPED], err
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


@contextmanager
def asking(folder: Path, **server: Any) -> Iterator[tuple[ScriptedChat, BaseProcess]]:
    """A refresh of two papers under *folder* that has asked a scripted server of this behaviour twice."""
    with scripted_chat(**server) as chat:
        process = commanded(folder, *asked(folder / "state", *by_lm(folder, chat)), "--limit", "2")
        wait_for(lambda: chat.count >= 2, process)
        yield chat, process


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    state = tmp_path_factory.mktemp("undisturbed")
    assert ended(state) == 0
    return tables(state)


@pytest.mark.night
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


@pytest.mark.night
@SIGNS
def test_a_refresh_whose_endpoint_does_not_answer(tmp_path, trial, sign):
    with asking(tmp_path, pause_s=120.0) as (server, process):
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


@SOONER
def test_a_refresh_whose_endpoint_drips_a_byte_a_second(tmp_path, trial, sign):
    with_papers_read(tmp_path / "state")
    with asking(tmp_path, then="drip_slowly") as (_, process):
        time.sleep(1.5)
        assert stop(process, tmp_path, sign)
    assert (Store(tmp_path / "state", EDITION).status() or {})["state"] == "stopped"
    trial(f"{sign.name}: an LM endpoint drips a byte a second", CLEAN)


@SOONER
def test_a_second_stop_does_not_wait_for_what_the_first_one_waits_for(tmp_path, trial, sign):
    with_papers_read(tmp_path / "state")
    with asking(tmp_path, pause_s=120.0) as (_, process):
        os.killpg(process.pid, sign)
        time.sleep(2 * ONE_STOP_S)
        assert process.exitcode is None
        began = time.monotonic()
        assert stop(process, tmp_path, sign)
        assert time.monotonic() - began < AT_ONCE_S
    assert ended(tmp_path / "state", limit=2) == 0
    trial(f"{sign.name}: a second one", "ends at once; the next run goes on")


@pytest.mark.night
@SIGNS
def test_a_refresh_under_the_prefect_engine_whose_endpoint_drips(tmp_path, trial, sign):
    with scripted_chat(then="drip_slowly") as server:
        process = under_prefect(tmp_path / "state", *with_settings(*by_lm(tmp_path, server)), "--limit", "2")
        wait_for(lambda: server.count >= 2, process)
        assert_stops(process, sign)
    trial(f"{sign.name}: under the Prefect engine an LM endpoint drips", CLEAN)


@pytest.mark.night
@SIGNS
def test_a_refresh_whose_replies_come_soon_keeps_what_is_in_flight(tmp_path, trial, sign):
    with asking(tmp_path, pause_s=1.0) as (server, process):
        assert stop(process, tmp_path, sign)
        kept = len(list((tmp_path / "state" / "replies").glob("*/*.json")))
        assert kept == server.count
        assert ended(tmp_path / "state", *by_lm(tmp_path, server), limit=2) == 0
        asked_for = [str(body["messages"]) for body in server.requests]
        assert len(asked_for) == len(set(asked_for)), "a reply was bought twice"
    trial(f"{sign.name}: replies are in flight", f"{CLEAN}; what is paid for is kept")


@SOONER
def test_a_refresh_whose_pdf_children_hang(undisturbed_two, tmp_path, trial, sign):
    pdfs = tmp_path / "pdfs"
    pdfs.mkdir()
    long = endless(150)
    for paper in (SIXTEEN / "pdfs").glob("s*.pdf"):
        (pdfs / paper.name).write_bytes(long)
    process = commanded(tmp_path, *asked(tmp_path / "state", f"sources.pdfs={pdfs}"), "--limit", "2")
    wait_for(lambda: readers(process.pid), process)
    hung = readers(process.pid)
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    assert stop(process, tmp_path, sign)
    # They were killed; who has taken their parent's place may take a moment to bury them.
    gone(hung, 5.0)
    assert ended(tmp_path / "state", limit=2) == 0
    assert_undisturbed(tmp_path / "state", undisturbed_two)
    trial(f"{sign.name}: processes that read PDFs hang", CLEAN)


def readers(pid: int) -> list[int]:
    """The processes that read PDFs for *pid*; not those that it is only about to start, for which it waits itself."""
    return [child for child in children(pid) if b"gre_bench.ingest.pdf.reader" in command_line(child)]


def computed_s(pid: int) -> float:
    """Seconds of computing that the process *pid* has done; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def undisturbed_two(tmp_path_factory):
    state = with_papers_read(tmp_path_factory.mktemp("undisturbed-two"))
    assert ended(state, limit=2) == 0
    return tables(state)


@pytest.mark.night
@SIGNS
def test_a_long_query_of_a_user(tmp_path, trial, sign):
    assert ended(tmp_path / "state", file=GIVEN, limit=2) == 0
    statement = "select count(*) from range(100000000000) a where hash(a.range) = 7"
    process = commanded(tmp_path, "sql", EDITION, statement, "--state", str(tmp_path / "state"))
    wait_for(lambda: sum(map(computed_s, children(process.pid))) > 2.0, process)
    assert stop(process, tmp_path, sign)
    trial(f"{sign.name}: gre-bench sql at a long query", CLEAN)


@pytest.mark.night
@SIGNS
def test_a_refresh_that_waits_for_another(tmp_path, trial, sign):
    with Store(tmp_path / "state", EDITION).lock("test"):
        process = commanded(tmp_path, *asked(tmp_path / "state"), "--wait", "600")
        time.sleep(1.5)
        assert stop(process, tmp_path, sign)
    trial(f"{sign.name}: waiting for the edition", CLEAN)


@pytest.mark.night
@SIGNS
def test_a_fetch_whose_service_stalls(tmp_path, trial, sign):
    environment = {"OPENREVIEW_USERNAME": ACCOUNT.username, "OPENREVIEW_PASSWORD": ACCOUNT.password}
    with served(faults=[fault("stall", seconds=120.0, every=4)]) as service:
        asked = ("fetch", "SAMPLE", "2026", "--host", service.v2, "--set", "fetch.page=5", "--no-prefect")
        process = commanded(tmp_path, *asked, "--state", str(tmp_path / "state"), environment=environment)
        wait_for(lambda: service.counts.total() >= 4, process)
        time.sleep(0.5)
        assert stop(process, tmp_path, sign, "127.0.0.1")
    trial(f"{sign.name}: OpenReview stalls in the middle of a body", CLEAN)


@pytest.mark.night
@SIGNS
def test_a_publish_at_random_moments(tmp_path, trial, sign):
    random, state, stopped = Random(9), tmp_path / "state", 0
    assert ended(state, file=GIVEN) == 0
    began = time.monotonic()
    process = commanded(tmp_path, "publish", EDITION, "--state", str(state))
    process.join(600)
    assert process.exitcode == 0, said(tmp_path)
    seconds = time.monotonic() - began
    before = set((state / "releases").glob("[!.]*"))
    for _ in range(6):
        process = commanded(tmp_path, "publish", EDITION, "--again", "--state", str(state))
        time.sleep(random.uniform(0.0, 0.9) * seconds)
        if stop(process, tmp_path, sign):
            stopped += 1
            # A signal that comes when the release is in its place finds it whole.
            now = set((state / "releases").glob("[!.]*"))
            assert before <= now and len(now - before) <= 1
            assert all(manifest.verify_release(release) for release in now - before)
        before = set((state / "releases").glob("[!.]*"))
    assert stopped
    trial(f"{sign.name}: publishing", f"{CLEAN}; the releases are as before, or one more is whole", stopped)


@pytest.mark.night
@pytest.mark.timeout(1800)
@SIGNS
def test_a_refresh_under_the_prefect_engine_at_random_moments(undisturbed, tmp_path, trial, sign):
    random, state, stopped, seconds = Random(11), tmp_path / "state", 0, 8.0
    while stopped < 4:
        began = time.monotonic()
        process = under_prefect(state)
        try:
            process.wait(random.uniform(0.4, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            assert_stops(process, sign)
            stopped += 1
        else:
            assert process.returncode == 0, process.communicate()
            seconds = time.monotonic() - began
            assert_undisturbed(state, undisturbed)
            rmtree(state)
    process = under_prefect(state)
    assert process.communicate(timeout=600) and process.returncode == 0
    assert_undisturbed(state, undisturbed)
    trial(f"{sign.name}: under the Prefect engine", CLEAN, stopped)


def assert_stops(process: subprocess.Popen[str], sign: signal.Signals) -> None:
    """*process*, a run under an engine of its own, ends in time, in one line, and its server with it."""
    servers = children(process.pid)
    began = time.monotonic()
    os.killpg(process.pid, sign) if sign == signal.SIGINT else os.kill(process.pid, sign)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < ENDS_IN_S
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == STOPPED, err
    assert "Traceback" not in err
    assert left_behind(process.pid) == []
    gone(servers, 20.0)
