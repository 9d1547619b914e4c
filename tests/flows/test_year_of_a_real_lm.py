"""The year as it is deployed, nothing scripted: SmolLM2 writes, ``gem-smollm2`` scores, and two kills change nothing.

`pytest -s tests/flows/test_year_of_a_real_lm.py` prints when each flow run began and ended.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gre_bench.core.pretrained import cache_folder
from gre_bench.release.manifest import verify_release
from gre_bench.reports.history import compare_years
from gre_bench.reports.yearly import make_yearly_board
from tests.flows.fetching import LOGIN, served
from tests.flows.making_boards import job
from tests.flows.refreshing import query
from tests.flows.test_deployments import deploy
from tests.flows.test_year import RUNS, deployment, killed
from tests.lm.test_pretrained_real import needed
from tests.servers.processes import run_command, run_prefect, serve_prefect, transformers_command, transformers_server

pytestmark = [pytest.mark.pretrained, pytest.mark.night, pytest.mark.timeout(8000)]

MODELS = """
[[endpoint]]
url = "{url}"
concurrency = 1

[[model]]
name = "smollm2-135m"
endpoint = "{url}"
model = "smollm2-135m"
context = 8192
sampling = {{ temperature = 0.0, max_tokens = 160 }}
"""
ROSTER = """
about = "SmolLM2, judged by its own fine-tuned evaluation LM."
controls = ["extractive-full"]
model = [{ name = "smollm2-135m" }]

[writing]
judgments = "rule"
models = "models.toml"

[evaluation_lm]
backend = "gem-smollm2"

[scoring]
metrics = ["gem", "gem_s_abstract"]
"""
CHOSEN = {
    "edition": {"papers": 4},
    "run": {"chunk_papers": 1},
    "writing": {"chunk": 1},
}
LONG_S = 2400.0
"""SmolLM2 writes 0.5 to 20 tokens a second on a CPU, by what else it does."""


def test_a_scheduled_year_of_a_real_lm_that_is_killed_twice_ends_in_a_release_and_its_history(tmp_path):
    name = needed("smollm2-135m", "torch", "transformers", "accelerate", "fastapi", "uvicorn")
    command = transformers_command()
    if command is None:
        pytest.skip("no command `transformers` here: pip install 'transformers[serving]'")
    state, logs, began = tmp_path / "state", [tmp_path / "cpu.log", tmp_path / "gpu.log"], time.monotonic()
    (tmp_path / "server").mkdir()
    (tmp_path / "roster.toml").write_text(ROSTER)
    with (
        served() as loopback,
        transformers_server(command, cache_folder() / name, tmp_path / "lm.log") as url,
        serve_prefect(tmp_path / "server") as server,
    ):
        (tmp_path / "models.toml").write_text(MODELS.format(url=url))
        file = deployment(tmp_path, loopback.v2, str(tmp_path / "roster.toml"), **CHOSEN)
        deploy(server | LOGIN, file)
        with (
            run_prefect("worker", "start", "--pool", "gre-bench-cpu", environment=server, log=logs[0]),
            run_prefect("worker", "start", "--pool", "gre-bench-gpu", environment=server, log=logs[1]),
        ):
            writing = killed(state, lambda status: status["command"] == "write" and status["done"] > 0, logs[0], LONG_S)
            print(f"{time.monotonic() - began:.0f} s: killed while it wrote")
            scoring = killed(state, lambda status: status["stage"] == "scoring" and status["done"] > 0, logs[1], LONG_S)
            print(f"{time.monotonic() - began:.0f} s: killed while it scored")
            assert writing != scoring
            release, runs = state / "releases" / "SAMPLE-2026-latest", []
            while not (release.exists() and any(run[:2] == ["year", "Completed"] for run in runs)):
                assert time.monotonic() < began + 3 * LONG_S, logs[0].read_text()
                time.sleep(5)
                runs = json.loads(run_command(server, "python", "-c", RUNS))
        for run in runs:
            print(*run)
        gated = json.loads((release / "manifest.json").read_text())
        assert verify_release(release)["release"] == "SAMPLE-2026-r1"
        validated_on = {metric: row["edition"] for metric, row in gated["validations"].items()}
        assert validated_on == {"gem": "SAMPLE-2026", "gem_s_abstract": "ICLR-2023+ICLR-2024"}, (
            "the first has no record"
        )
        rows = [row for row in compare_years(state, None, None, ["human"])["rows"] if row["kind"] == "model"]
        assert {(row["candidate"], row["year"]) for row in rows} == {(name, 2026)}
        pairs = outcomes(state)
        print(pairs)
        assert pairs[name]["scored"] + pairs[name]["failed"] + pairs[name]["excluded"] == pairs["human"]["scored"]
        again = make_yearly_board(job(loopback.v2, str(tmp_path / "roster.toml"), state, "edition.papers=4"))
    assert again["stages"]["score"]["scored_now"] == 0
    print(f"{time.monotonic() - began:.0f} s in all")


def outcomes(state: Path) -> dict[str, dict[str, int]]:
    """How many pairs of each candidate under GEM-S (abstract) ended how."""
    found: dict[str, dict[str, int]] = {}
    counted = (
        "select candidate_id, state, count(*) from pairs p join signatures s using (signature_id) "
        "where s.metric = 'gem_s_abstract' group by all"
    )
    for candidate, outcome, count in query(state, counted):
        found.setdefault(candidate, {"scored": 0, "failed": 0, "excluded": 0})[outcome] = count
    return found
