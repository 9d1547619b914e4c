"""Runs one refresh with the null evaluation LM for `bench_overhead`, and prints its cost as JSON lines."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gre_bench.pipeline.runs import prefect_engine


def main() -> None:
    asked = json.loads(sys.argv[1])
    folder, runner = Path(asked["folder"]), asked["runner"]
    prefect_engine.configure_prefect(folder)
    os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
    from gre_bench.core.settings import parse_settings
    from gre_bench.flows.annual_refresh import annual_refresh
    from gre_bench.pipeline.refreshing import refresh
    from gre_bench.pipeline.runs.job import Job
    from tests.bench.null_lm import NullSettings

    run = {} if runner in ("alone", "here") else {"runner": runner, "workers": asked["workers"]}
    settings = parse_settings({
        "edition": {"venue": "BENCH", "year": 2026, "papers": asked["papers"]},
        "sources": {"papers": asked["papers_file"], "reviews": asked["reviews_file"]},
        "scoring": {"metrics": ["gem", "gem_s_abstract", "gem_s_assw"], "chance": False},  # the pairs of the paper
        "run": run | {"chunk_papers": asked["chunk_papers"]},
    }).model_copy(update={"evaluation_lm": NullSettings()})  # fmt: skip
    signing = _timed_signing()
    _tell_stages()
    # Imports at the start of a process are not part of a run.
    for name in ("gre_bench.stats.intervals", "pyarrow.dataset", "duckdb", "scipy.stats"):
        importlib.import_module(name)
    with nullcontext() if runner == "alone" else prefect_engine.require_server():
        _print_event("stage", name="start", at=time.time(), cpu_s=time.process_time())
        wall, cpu = time.perf_counter(), time.process_time()
        summary = refresh(Job(settings, folder)) if runner == "alone" else annual_refresh(settings, folder)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    _print_event("stage", name="over", at=time.time(), cpu_s=time.process_time())
    _print_event("ended", wall_s=wall, cpu_s=cpu, signing_s=sum(signing), outcome=summary["outcome"],
          planned=sum(row["planned"] for row in summary["metrics"]),
          scored=sum(row["scored"] for row in summary["metrics"]))  # fmt: skip


def _print_event(event: str, **more: Any) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def _timed_signing() -> list[float]:
    """Returns a list to which the seconds that a run waits for its first worker are added; the null LM needs none."""
    from gre_bench.pipeline.runs.workers import ScoringWorkers

    taken: list[float] = []
    sign = ScoringWorkers._sign_metrics_in_worker

    def timed(self: Any, *values: Any) -> Any:
        began = time.perf_counter()
        try:
            return sign(self, *values)
        finally:
            taken.append(time.perf_counter() - began)

    ScoringWorkers._sign_metrics_in_worker = timed
    return taken


def _tell_stages() -> None:
    """Makes each stage print a line when it begins."""
    from gre_bench.pipeline.runs.job import Progress

    stage = Progress.stage

    def told(self: Progress, name: str, *more: Any) -> None:
        _print_event("stage", name=name, at=time.time(), cpu_s=time.process_time())
        stage(self, name, *more)

    Progress.stage = told  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
