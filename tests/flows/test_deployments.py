"""The deployments: forms that can be filled in, schedules, and all of it deployed to a real Prefect server on loopback."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import time
from dataclasses import is_dataclass
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from prefect.exceptions import ParameterTypeError
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.callables import parameter_schema

from gre_bench.checks import doctor
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import Settings, load, parse_settings
from gre_bench.ingest.snapshot import Snapshot
from gre_bench.pipeline.year_models import list_needed_models
from gre_bench.reports import yearly
from tests.conftest import ROOT
from tests.flows.fetching import LOGIN, served
from tests.servers.openreview import Limit
from tests.servers.processes import run_command, run_prefect, serve_prefect

FILE = ROOT / "deployments" / "prefect.yaml"
DEPLOYMENTS = {item["name"]: item for item in yaml.safe_load(FILE.read_text())["deployments"]}
SCHEDULED = {
    "year-iclr": ("15 */3 * 1,2 *", "UTC", True),
    "year-neurips": ("45 */3 * 11,12 *", "America/Los_Angeles", False),
    "nightly-smoke": ("30 3 * * *", "UTC", True),
}
ON_DEMAND = {"on-demand", "validate", "agree", "guidelines", "study-examiners", "tune", "fetch", "score",
             "validate-on-gpu"}  # fmt: skip
FORMS = {"guidelines", "study-examiners", "tune", "score", "validate-on-gpu"}
"""Deployments that come without parameters: somebody, or another run, fills them in."""


def flow_of(name: str):
    return load_flow_from_entrypoint(DEPLOYMENTS[name]["entrypoint"])


def untyped(schema: dict, place: str = "") -> list[str]:
    """Where a form would have a field of no known type."""
    found = []
    for name, field in schema.get("properties", {}).items():
        if not {"type", "$ref", "anyOf", "allOf", "enum", "const"} & field.keys():
            found.append(f"{place}.{name}")
        found += untyped(field, f"{place}.{name}")
    return found


def test_what_is_scheduled_and_what_waits_for_somebody_to_ask():
    planned = {
        name: tuple(schedule[key] for key in ("cron", "timezone", "active"))
        for name, item in DEPLOYMENTS.items()
        for schedule in item["schedules"]
    }
    assert planned == SCHEDULED
    assert DEPLOYMENTS.keys() - SCHEDULED.keys() == ON_DEMAND
    for _, zone, _ in planned.values():
        ZoneInfo(zone)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_the_parameters_of_a_deployment_are_a_form_of_typed_fields(name):
    schema = parameter_schema(flow_of(name)).model_dump()
    assert schema["properties"]
    assert not [where for part in (schema, *schema["definitions"].values()) for where in untyped(part)]


@pytest.mark.parametrize("name", sorted(DEPLOYMENTS.keys() - FORMS))
def test_the_parameters_given_are_taken_by_the_flow(name):
    given = DEPLOYMENTS[name]["parameters"]
    taken = flow_of(name).validate_parameters(given)
    assert taken["settings"].edition.venue == given["settings"].get("edition", {"venue": "SAMPLE"})["venue"]
    assert isinstance(taken["state"], Path)
    assert taken.get("strict", True), "a run that is short of done must fail: nobody reads its summary"


def test_the_stages_of_a_year_that_need_a_gpu_are_deployed_in_its_pool():
    for deployed in (yearly.SCORE, yearly.VALIDATE):
        flow, _, name = deployed.partition("/")
        assert (flow_of(name).name, DEPLOYMENTS[name]["work_pool"]["name"]) == (flow, "gre-bench-gpu")
        assert DEPLOYMENTS[name]["concurrency_limit"]["collision_strategy"] == "ENQUEUE"
    assert {DEPLOYMENTS[name]["work_pool"]["name"] for name in SCHEDULED} == {"gre-bench-cpu"}


@pytest.mark.parametrize("name", ["year-iclr", "year-neurips"])
def test_no_deployment_names_a_year_and_its_roster_holds_models_of_the_models_file(name):
    assert not re.search(r"\b20\d\d\b", FILE.read_text())
    given = flow_of(name).validate_parameters(DEPLOYMENTS[name]["parameters"])
    assert given["year"] is None
    chosen = yearly.year_job(given["venue"], given["roster"], None, given["settings"], Path("state"), True, False, None)
    assert len(list_needed_models(chosen.settings)) >= 2
    controls = parse_settings({"writing": {"candidates": ["extractive-full"]}})
    with pytest.raises(SettingsError, match="the roster names no model"):
        yearly.year_job(given["venue"], None, None, controls, Path("state"), True, False, None)


@pytest.mark.parametrize(
    ("name", "filled", "kept"),
    [
        ("guidelines", {"name": "mine", "models": ["local-vllm"], "conditions": ["none"], "edition": "ICLR-2024"},
         lambda job: job.models == ("local-vllm",)),
        ("study-examiners", {"name": "mine", "items": "texts.tsv", "settings": {"models": ["local-vllm"], "layouts": ["003_table9"],
                             "panel": {"human": [1, 5]}}}, lambda job: job.settings.panel.human == (1.0, 5.0)),
        ("tune", {"base": "base", "judgments": ["file.parquet"], "train": ["0:9"], "out": "o", "settings": {"epochs": 1}},
         lambda job: job.settings.epochs == 1),
    ],
    ids=["guidelines", "study-examiners", "tune"],
)  # fmt: skip
def test_a_form_that_was_filled_in_becomes_the_job_of_the_flow(name, filled, kept):
    flow = flow_of(name)
    job = flow.validate_parameters({"job": filled})["job"]
    assert is_dataclass(job)
    assert kept(job)


@pytest.mark.parametrize(("name", "wrong"), [
    ("study-examiners", {"name": "mine", "settings": {"layout": ["003_table9"]}}),
    ("guidelines", {"name": "mine", "models": 3, "conditions": []}),
])  # fmt: skip
def test_a_form_that_was_filled_in_wrongly_is_refused_before_anything_is_asked(name, wrong):
    with pytest.raises(ParameterTypeError):
        flow_of(name).validate_parameters({"job": wrong})


def test_the_service_of_the_evaluation_lm_and_the_worker_fit_what_is_locked():
    compose = yaml.safe_load((ROOT / "deployments" / "container" / "compose.yaml").read_text())
    services = compose["services"]
    assert services.keys() == {"prefect", "vllm", "worker", "worker-cpu"}
    engine = re.search(r"^vllm==(\S+)$", (ROOT / "deployments" / "vllm.txt").read_text(), re.MULTILINE)[1]
    assert services["vllm"]["image"].endswith(f":v{engine}")
    locked = re.search(r"^prefect==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
    assert services["prefect"]["image"].endswith(f":{locked}-python3.11")
    for service in services.values():
        for other, condition in service.get("depends_on", {}).items():
            assert condition["condition"] == "service_healthy" and "healthcheck" in services[other]
        for volume in service["volumes"]:
            name = volume.split(":")[0]
            assert name in compose["volumes"] or name == "${MODEL_FOLDER"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "reachable from outside, and asks nobody who is calling"
    setup = importlib.import_module("deployments.server_setup")
    assert services["worker-cpu"]["command"][4] in setup.POOLS
    build = services["worker"]["build"]
    context = (ROOT / "deployments" / "container" / build["context"]).resolve()
    assert context == ROOT and (context / build["dockerfile"]).is_file()


def test_the_container_holds_what_the_program_reads():
    lines = (ROOT / "deployments" / "container" / "Containerfile").read_text().splitlines()
    copied = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    assert all((ROOT / name).exists() for name in copied)
    folders = {"gre_bench", "flows", "tasks", "sql", "data", "deployments", "requirements"}
    assert copied >= folders | {"pyproject.toml", "constraints.txt"}
    locks = next(line for line in lines if line.startswith("ARG LOCKS=")).split("=")[1].strip('"').split()
    assert all((ROOT / "requirements" / f"{name}.txt").is_file() for name in ["build", "base", *locks])
    installs = re.findall(r"pip install (.+?)(?:;|&&|$)", " ".join(" ".join(lines).replace("\\", "").split()))
    assert len(installs) == 2 and all("--no-deps --no-build-isolation" in install for install in installs)
    assert "--require-hashes" in installs[0] and installs[1].endswith("-e . ")
    pool = next(line for line in lines if line.startswith("CMD"))
    setup = importlib.import_module("deployments.server_setup")
    assert json.loads(pool.removeprefix("CMD "))[4] in setup.POOLS


STATES = """
import collections, json, sys, time
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId, FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
from prefect.client.schemas.objects import StateType
ended = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(
    any_=[StateType.COMPLETED, StateType.FAILED, StateType.CRASHED])))
