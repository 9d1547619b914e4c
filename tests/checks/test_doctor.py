"""The doctor and the dry run: what is wrong is one line with what to do, no secret is ever shown, nothing is paid."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gre_bench.checks import doctor
from gre_bench.checks.dry_run import estimate_refresh_cost
from gre_bench.core import settings
from gre_bench.lm.weights import CudaDevice, InstalledTorch
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.writing.spend_log import SpendLog
from tests.conftest import ROOT
from tests.flows.fetching import LOGIN, served
from tests.flows.fetching import settings as fetching
from tests.flows.refreshing import DEMO, demo, run, use
from tests.scripted_lms import FaultyLM, OverlapLM
from tests.servers.chat import MODEL, scripted_chat
from tests.servers.openreview import Limit

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
def answering(status: int, body: str | Callable[[str], str], **headers: str):
    """A server that answers everything alike, or by its path, and keeps what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, dict(self.headers)))
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write((body if isinstance(body, str) else body(self.path)).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

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
    command = [sys.executable, "-m", "gre_bench.cli.app", "doctor", "--json"]
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
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
    found = {each.check: each for each in doctor.run_checks(wrong, tmp_path)}
    problems = {name for name, each in found.items() if each.verdict == "problem"}
    assert problems == {"settings", "budget", "evaluation LM", "LMs", "fit"}
    assert "no file" in found["settings"].found and "no model 'gpt-9'" in found["LMs"].found
    assert found["OpenReview"].verdict == "ok"


def test_a_broken_evaluation_lm_is_a_problem_and_one_that_learns_nothing_from_a_review_a_warning(tmp_path):
    use(OverlapLM())
    assert lines(doctor.check_evaluation_lm, chosen(), tmp_path)[0].startswith("ok evaluation LM: ")
    for logprob, verdict in ((math.nan, "problem"), (-1e6, "warning")):
        use(FaultyLM(lambda span, value=logprob: replace(span, total=value, logprobs=(value,), ids=(0,)),
                     lambda asked: asked.x is not None))  # fmt: skip
        assert lines(doctor.check_evaluation_lm, chosen(), tmp_path)[0].startswith(f"{verdict} evaluation LM: ")


def test_an_endpoint_is_asked_for_its_models_alone_and_is_a_problem_where_it_is_down_or_its_key_is_missing(tmp_path):
    with scripted_chat() as server:
        found = lines(doctor.check_endpoints, asking(tmp_path, server.url), tmp_path)
        assert found == [f"ok LM scripted: {server.url[7:-3]} serves {MODEL} → "]
        found = lines(doctor.check_endpoints, asking(tmp_path, server.url, model="other"), tmp_path)
        line = f"warning LM scripted: {server.url[7:-3]} does not list other → correct model in the models file"
        assert line in found and server.count == 0
    (found,) = lines(doctor.check_endpoints, asking(tmp_path, "http://127.0.0.1:9/v1"), tmp_path)
    assert found.startswith("problem LM scripted: 127.0.0.1:9 does not answer: ConnectError → start it")
    (found,) = lines(
        doctor.check_endpoints, asking(tmp_path, "http://127.0.0.1:9/v1", 'key_env = "SCRIPTED_KEY"'), tmp_path
    )
    assert "set the environment variable SCRIPTED_KEY → export SCRIPTED_KEY=..." in found


def test_a_provider_is_opened_and_asked_nothing_and_is_a_problem_where_its_key_is_missing(tmp_path, monkeypatch):
    pytest.importorskip("inspect_ai", reason="providers need the extra inspect")
    with scripted_chat() as server:
        entry = (server.url, 'provider = "inspect"\nkey_env = "SCRIPTED_KEY"', f"openai-api/scripted/{MODEL}")
        (found,) = lines(doctor.check_endpoints, asking(tmp_path, *entry), tmp_path)
        assert "set the environment variable SCRIPTED_KEY → set or install what it names" in found
        monkeypatch.setenv("SCRIPTED_KEY", CANARY)
        (found,) = lines(doctor.check_endpoints, asking(tmp_path, *entry), tmp_path)
        assert found == f"ok LM scripted: {server.url} can be opened; nothing was sent → " and server.count == 0


@pytest.mark.parametrize(
    ("status", "told"),
    [(200, "does not list [secret]-model"), (401, "refuses the key (401)"), (500, "answers (500) and lists no models")],
)
def test_a_key_is_sent_to_its_endpoint_and_never_shown(tmp_path, monkeypatch, status, told):
    for name in ("SCRIPTED_KEY", "OPENREVIEW_PASSWORD", "OPENREVIEW_TOKEN"):
        monkeypatch.setenv(name, CANARY)
    use(OverlapLM())
    echo = json.dumps({"data": [{"id": CANARY}], "error": f"bad key {CANARY}"})
    with answering(status, echo, Location=f"/{CANARY}") as (url, asked):
        monkeypatch.setenv("PREFECT_API_URL", f"{url.replace('//', f'//user:{CANARY}@')}/api")
        wrong = asking(tmp_path, url, 'key_env = "SCRIPTED_KEY"', CANARY + "-model")
        found = [repr(each) for each in doctor.run_checks(wrong, tmp_path)]
    assert ("/models", f"Bearer {CANARY}") in [
        (path, headers.get("authorization", headers.get("Authorization"))) for path, headers in asked
    ]
    assert "canary" not in "".join(found)
    assert told in "".join(found)


def test_a_clock_that_is_off_is_told_by_files_here_and_by_endpoints(tmp_path):
    assert lines(doctor.check_system_clock, chosen(), tmp_path)[0].startswith("ok clock: ")
    file = tmp_path / "spending.jsonl"
    file.touch()
    os.utime(file, (time.time() + 5000,) * 2)
    (found,) = lines(doctor.check_system_clock, chosen(), tmp_path)
    assert found.startswith("problem clock: ") and " s before the newest file here → set it (NTP)" in found
    with answering(200, '{"data": []}', Date="Wed, 01 Jan 2025 00:00:00 GMT") as (url, _):
        found = lines(doctor.check_endpoints, asking(tmp_path, url), tmp_path)
    assert found[-1].startswith("warning clock: +") and found[-1].endswith("set it (NTP)")


def test_a_state_that_cannot_be_written_is_a_problem(tmp_path):
    (tmp_path / "file").touch()
    found = lines(doctor.check_state_folder, chosen(), tmp_path / "file" / "state")
    assert found[0].startswith("problem state: ") and "choose another by --state" in found[0]


@pytest.mark.parametrize(
    ("free", "papers", "verdict"),
    [(2**29, 16, "problem"), (5 * 2**30, 16, "warning"), (2**35, 16, "ok"), (2**35, 40_000, "problem"),
     (2**36, 40_000, "warning")],
)  # fmt: skip
def test_a_disk_that_is_nearly_full_or_too_small_for_the_edition_is_told(tmp_path, monkeypatch, free, papers, verdict):
    usage = type(doctor.shutil.disk_usage(tmp_path))(2**40, 0, free)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    (found,) = lines(doctor.check_disk, chosen(f"edition.papers={papers}"), tmp_path / "none" / "yet")
    assert found.startswith(f"{verdict} disk: {free / 2**30:.1f} GiB free; SAMPLE-2026 takes ")


def test_a_run_adds_no_more_to_the_disk_than_was_said_and_then_only_what_is_new(tmp_path):
    use(OverlapLM())
    wanted = demo()
    said = doctor.estimate_bytes_needed(wanted, tmp_path)
    run(tmp_path)
    taken = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert 0 < taken < said and doctor.estimate_bytes_needed(wanted, tmp_path) < said


def test_packages_that_lack_or_differ_are_named(tmp_path, monkeypatch):
    versions = doctor._get_installed_version
    monkeypatch.setattr(doctor, "_get_installed_version", lambda name: "0.1" if name == "duckdb" else versions(name))
    assert "duckdb 0.1 (tested: 2." in lines(doctor.check_packages, chosen(), tmp_path)[0]
    monkeypatch.setattr(doctor, "_get_installed_version", lambda name: None if name == "duckdb" else versions(name))
    assert lines(doctor.check_packages, chosen(), tmp_path)[0].startswith(
        "problem packages: not installed: duckdb → pip"
    )


@pytest.mark.parametrize(
    ("here", "override", "part"),
    [
        (None, "evaluation_lm.backend=transformers", "problem torch: not installed; transformers needs it → pip install"),
        (None, "run.workers=2", "ok torch: not installed"),
        (InstalledTorch("2.13.0", None, ()), "evaluation_lm.backend=transformers", "warning gpu: none"),
        (InstalledTorch("2.13.0", "13.0", (CudaDevice("H100", 2**36, 2**36),)), "run.workers=2",
         "ok gpu: H100, 64.0 of 64.0 GiB free"),
    ],
)  # fmt: skip
def test_a_gpu_is_missed_where_the_evaluation_lm_needs_one(tmp_path, monkeypatch, here, override, part):
    monkeypatch.setattr("gre_bench.lm.weights.describe_installed_torch", lambda: here)
    assert any(line.startswith(part) for line in lines(doctor.check_gpu, chosen(override), tmp_path))


def test_a_precision_that_the_cpu_emulates_is_named_with_the_other_one(tmp_path, monkeypatch):
    monkeypatch.setattr("gre_bench.lm.weights.describe_installed_torch", lambda: InstalledTorch("2.13.0", None, ()))
    monkeypatch.setattr("gre_bench.lm.weights.measure_dtype_slowdown", lambda dtype: {"bfloat16": 68.0}[dtype])
    backend = "evaluation_lm.backend=gem-smollm2"
    said = lines(doctor.check_gpu, chosen(backend), tmp_path)[-1]
    assert said.startswith(
        "warning arithmetic: this CPU computes bfloat16 68 times slower than float32 → set evaluation_lm"
    )
    assert "arithmetic" not in lines(doctor.check_gpu, chosen(backend, "evaluation_lm.dtype=float32"), tmp_path)[-1]


def test_a_prefect_server_of_the_environment_must_be_healthy(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    absent = lines(doctor.check_prefect_server, chosen(), tmp_path)[0]
    assert absent.startswith("problem prefect: server at 127.0.0.1 does not")
    for body, verdict in (("true", "ok"), ("<html>", "problem")):
        with answering(200, body) as (url, asked):
            monkeypatch.setenv("PREFECT_API_URL", f"{url}/api")
            assert lines(doctor.check_prefect_server, chosen(), tmp_path)[0].startswith(verdict)
            assert asked[0][0] == "/api/health"


def test_a_prefect_server_whose_database_is_away_is_a_problem(tmp_path, monkeypatch):
    def no_database(path: str) -> str:
        if path == "/api/ready":
            raise ConnectionResetError  # the answer ends there
        return json.dumps(SAID[path])

    with answering(200, no_database) as (url, _):
        monkeypatch.setenv("PREFECT_API_URL", f"{url}/api")
        (found,) = lines(doctor.check_prefect_server, chosen(), tmp_path)
    assert found.startswith("problem prefect: server at 127.0.0.1 answers, and its database does not")


def test_a_ray_cluster_is_asked_whether_it_is_there(tmp_path):
    assert lines(doctor.check_ray_cluster, chosen(), tmp_path) == []
    with answering(200, "") as (url, _):
        there = chosen("run.runner=ray", f"run.ray_address={url.removeprefix('http://')}")
        assert lines(doctor.check_ray_cluster, there, tmp_path)[0].startswith("ok ray: something answers at 127.0.0.1:")
    (found,) = lines(doctor.check_ray_cluster, chosen("run.runner=ray", "run.ray_address=127.0.0.1:9"), tmp_path)
    assert found.startswith("problem ray: no Ray cluster answers at 127.0.0.1:9 (run.ray_address): Connection refused")


def test_a_login_is_missed_where_something_is_to_be_fetched_tried_once_and_never_shown(tmp_path, monkeypatch):
    def told(chosen: settings.Settings, state: Path = tmp_path) -> str:
        (found,) = lines(doctor.check_openreview, chosen, state)
        return found

    assert told(settings.load(None, ("edition.venue=ICLR",))).startswith("warning OpenReview: no login")
    assert told(chosen()).startswith("ok OpenReview: no login")
    for name, value in LOGIN.items():
        monkeypatch.setenv(name, value)
    with served() as loopback:
        host = loopback.v2.partition("//")[2]
        account = "an account in env:OPENREVIEW_USERNAME and env:OPENREVIEW_PASSWORD"
        assert told(fetching(loopback.v2)).startswith(f"ok OpenReview: {host} takes {account}: 16 sub")
        assert loopback.counts == {"login": 1, "notes": 1}
        assert (tmp_path / "openreview" / "budget.json").is_file(), "the question is not counted among the fetches' own"
        assert told(fetching("http://127.0.0.1:9"), tmp_path / "none").startswith("problem OpenReview: ")
        assert not (tmp_path / "none").exists()
    with served(limits={"notes": Limit(1, 600.0)}) as loopback:
        told(fetching(loopback.v2))
        found = told(fetching(loopback.v2))
        assert found.startswith("ok OpenReview: ") and "not tried: paused until" in found
        assert loopback.counts["notes"] == 1 and not loopback.early
    monkeypatch.setenv("OPENREVIEW_PASSWORD", CANARY)
    with served() as loopback:
        found = told(fetching(loopback.v2))
        assert found.startswith("problem OpenReview: ") and "the login was refused" in found and CANARY not in found
        monkeypatch.delenv("OPENREVIEW_PASSWORD")
        assert told(fetching(loopback.v2)).startswith("problem OpenReview: half a login")


SAID = {
    "/api/health": True,
    "/api/ready": {"message": "OK"},
    "/api/admin/version": importlib.metadata.version("prefect"),
    "/api/deployments/filter": [
        {"name": "nightly", "work_pool_name": "cpu", "paused": False, "schedules": [{"active": True}]},
        {"name": "tune", "work_pool_name": "gpu", "paused": False, "schedules": []},
    ],
    "/api/work_pools/filter": [{"name": "cpu", "is_paused": False}, {"name": "gpu", "is_paused": False}],
    "/api/work_pools/cpu/workers/filter": [{"status": "ONLINE"}, {"status": "OFFLINE"}],
    "/api/work_pools/gpu/workers/filter": [],
}


@pytest.mark.parametrize(
    ("told", "lines_said"),
    [
        ({}, ["ok work pools: cpu has 1 worker online; scheduled there: nightly",
              "ok work pools: gpu has no worker online; scheduled there: nothing"]),
        ({"/api/work_pools/cpu/workers/filter": []},
         ["warning work pools: cpu has no worker online; scheduled there: nightly → prefect worker start --pool cpu"]),
        ({"/api/work_pools/filter": []},
         ["problem work pools: no work pool 'cpu'", "problem work pools: no work pool 'gpu'"]),
        ({"/api/work_pools/filter": [{"name": "cpu", "is_paused": True}]}, ["warning work pools: cpu is paused"]),
        ({"/api/deployments/filter": []},
         ["warning work pools: nothing of this project is deployed → to schedule it: prefect"]),
        ({"/api/admin/version": "3.0.0"}, ["warning prefect: the server is 3.0.0, this client "]),
        ({"/api/deployments/filter": {"detail": "no"}},
         ["problem prefect: server at 127.0.0.1 does not say what it has: TypeError"]),
    ],
    ids=["all is there", "no worker", "no pool", "paused pool", "nothing deployed", "other version", "another answer"],
)  # fmt: skip
def test_a_server_is_asked_for_its_version_and_for_workers_of_what_is_due(tmp_path, monkeypatch, told, lines_said):
    monkeypatch.setenv("PREFECT_API_KEY", CANARY)
    with answering(200, lambda path: json.dumps((SAID | told)[path])) as (url, asked):
        monkeypatch.setenv("PREFECT_API_URL", f"{url}/api/")
        found = lines(doctor.check_prefect_server, chosen(), tmp_path)
    assert found[0].startswith("ok prefect: server at 127.0.0.1 is healthy")
    assert all(any(line.startswith(part) for line in found) for part in lines_said), found
    assert {headers["Authorization"] for _, headers in asked} == {f"Bearer {CANARY}"} and CANARY not in "".join(found)


def test_a_budget_that_cannot_be_kept_is_a_problem_and_one_that_is_reached_a_warning(tmp_path):
    url = "http://127.0.0.1:9/v1"
    every = doctor.run_checks(asking(tmp_path, url, "", MODEL, "budget.usd=5"), tmp_path)
    found = next(each for each in every if each.check == "budget")
    assert found.verdict == "problem" and "no prices" in found.found
    SpendLog(tmp_path / "spending.jsonl").add("sent", "SAMPLE-2026", "scripted")
    found = lines(doctor.check_budget_limits, asking(tmp_path, url, "", MODEL, "budget.requests=1"), tmp_path)
    assert found[0].startswith("warning budget: reached: budget.requests; spent: 1 requests")


def with_context(folder, server, more: str, *overrides: str) -> settings.Settings:
    use(OverlapLM())
    file = folder / "models.toml"
    file.write_text(ENTRY.format(url=server.url, model=MODEL) + f"sampling.max_tokens = 200\n{more}\n")
    return demo(f"writing.models={file}", 'writing.candidates=["scripted"]', "scoring.metrics=['gem']", *overrides)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "warning fit scripted: a paper of 12,000 tokens: its context is not known → state context"),
        ("context = 4000", "problem fit scripted: a paper of 12,000 tokens: 1 of 1 papers do not fit scripted ("),
        ("context = 100000", "ok fit scripted: a paper of 12,000 tokens: the longest prompt has 12,"),
        ("max_output = 100", "problem fit scripted: scripted: the settings ask for 200 tokens, it gives at most 100"),
    ],
)
def test_the_doctor_says_before_there_is_a_paper_whether_a_usual_one_fits(tmp_path, more, said):
    with scripted_chat() as server:
        (found,) = lines(doctor.check_context_fit, with_context(tmp_path, server, more), tmp_path)
        assert found.startswith(said) and server.count == 0


def test_a_dry_run_counts_what_does_not_fit_and_the_run_sends_none_of_it(tmp_path):
    with scripted_chat() as server:
        chosen = with_context(tmp_path, server, "context = 2500")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        (row,) = estimate_refresh_cost(Job(chosen, tmp_path / "state"), scratch)["fit"]
        assert server.count == 0 and row["papers"] == 16
        assert row["fits"] + row["may_not_fit"] + row["does_not_fit"] == 16 and row["does_not_fit"]
        summary = refresh(Job(chosen, tmp_path / "state"))
        refused = sum(one["pairs"] for one in summary["reasons"] if "too_long" in str(one["reason"]))
        assert refused == 2 * row["does_not_fit"]
        assert server.count == 16 - row["does_not_fit"]


def test_cut_papers_are_all_sent_and_their_candidate_signs_the_cut(tmp_path):
    with scripted_chat() as server:
        chosen = with_context(tmp_path, server, "context = 2500", "writing.over_long=truncate")
        refresh(Job(chosen, tmp_path / "state"))
        assert server.count == 16
        longest = max(len(body["messages"][-1]["content"]) for body in server.requests)
        assert longest / 2.9 <= 2500 - 200 - 64
