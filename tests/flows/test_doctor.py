"""The doctor: what is fine is ok, what is wrong is one line with what to do, no secret is ever shown, nothing is paid."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from flows.operations import doctor, doctor_machine, doctor_services
from tasks import settings
from tasks.lm.accelerators import Accelerator, Torch
from tasks.writing.ledger import Ledger
from tests.conftest import ROOT
from tests.flows.refreshing import DEMO, use
from tests.scripted_lms import FaultyLM, OverlapLM
from tests.servers.scripted_chat import MODEL, scripted_chat

CANARY = "sk-canary-0123456789abcdef"
ENTRY = '[[model]]\nname = "scripted"\nendpoint = "{url}"\nmodel = "{model}"\n'


@pytest.fixture(autouse=True)
def no_service_of_the_machine(monkeypatch):
    for name in ("PREFECT_API_URL", "OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD", "OPENREVIEW_TOKEN", "SCRIPTED_KEY"):
        monkeypatch.delenv(name, raising=False)


def chosen(*overrides: str) -> settings.Settings:
    return settings.load(DEMO, ("evaluation_lm.backend=scripted", *overrides))


def asking(folder: Path, url: str, more: str = "", model: str = MODEL, *overrides: str) -> settings.Settings:
    (folder / "models.toml").write_text(ENTRY.format(url=url, model=model) + more)
    return chosen(f"writing.models={folder / 'models.toml'}", "writing.judgments=scripted", *overrides)


def lines(check, chosen: settings.Settings, state: Path) -> list[str]:
    return [f"{each.verdict} {each.check}: {each.found} → {each.to_do}" for each in check(chosen, state)]


@contextmanager
def answering(status: int, body: str, **headers: str):
    """A server that answers everything alike and keeps what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, dict(self.headers)))
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Silent."""

    asked: list = []
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def test_a_fresh_checkout_has_no_problem_and_is_left_as_it_is(tmp_path):
    environment = os.environ | {"GRE_BENCH_STATE": "state", "PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, "-m", "flows.cli", "doctor", "--json"], cwd=tmp_path, env=environment,
                           capture_output=True, text=True)
    findings = json.loads(found.stdout)
    assert found.returncode == 0, findings
    assert {"python", "packages", "state", "disk", "clock", "duckdb", "settings", "prefect", "evaluation LM"} <= {
        finding["check"] for finding in findings
    }
    assert "problem" not in {finding["verdict"] for finding in findings}
    assert all(finding["to_do"] for finding in findings if finding["verdict"] != "ok")
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_in_one_check_keeps_no_other_from_being_made(tmp_path):
    use(OverlapLM())
    wrong = chosen("sources.reviews=none.jsonl", "writing.candidates=['gpt-9']", "evaluation_lm.backend=none")
    found = {each.check: each for each in doctor.examine(wrong, tmp_path)}
    problems = {name for name, each in found.items() if each.verdict == "problem"}
    assert problems == {"settings", "budget", "evaluation LM", "LMs"}
    assert "no file" in found["settings"].found and "no model 'gpt-9'" in found["LMs"].found
    assert found["OpenReview"].verdict == "ok"


def test_a_broken_evaluation_lm_is_a_problem_and_one_that_learns_nothing_from_a_review_a_warning(tmp_path):
    use(OverlapLM())
    assert lines(doctor_services.evaluation_lm, chosen(), tmp_path)[0].startswith("ok evaluation LM: ")
    for logprob, verdict in ((math.nan, "problem"), (-1e6, "warning")):
        use(FaultyLM(lambda span, value=logprob: replace(span, total=value, logprobs=(value,), ids=(0,)), lambda asked: asked.x is not None))
        assert lines(doctor_services.evaluation_lm, chosen(), tmp_path)[0].startswith(f"{verdict} evaluation LM: ")


def test_an_endpoint_is_asked_for_its_models_and_nothing_else(tmp_path):
    with scripted_chat() as server:
        found = lines(doctor_services.endpoints, asking(tmp_path, server.url), tmp_path)
        assert found == [f"ok LM scripted: {server.url[7:-3]} serves {MODEL} → "]
        found = lines(doctor_services.endpoints, asking(tmp_path, server.url, model="other"), tmp_path)
        assert f"warning LM scripted: {server.url[7:-3]} does not list other → correct model in the models file" in found
        assert server.count == 0


def test_an_endpoint_that_is_down_or_a_key_that_is_missing_is_a_problem(tmp_path):
    found, = lines(doctor_services.endpoints, asking(tmp_path, "http://127.0.0.1:9/v1"), tmp_path)
    assert found.startswith("problem LM scripted: 127.0.0.1:9 does not answer: ConnectError → start it")
    found, = lines(doctor_services.endpoints, asking(tmp_path, "http://127.0.0.1:9/v1", 'key_env = "SCRIPTED_KEY"'), tmp_path)
    assert "set the environment variable SCRIPTED_KEY → export SCRIPTED_KEY=..." in found


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_key_is_sent_to_its_endpoint_and_never_shown(tmp_path, monkeypatch, status):
    for name in ("SCRIPTED_KEY", "OPENREVIEW_PASSWORD", "OPENREVIEW_TOKEN"):
        monkeypatch.setenv(name, CANARY)
    use(OverlapLM())
    echo = json.dumps({"data": [{"id": CANARY}], "error": f"bad key {CANARY}"})
    with answering(status, echo, Location=f"/{CANARY}") as (url, asked):
        monkeypatch.setenv("PREFECT_API_URL", f"{url.replace('//', f'//user:{CANARY}@')}/api")
        wrong = asking(tmp_path, url, 'key_env = "SCRIPTED_KEY"', CANARY + "-model")
        found = [repr(each) for each in doctor.examine(wrong, tmp_path)]
    assert ("/models", f"Bearer {CANARY}") in [(path, headers.get("authorization", headers.get("Authorization"))) for path, headers in asked]
    assert "canary" not in "".join(found)
    verdict = {200: "does not list [secret]-model", 401: "refuses the key (401)", 500: "answers (500) and lists no models"}
    assert verdict[status] in "".join(found)


def test_a_clock_that_is_off_is_told_by_files_here_and_by_endpoints(tmp_path):
    assert lines(doctor_machine.clock, chosen(), tmp_path)[0].startswith("ok clock: ")
    file = tmp_path / "spending.jsonl"
    file.touch()
    os.utime(file, (time.time() + 5000,) * 2)
    found, = lines(doctor_machine.clock, chosen(), tmp_path)
    assert found.startswith("problem clock: ") and " s before the newest file here → set it (NTP)" in found
    with answering(200, '{"data": []}', Date="Wed, 01 Jan 2025 00:00:00 GMT") as (url, _):
        found = lines(doctor_services.endpoints, asking(tmp_path, url), tmp_path)
    assert found[-1].startswith("warning clock: +") and found[-1].endswith("set it (NTP)")


def test_a_state_that_cannot_be_written_is_a_problem(tmp_path):
    (tmp_path / "file").touch()
    found = lines(doctor_machine.state_folder, chosen(), tmp_path / "file" / "state")
    assert found[0].startswith("problem state: ") and "choose another by --state" in found[0]


@pytest.mark.parametrize(("free", "verdict"), [(2**29, "problem"), (5 * 2**30, "warning"), (2**35, "ok")])
def test_a_disk_that_is_nearly_full_is_told(tmp_path, monkeypatch, free, verdict):
    usage = type(doctor_machine.shutil.disk_usage(tmp_path))(2**40, 0, free)
    monkeypatch.setattr(doctor_machine.shutil, "disk_usage", lambda _: usage)
    found = lines(doctor_machine.state_folder, chosen(), tmp_path)[1]
    assert found.startswith(f"{verdict} disk: {free / 2**30:.1f} GiB free")


def test_packages_that_lack_or_differ_are_named(tmp_path, monkeypatch):
    versions = doctor_machine._version
    monkeypatch.setattr(doctor_machine, "_version", lambda name: "0.1" if name == "duckdb" else versions(name))
    assert "duckdb 0.1 (tested: 2." in lines(doctor_machine.packages, chosen(), tmp_path)[0]
    monkeypatch.setattr(doctor_machine, "_version", lambda name: None if name == "duckdb" else versions(name))
    assert lines(doctor_machine.packages, chosen(), tmp_path)[0].startswith("problem packages: not installed: duckdb → pip")


@pytest.mark.parametrize(
    ("here", "override", "part"),
    [
        (None, "evaluation_lm.backend=transformers", "problem torch: not installed; transformers needs it → pip install"),
        (None, "run.workers=2", "ok torch: not installed"),
        (Torch("2.13.0", None, ()), "evaluation_lm.backend=transformers", "warning gpu: none"),
        (Torch("2.13.0", "13.0", (Accelerator("H100", 2**36, 2**36),)), "run.workers=2", "ok gpu: H100, 64.0 of 64.0 GiB free"),
    ],
)
def test_a_gpu_is_missed_where_the_evaluation_lm_needs_one(tmp_path, monkeypatch, here, override, part):
    monkeypatch.setattr("tasks.lm.accelerators.torch_here", lambda: here)
    assert any(line.startswith(part) for line in lines(doctor_machine.gpu, chosen(override), tmp_path))


def test_a_prefect_server_of_the_environment_must_be_healthy(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert lines(doctor_services.prefect, chosen(), tmp_path)[0].startswith("problem prefect: server at 127.0.0.1 does not")
    for body, verdict in (("true", "ok"), ("<html>", "problem")):
        with answering(200, body) as (url, asked):
            monkeypatch.setenv("PREFECT_API_URL", f"{url}/api")
            assert lines(doctor_services.prefect, chosen(), tmp_path)[0].startswith(verdict)
            assert asked[0][0] == "/api/health"


def test_a_login_is_missed_only_where_something_is_to_be_fetched(tmp_path, monkeypatch):
    fetched = settings.load(None, ("edition.venue=ICLR",))
    assert lines(doctor_services.openreview, fetched, tmp_path)[0].startswith("warning OpenReview: no login")
    assert lines(doctor_services.openreview, chosen(), tmp_path)[0].startswith("ok OpenReview: no login")
    monkeypatch.setenv("OPENREVIEW_USERNAME", "someone")
    monkeypatch.setenv("OPENREVIEW_PASSWORD", CANARY)
    assert lines(doctor_services.openreview, fetched, tmp_path)[0].startswith("ok OpenReview: an account in env:")


def test_a_budget_that_cannot_be_kept_is_a_problem_and_one_that_is_reached_a_warning(tmp_path):
    url = "http://127.0.0.1:9/v1"
    found = [each for each in doctor.examine(asking(tmp_path, url, "", MODEL, "budget.usd=5"), tmp_path) if each.check == "budget"]
    assert found[0].verdict == "problem" and "no prices" in found[0].found
    Ledger(tmp_path / "spending.jsonl").add("sent", "SAMPLE-2026", "scripted")
    found = lines(doctor_services.budget, asking(tmp_path, url, "", MODEL, "budget.requests=1"), tmp_path)
    assert found[0].startswith("warning budget: reached: budget.requests; spent: 1 requests")
