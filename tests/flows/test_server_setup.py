"""Work pools, login and automations of a Prefect server: told twice, there once; and what they do when a run crashes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.conftest import ROOT
from tests.servers.processes import run_command, serve_prefect

ASKING = """
import sys
import time
from datetime import UTC, datetime, timedelta
from prefect.client.orchestration import get_client
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed, Pending, Running, Scheduled, Submitting
own = {"venue": "SAMPLE", "roster": "mine.toml", "year": 2026, "state": "trial/{{ x }} <b>", "gpu": False, "settings": {}}
ends = {"crashed": [Crashed(message="killed")], "done": [Completed(message="all done")],
        "paused": [Completed(name="Paused", message="at its bound")], "silent": [Running()], "taken": [Pending()],
        "submitted": [Pending(), Submitting()], "cancelling": [Running(), Cancelling()],
        "failed": [Failed(message="pairs are missing")] * 4, "failed stage": [Failed(message="a stage")],
        "refused": [Cancelled(message="Deployment concurrency limit reached.")], "cancelled": [Cancelled(message="by me")]}
ends["crashed elsewhere"] = ends["crashed"]
with get_client(sync_client=True) as client:
    for asked in sys.argv[1:]:
        end, name = asked.split(":")
        found = client.read_deployment_by_name(name)
        if end == "late":
            due = Scheduled(scheduled_time=datetime.now(UTC) - timedelta(hours=1))
            client.create_flow_run_from_deployment(found.id, state=due)
            continue
        given = {"parameters": own} if name == "year/year-neurips" else {}
        if end == "crashed elsewhere":
            given["job_variables"] = {"env": {"GRE_BENCH_STATE": "trial"}}
        run = client.create_flow_run_from_deployment(found.id, **given)
        # A run that ends is never running here: on a busy machine it would be silent for too long before it ends.
        for state in ends[end]:
            assert client.set_flow_run_state(run.id, state).state.name == state.name
            time.sleep(0.5)  # Prefect may lose one of two events of a run that follow within milliseconds
"""
LISTING = """
import json
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
with get_client(sync_client=True) as client:
    runs = [(run.name, run.state_name, client.read_deployment(run.deployment_id).name, run.auto_scheduled,
             (run.created_by.type if run.created_by else None), run.state.message, run.parameters) for run in client.read_flow_runs(limit=200)]
    print(json.dumps({
        "pools": {pool.name: [pool.type, pool.concurrency_limit, pool.base_job_template["variables"]["properties"]["env"]["default"]]
                  for pool in client.read_work_pools()},
        "automations": sorted(item.name for item in client.read_automations()),
        "secret": Secret.load("openreview-username").get(),
        "runs": [run for run in runs if not run[3]],
    }))
