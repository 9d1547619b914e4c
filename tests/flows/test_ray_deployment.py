"""The settings for Ray in an annual refresh that a Prefect server starts: deployed, triggered, sharded over two workers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import yaml

from gre_bench.core.settings import load
from tests.conftest import ROOT
from tests.servers.processes import answered, running, serving

NO_RAY = None if importlib.util.find_spec("ray") else "Ray is not installed: pip install 'gre-bench[ray]'"
HERE = (
    "edition.venue=SAMPLE", "edition.year=2026", "edition.papers=16",
    "sources.notes=tests/fixtures/sixteen/notes.jsonl", "sources.pdfs=tests/fixtures/sixteen/pdfs",
    "evaluation_lm.backend=scripted", "evaluation_lm.device=cpu", "evaluation_lm.dtype=float32",
    "run.workers=2", "run.gpus_per_worker=0", "run.chunk_papers=1",
)  # fmt: skip
"""What is otherwise on a machine of two cores and no GPU."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(NO_RAY), reason=NO_RAY or "")
def test_a_deployed_refresh_with_the_settings_for_ray_is_scored_by_workers_of_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    settings = load(ROOT / "deployments" / "ray.toml", HERE)
    assert settings.run.runner == "ray"
    deployed = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())
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
    with serving(tmp_path / "server") as server:
        answered(server, "python", "deployments/server_setup.py")
        answered(server, "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file))
        log = tmp_path / "worker.log"
        with running("worker", "start", "--pool", "gre-bench-cpu", environment=server | scripted, log=log):
            try:
                answered(
                    server, "prefect", "deployment", "run", "annual-refresh/annual-sharded",
                    "--watch", "--watch-interval", "1", "--watch-timeout", "500",
                )  # fmt: skip
            except AssertionError as error:
                raise AssertionError(f"{error}\n{log.read_text()}") from None
    status = json.loads((tmp_path / "state" / "editions" / "SAMPLE-2026" / "status.json").read_text())
    assert status["state"] == "done", log.read_text()
    assert len(list(pids.iterdir())) == 2 and not (pids / str(status["pid"])).exists()