deadline = time.monotonic() + 60
with get_client(sync_client=True) as client:
    of = DeploymentFilter(id=DeploymentFilterId(any_=[client.read_deployment_by_name(sys.argv[1]).id]))
    while True:
        found = collections.Counter(run.state_name for run in client.read_flow_runs(deployment_filter=of, flow_run_filter=ended))
        if found["Completed"] or time.monotonic() > deadline:
            break
        time.sleep(1)
print(json.dumps(found))
"""


def deploy(server: dict[str, str], file: Path = FILE) -> None:
    """Tells the *server* of the work pools and deploys all that *file* holds."""
    run_command(server, "python", "deployments/server_setup.py")
    run_command(server, "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that was told of the work pools, with everything deployed."""
    with serve_prefect(tmp_path_factory.mktemp("server")) as environment:
        deploy(environment)
        yield environment


@pytest.mark.night
def test_the_deployments_are_deployed_with_their_schedules_and_one_is_triggered(server, tmp_path, monkeypatch):
    for name, planned in SCHEDULED.items():
        flow = flow_of(name).name
        listed = json.loads(
            run_command(server, "prefect", "deployment", "inspect", f"{flow}/{name}", "--output", "json")
        )
        (schedule,) = listed["schedules"]
        assert (schedule["schedule"]["cron"], schedule["schedule"]["timezone"], schedule["active"]) == planned
        assert listed["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    monkeypatch.setenv("PREFECT_API_URL", server["PREFECT_API_URL"])

    def looked_at():
        return [(each.verdict, each.found) for each in doctor.check_prefect_server(Settings(), Path("none"))]

    due = "scheduled there: nightly-smoke, year-iclr"
    assert looked_at() == [
        ("ok", "server at 127.0.0.1 is healthy"),
        ("ok", f"server and client are {version('prefect')}"),
        ("warning", f"gre-bench-cpu has no worker online; {due}"),
        ("ok", "gre-bench-gpu has no worker online; scheduled there: nothing"),
    ]
    log = tmp_path / "worker.log"
    with run_prefect("worker", "start", "--pool", "gre-bench-cpu", environment=server, log=log):
        run_command(
            server, "prefect", "deployment", "run", "annual-refresh/on-demand", "--param",
            f'state="{tmp_path / "state"}"', "--param", "limit=4", "--watch", "--watch-interval", "1",
            "--watch-timeout", "150",
        )  # fmt: skip
        assert ("ok", f"gre-bench-cpu has 1 worker online; {due}") in looked_at()
    status = json.loads((tmp_path / "state" / "editions" / "SAMPLE-2026" / "status.json").read_text())
    assert status["state"] == "done"


@pytest.mark.night
def test_a_paused_fetch_is_continued_by_the_runs_that_the_schedule_fires(server, tmp_path):
    """Nobody asks for a run: the server's scheduler does, and each goes on where the service's limits stopped the last."""
    with served(limits={kind: Limit(5, 15.0) for kind in ("pdf", "attachment")}) as loopback:
        deployed = yaml.safe_load(FILE.read_text())
        fetch = next(item for item in deployed["deployments"] if item["name"] == "fetch")
        fetch["name"] = "drip"
        fetch["schedules"] = [{"interval": 18, "active": True}]
        fetch["parameters"]["settings"] |= {"edition": {"venue": "SAMPLE", "papers": 16}}
        fetch["parameters"]["settings"]["fetch"] |= {"host": loopback.v2, "pdf_batch": 2, "page": 5}
        fetch["parameters"]["state"] = str(tmp_path / "state")
        file = tmp_path / "prefect.yaml"
        file.write_text(yaml.safe_dump(deployed | {"deployments": [fetch]}))
        log = tmp_path / "worker.log"
        with run_prefect("worker", "start", "--pool", "gre-bench-cpu", environment=server, log=log):
            deploy(server | LOGIN, file)
            deadline = time.monotonic() + 150
            while not (found := list(tmp_path.glob("state/snapshots/*/manifest.json"))):
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(1)
            states = json.loads(run_command(server, "python", "-c", STATES, "fetch/drip"))
        run_command(server, "prefect", "deployment", "delete", "fetch/drip")
        assert states.keys() == {"Paused", "Completed"}, states
        assert not loopback.early, "asked again before it was allowed"
        assert loopback.counts["attachment"] > 5, "one window was enough: nothing was paused"
    snapshot = Snapshot.open(found[0].parent)
    snapshot.verify()
    assert len(snapshot.papers()) == 16


NO_RAY = None if importlib.util.find_spec("ray") else "Ray is not installed: pip install 'gre-bench[ray]'"
ON_TWO_CORES = (
    "edition.venue=SAMPLE", "edition.year=2026", "edition.papers=16",
    "sources.notes=tests/fixtures/sixteen/notes.jsonl", "sources.pdfs=tests/fixtures/sixteen/pdfs",
    "evaluation_lm.backend=scripted", "evaluation_lm.device=cpu", "evaluation_lm.dtype=float32",
    "run.workers=2", "run.gpus_per_worker=0", "run.chunk_papers=1",
)  # fmt: skip
"""What is otherwise on a machine of two cores and no GPU."""


@pytest.mark.night
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(NO_RAY), reason=NO_RAY or "")
def test_a_deployed_refresh_with_the_settings_for_ray_is_scored_by_workers_of_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    settings = load(ROOT / "deployments" / "ray.toml", ON_TWO_CORES)
    assert settings.run.runner == "ray"
    deployed = yaml.safe_load(FILE.read_text())
    refresh = next(item for item in deployed["deployments"] if item["name"] == "on-demand")
    refresh |= {"name": "annual-sharded", "schedules": []}
    refresh["parameters"] = {
        "settings": json.loads(settings.model_dump_json(exclude_unset=True)),
        "state": str(tmp_path / "state"), "limit": 8, "strict": True,
    }  # fmt: skip
    file, start, pids = tmp_path / "prefect.yaml", tmp_path / "start", tmp_path / "pids"
    file.write_text(yaml.safe_dump(deployed | {"deployments": [refresh]}))
    for folder in (start, pids, tmp_path / "server"):
        folder.mkdir()
    # Workers know the scripted evaluation LM, which leaves the ids of the processes that score.
    (start / "sitecustomize.py").write_text("import tests.pipeline.runs.sharded\n")
    scripted = {"PYTHONPATH": f"{start}:{ROOT}", "SCRIPTED_PIDS": str(pids), "SCRIPTED_LM_PAUSE_S": "0.02"}
    with serve_prefect(tmp_path / "server") as server:
        deploy(server, file)
        log = tmp_path / "worker.log"
        with run_prefect("worker", "start", "--pool", "gre-bench-cpu", environment=server | scripted, log=log):
            try:
                run_command(
                    server, "prefect", "deployment", "run", "annual-refresh/annual-sharded",
                    "--watch", "--watch-interval", "1", "--watch-timeout", "500",
                )  # fmt: skip
            except AssertionError as error:
                raise AssertionError(f"{error}\n{log.read_text()}") from None
    status = json.loads((tmp_path / "state" / "editions" / "SAMPLE-2026" / "status.json").read_text())
    assert status["state"] == "done", log.read_text()
    assert len(list(pids.iterdir())) == 2 and not (pids / str(status["pid"])).exists()