"""
DO = [
    "gre-bench: a crashed run goes on",
    "gre-bench: a refused run says why",
    "gre-bench: a run that never began has crashed",
    "gre-bench: a silent cancellation has ended",
    "gre-bench: a silent run has crashed",
]
TELL = [
    "gre-bench: a finished refresh is told",
    "gre-bench: a late run is told",
    "gre-bench: a paused refresh is told",
    "gre-bench: a run that did not end well is told",
]
NEWS = {
    "a finished refresh is told": [("year", "Completed. all done")],
    "a late run is told": [("agree-with-humans", "Late")],
    "a paused refresh is told": [("year", "Paused. at its bound")],
    "a run that did not end well is told": [
        ("annual-refresh", "Crashed. killed"),
        ("annual-refresh", "Crashed. no sign of life for 12 s"),
        ("annual-refresh", "Crashed. no sign of life for 12 s"),
        ("fetch", "Failed. pairs are missing"),
        ("validate-metrics", "Crashed. no sign of life for 12 s"),
        ("year", "Crashed. killed"),
        ("year", "Crashed. killed"),
    ],
}
"""What is told, by subject: of which flow, and how it ended."""
CANCELLED = [
    ("agree", "no sign of life for 12 s"),
    ("on-demand", "by me"),
    (
        "year-iclr",
        "another run holds this deployment; without a sign of life for 12 s it counts as crashed, and the deployment is free again",
    ),
]


@contextmanager
def webhook():
    """Its address, and what was posted to it so far."""
    told: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["text"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    listening = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}/news", told
    listening.shutdown()
    listening.server_close()


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("", "name the server: export PREFECT_API_URL="),
        ("http://127.0.0.1:9/api", "no Prefect server answers at http://127.0.0.1:9/api"),
    ],
)
def test_a_server_that_is_not_there_is_one_line(tmp_path, address, line):
    found = subprocess.run(
        [sys.executable, "deployments/server_setup.py", "--wait", "0"],
        env={"PREFECT_HOME": str(tmp_path), "PREFECT_API_URL": address, "PREFECT_CLIENT_MAX_RETRIES": "0"},
        cwd=ROOT, text=True, capture_output=True,
    )  # fmt: skip
    assert found.returncode == 2
    assert line in found.stderr and "Traceback" not in found.stderr


@pytest.mark.night
@pytest.mark.timeout(1500)
def test_a_server_is_set_up_once_however_often_and_its_automations_act(tmp_path):
    with serve_prefect(tmp_path) as server, webhook() as (address, told):
        server = {name: value for name, value in server.items() if not name.startswith("OPENREVIEW_")}
        first = run_command(
            server | {"OPENREVIEW_USERNAME": "ours"}, "python", "deployments/server_setup.py", "--rest", "0"
        )
        assert "nobody is told" in first and "secret openreview-password: none; set OPENREVIEW_PASSWORD" in first
        assert there(server)["automations"] == DO
        quick = ("--rest", "0", "--silence", "12", "--late", "12")
        again = run_command(server, "python", "deployments/server_setup.py", *quick, "--tell", address)
        assert "secret openreview-username: as it was" in again and "secret openreview-password: none" in again
        listed = there(server)
        assert listed["automations"] == sorted(DO + TELL)
        assert listed["secret"] == "ours"
        given = {
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
            "PREFECT_LOGGING_EXTRA_LOGGERS": "gre_bench",
            "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        }
        assert listed["pools"] == {"gre-bench-cpu": ["process", 2, given], "gre-bench-gpu": ["process", 1, given]}
        run_command(server, "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
        run_command(
            server, "python", "-c", ASKING,
            "crashed:year/year-neurips", "crashed elsewhere:year/year-neurips", "crashed:annual-refresh/on-demand",
            "silent:validate-metrics/validate", "taken:annual-refresh/nightly-smoke",
            "submitted:annual-refresh/on-demand", "cancelling:agree-with-humans/agree",
            "failed:fetch/fetch", "failed stage:annual-refresh/score",
            "refused:year/year-iclr", "cancelled:annual-refresh/on-demand",
            "done:year/year-iclr", "done:annual-refresh/on-demand",
            "paused:year/year-iclr", "paused:fetch/fetch", "late:agree-with-humans/agree",
        )  # fmt: skip
        deadline = time.monotonic() + 1200  # on a busy machine Prefect acts on an event up to 15 minutes late
        while sorted_out(told) != NEWS or cancelled(there(server)["runs"]) != CANCELLED:
            assert time.monotonic() < deadline, (told, there(server)["runs"])
            time.sleep(1)
        runs = there(server)["runs"]
    own = {"venue": "SAMPLE", "roster": "mine.toml", "year": 2026, "state": "trial/{{ x }} <b>", "gpu": False}
    rerun = {deployment: parameters for _, _, deployment, _, by, _, parameters in runs if by == "AUTOMATION"}
    assert rerun.keys() == {"year-neurips", "nightly-smoke"}, "what was asked for by hand is theirs to ask again"
    assert rerun["year-neurips"].items() >= (own | {"settings": {}}).items(), "not the deployment's own parameters"
    assert sum(by == "AUTOMATION" for *_, by, _, _ in runs) == 2, "a run with job variables of its own is not run again"


def sorted_out(told: list[str]) -> dict[str, list[tuple[str, str]]]:
    """What was told as `NEWS` has it, but for runs that nobody here made: a schedule's, or those that go on."""
    found: dict[str, list[tuple[str, str]]] = {}
    for text in told:
        subject, _, body = text.removeprefix("GRE-bench: ").partition("\n")
        (flow, _), (_, state) = body.split(" ", 1), body.split(": ", 1)
        if not (subject == "a late run is told" and flow in ("year", "annual-refresh")):
            found.setdefault(subject, []).append((flow, state.strip().removesuffix(".")))
    return {subject: sorted(found[subject]) for subject in sorted(found)}


def there(server: dict[str, str]) -> dict:
    return json.loads(run_command(server, "python", "-c", LISTING))


def cancelled(runs: list[list]) -> list[tuple[str, str]]:
    """Deployment and message of each cancelled run."""
    return sorted((deployment, message) for _, state, deployment, *_, message, _ in runs if state == "Cancelled")
