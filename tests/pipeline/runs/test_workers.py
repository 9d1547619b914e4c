"""Papers sharded over workers, processes or threads: the same tables, whatever the workers are and whatever becomes of them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.core.settings import EvaluationLMSettings, RunSettings, load, load_recorded_settings
from gre_bench.metrics.scoring import ScoringResult
from gre_bench.pipeline.refreshing import check_job_and_name_candidates, refresh
from gre_bench.pipeline.runs import workers as workers_module
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.workers import (
    IN_FLIGHT,
    MOST_DEATHS,
    VISIBLE,
    LostChunk,
    ProcessRunner,
    ScoringWorkers,
    ThreadRunner,
    build_runner,
    list_gpus,
)
from gre_bench.pipeline.runs.workers import _initialise_worker as begin_worker
from gre_bench.store import Store
from gre_bench.store.queries import PAPERS
from tests.cli.calling import shown
from tests.conftest import ROOT
from tests.faults.killing import descendants, gone
from tests.flows.refreshing import DEMO, EDITION, assert_same, demo, query, refreshed, run, tables, use
from tests.forks import CONTEXT
from tests.holds import wait_for
from tests.pipeline.runs.sharded import DOOMED
from tests.pipeline.runs.test_kills import is_scoring
from tests.scripted_lms import OverlapLM

NO_RAY = None if importlib.util.find_spec("ray") else "Ray is not installed: pip install 'gre-bench[ray]'"
SHARDED = ["processes", pytest.param("ray", marks=pytest.mark.skipif(bool(NO_RAY), reason=NO_RAY or ""))]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Tables of a run in one process."""
    use(OverlapLM())
    return tables(refreshed(tmp_path_factory.mktemp("undisturbed") / "state"))


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory):
    """Starts a refresh in a process of its own, whose workers know the scripted evaluation LM too."""
    start = tmp_path_factory.mktemp("start")
    (start / "sitecustomize.py").write_text("import tests.pipeline.runs.sharded\n")

    def started(state: Path, runner: str, *more: str, **scripted: str) -> subprocess.Popen[str]:
        asked = ["--settings", str(DEMO), "--state", str(state)]
        for setting in ("evaluation_lm.backend=scripted", f"run.runner={runner}", "run.chunk_papers=1", *more):
            asked += ["--set", setting]
        return subprocess.Popen(
            [sys.executable, "-m", "gre_bench.cli.app", "refresh", *asked],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{start}:{ROOT}", "PREFECT_HOME": str(start / "prefect")} | scripted,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    return started


@pytest.mark.night
@pytest.mark.parametrize("runner", SHARDED)
def test_two_workers_leave_the_tables_that_one_process_leaves(command, undisturbed, tmp_path, runner) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    process = command(tmp_path / "state", runner, SCRIPTED_PIDS=str(pids), SCRIPTED_LM_PAUSE_S="0.005")
    _, message = process.communicate()
    assert process.returncode == 0, message
    assert_same(tables(tmp_path / "state"), undisturbed)
    scoring = {int(file.name) for file in pids.iterdir()}
    assert len(scoring) == 2 and process.pid not in scoring
    gone(scoring, 30.0)
    assert Store(tmp_path / "state", EDITION).status()["done"] == 256


@pytest.mark.night
@pytest.mark.parametrize("runner", SHARDED)
def test_a_worker_that_dies_leaves_its_papers_to_the_next_run(command, undisturbed, tmp_path, runner) -> None:
    state = tmp_path / "state"
    process = command(state, runner, SCRIPTED_DEATH=str(tmp_path / "dead"))
    shown, message = process.communicate()
    assert process.returncode == 3, message
    assert "died" in shown
    missing = query(state, "select distinct paper_id, reason from pairs where state = 'missing' order by all")
    assert (DOOMED, "worker_died") in missing
    # A pool of processes is lost with one of them, a Ray worker goes alone.
    assert len(missing) <= (1 if runner == "ray" else 2 * IN_FLIGHT)
    (lost,), (scored,) = (
        query(state, f"select count(*) from pairs where state = '{kept}'") for kept in ("missing", "scored")
    )
    assert lost[0] and Store(state, EDITION).status()["done"] == scored[0], "a lost pair is not scored"
    assert f"{scored[0]} pairs scored now" in shown and shown.count("run ") == 1, shown
    run(state)
    assert_same(tables(state), undisturbed)


@pytest.mark.night
@pytest.mark.timeout(600)
@pytest.mark.parametrize("runner", SHARDED)
def test_a_kill_and_a_ctrl_c_end_the_workers_too(command, undisturbed, tmp_path: Path, runner: str) -> None:
    state, pids = tmp_path / "state", tmp_path / "pids"
    pids.mkdir()
    slow = {"SCRIPTED_LM_PAUSE_S": "0.03", "SCRIPTED_PIDS": str(pids)}
    store = Store(state, EDITION)
    process = command(state, runner, **slow)
    wait_for(lambda: is_scoring(store, process.pid) and store.status()["done"] >= 32, process)
    family = descendants(process.pid)
    assert {int(file.name) for file in pids.iterdir()} <= family
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    # Ray's agents look for their parent now and then only.
    gone(family, 120.0 if runner == "ray" else 15.0)
    again = command(state, runner, **slow)
    wait_for(lambda: is_scoring(store, again.pid) and store.status()["done"] >= 32, again)
    family = descendants(again.pid)
    began = time.monotonic()
    os.killpg(again.pid, signal.SIGINT)
    _, message = again.communicate(timeout=30)
    assert again.returncode == 130, message
    assert time.monotonic() - began < 15
    # Ray's own libraries may have a word to say after it.
    assert "stopped; what was done is kept, the same command goes on from there" in message.splitlines()
    assert store.status()["state"] == "stopped"
    gone(family, 30.0)
    run(state)
    assert_same(tables(state), undisturbed)


@pytest.mark.night
@pytest.mark.parametrize("runner", SHARDED)
def test_a_ctrl_c_while_a_worker_opens_the_evaluation_lm_ends_it(command, tmp_path: Path, runner: str) -> None:
    process = command(tmp_path / "state", runner, SCRIPTED_OPENING=str(tmp_path / "opening"))
    wait_for((tmp_path / "opening").exists, process)
    family = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=20)
    assert process.returncode == 130, message
    gone(family, 30.0)


@pytest.mark.night
@pytest.mark.skipif(bool(NO_RAY), reason=NO_RAY or "")
def test_gpus_that_the_cluster_has_not_are_refused(command, tmp_path: Path) -> None:
    process = command(tmp_path / "state", "ray", "run.gpus_per_worker=64")
    _, message = process.communicate()
    assert process.returncode == 2
    assert "run.gpus_per_worker = 64, but no machine of the Ray cluster has more than" in message


def begin_and_tell(devices: tuple[str, ...], count: Any, barrier: Any, told: Any) -> None:
    """A worker that begins and tells which GPU it sees; the last one waits for the others."""
    begin_worker(os.getppid(), 1, devices, count)
    told.put(os.environ[VISIBLE])
    barrier.wait()


class ScriptedRunner:
    """A runner made for the tests, named scripted: the last chunk handed out is done first; *fatal* ones kill."""

    deaths = (ChildProcessError,)

    def __init__(self, fatal: tuple[int, ...] = (), together: bool = False):
        self.fatal, self.die_together = fatal, together
        self.peak = self.started = self.ended = 0
        self.handed: list[int] = []

    def __enter__(self):
        self.started += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self.ended += 1

    def submit(self, step: Any, values: dict[str, Any]) -> Any:
        chunk = values["chunk"].unquote()
        self.handed.append(chunk)

        def result() -> Any:
            if chunk in self.fatal:
                raise ChildProcessError
            return ScoringResult([chunk], {})

        future = Future()
        future.result = result
        return future

    def first_done(self, futures: Any) -> Any:
        self.peak = max(self.peak, len(futures))
        return futures[-1]


def handed_out(
    runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch, chunks: int
) -> dict[int, ScoringResult | LostChunk]:
    """What comes back for each of so many chunks, handed to *runner* by two workers."""
    monkeypatch.setattr(workers_module, "build_runner", lambda settings: runner)
    monkeypatch.setattr(workers_module, "is_in_flow_run", lambda: True)
    with ScoringWorkers(RunSettings(runner="processes", workers=2)) as workers:
        return dict(workers.score_chunks(iter(range(1, chunks + 1)), lambda chunk: {"chunk": chunk}))


def test_each_worker_has_at_most_two_chunks_and_each_chunk_comes_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = ScriptedRunner()
    found = handed_out(runner, monkeypatch, 20)
    assert {chunk: answer.scores for chunk, answer in found.items()} == {n: [n] for n in range(1, 21)}
    assert runner.handed == list(range(1, 21))
    assert (runner.peak, runner.started, runner.ended) == (2 * IN_FLIGHT, 1, 1)


def test_a_chunk_is_prepared_only_when_it_is_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = ScriptedRunner()
    monkeypatch.setattr(workers_module, "build_runner", lambda settings: runner)
    monkeypatch.setattr(workers_module, "is_in_flow_run", lambda: True)
    prepared = []
    with ScoringWorkers(RunSettings(runner="processes", workers=1)) as workers:
        scored = workers.score_chunks(iter(range(9)), lambda chunk: prepared.append(chunk) or {"chunk": chunk})
        next(scored)
        assert len(prepared) == IN_FLIGHT


@pytest.mark.parametrize(("fatal", "together", "started"), [((3, 11), False, 1), ((4,), True, 2)])
def test_a_worker_that_dies_loses_its_own_chunk_and_a_pool_that_is_lost_with_it_is_started_again(
    monkeypatch: pytest.MonkeyPatch, fatal: tuple[int, ...], together: bool, started: int
) -> None:
    runner = ScriptedRunner(fatal, together)
    found = handed_out(runner, monkeypatch, 20)
    assert tuple(chunk for chunk, answer in sorted(found.items()) if isinstance(answer, LostChunk)) == fatal
    assert len(found) == 20 and (runner.started, runner.ended) == (started, started)


def test_nothing_more_is_handed_out_when_worker_after_worker_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = ScriptedRunner(fatal=tuple(range(1, 100)))
    found = handed_out(runner, monkeypatch, 99)
    assert all(isinstance(answer, LostChunk) for answer in found.values())
    assert len(found) <= 2 * IN_FLIGHT + MOST_DEATHS


def test_without_prefect_this_process_scores_whatever_the_runner(undisturbed: dict[str, Any], tmp_path: Path) -> None:
    """Commands that never start Prefect take the settings of the last refresh, as `rank` and the studies do."""
    use(OverlapLM())
    state = tmp_path / "state"
    assert run(state, "run.runner=processes")["outcome"] == "done"
    assert_same(tables(state), undisturbed)
    papers = [row["paper_id"] for row in Store(state, EDITION).read(PAPERS)]
    rows = "".join(f"{paper},The proof is wrong. Is the data new?\n" for paper in papers)
    (tmp_path / "own.csv").write_text(f"paper_id,review\n{rows}")
    shown("rank", tmp_path / "own.csv", "--edition", EDITION, "--as", "own", "--state", state)
    shown("study", "references", "--metric", "gem", "--state", state)


def test_what_is_asked_of_workers_must_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with pytest.raises(SettingsError, match="set run.runner = ray"):
        check_job_and_name_candidates(Job(demo("run.gpus_per_worker=1"), tmp_path))
    if NO_RAY:
        with pytest.raises(SettingsError, match="needs Ray"):
            check_job_and_name_candidates(Job(demo("run.runner=ray"), tmp_path))
        return
    with pytest.raises(SettingsError, match="PREFECT_API_URL"):
        check_job_and_name_candidates(Job(demo("run.runner=ray", "run.ray_address=10.0.0.1:6379"), tmp_path))


@pytest.mark.night
def test_each_worker_sees_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from gre_bench.pipeline.runs.prefect_engine import require_server
    from tests.pipeline.runs.devices import tell_device

    monkeypatch.setenv(VISIBLE, "GPU-a,GPU-b")
    with require_server(), ProcessRunner(RunSettings(runner="processes", workers=3)) as runner:
        futures = [runner.submit(tell_device, {}) for _ in range(9)]
        seen = dict(future.result() for future in futures)
    assert sorted(seen.values()) == ["GPU-a", "GPU-a", "GPU-b"]
    assert os.environ[VISIBLE] == "GPU-a,GPU-b"


def test_workers_are_given_the_gpus_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "0,1,2,3")
    barrier, told, count = CONTEXT.Barrier(2), CONTEXT.SimpleQueue(), CONTEXT.Value("i", 2)
    workers = [CONTEXT.Process(target=begin_and_tell, args=(("2", "5", "7"), count, barrier, told)) for _ in range(2)]
    for worker in workers:
        worker.start()
    assert sorted(told.get() for _ in workers) == ["2", "7"]
    for worker in workers:
        worker.join()


@pytest.mark.parametrize(
    ("visible", "found"),
    [("0,1", ("0", "1")), (" GPU-1f, GPU-2e ", ("GPU-1f", "GPU-2e")), ("", ()), ("-1", ()), ("1,-1,2", ("1",))],
)
def test_the_gpus_are_those_that_the_environment_names(monkeypatch: pytest.MonkeyPatch, visible: str, found) -> None:
    monkeypatch.setenv(VISIBLE, visible)
    assert list_gpus() == found


def test_the_gpus_are_those_of_the_driver_where_the_environment_names_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VISIBLE, raising=False)
    assert list_gpus(tmp_path) == ()
    for name in ("nvidia2", "nvidia5", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert list_gpus(tmp_path) == ("0", "1")


def test_what_the_settings_for_ray_say_of_doing_without_it_can_be_done() -> None:
    text = (ROOT / "deployments" / "ray.toml").read_text()
    on_cpus = text.partition("on the CPUs of this machine:")[2].partition("\n\n")[0]
    settings = load(ROOT / "deployments" / "ray.toml", tuple(re.findall(r"--set (\S+)", on_cpus)))
    assert isinstance(build_runner(settings.run), ProcessRunner)
    # The settings for Ray ask for a GPU for each worker and for what it is good at.
    assert (settings.evaluation_lm.device, settings.evaluation_lm.dtype) == ("cpu", "float32")
    settings = load(ROOT / "deployments" / "ray.toml")
    assert (settings.run.runner, settings.run.gpus_per_worker) == ("ray", 1)
    again = load_recorded_settings(json.loads(settings.model_dump_json()))
    assert again == settings


class Elsewhere(EvaluationLMSettings):
    """Settings of the scripted evaluation LM as if it were a service."""

    backend: str = "scripted"

    @property
    def runs_in_server(self) -> bool:
        return True


class MetLM(OverlapLM):
    """Answers only when two papers are asked about at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.met = threading.Barrier(2, timeout=120)

    def logprob(self, predictions: Sequence[Prediction]) -> list[Any]:
        self.met.wait()
        return super().logprob(predictions)


def threaded(state: Path, *overrides: str) -> dict[str, Any]:
    """A refresh by two threads, without the engine; the summary."""
    settings = demo("run.runner=threads", "run.workers=2", "run.chunk_papers=1", *overrides)
    settings = settings.model_copy(update={"evaluation_lm": Elsewhere()})
    return refresh(Job(settings, state))


def test_two_papers_are_asked_about_at_a_time_and_the_tables_are_those_of_one_after_the_other(tmp_path: Path) -> None:
    use(MetLM())
    assert threaded(tmp_path / "two")["outcome"] == "done"
    assert_same(tables(tmp_path / "two"), tables(refreshed(tmp_path / "one")))


class BrokenLM(OverlapLM):
    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob]:
        raise LMError("the server is gone")


def test_what_ends_one_thread_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    use(BrokenLM())
    with pytest.raises(LMError, match="the server is gone"):
        threaded(tmp_path, "scoring.metrics=['gem']")
    use(OverlapLM())
    assert threaded(tmp_path, "scoring.metrics=['gem']")["outcome"] == "done"
    assert query(tmp_path, "select count(*) from pairs where state = 'missing'", EDITION) == [(0,)]


def test_what_waits_when_a_run_ends_is_not_begun() -> None:
    begun, may_end = [], threading.Event()

    def step(number: int) -> None:
        begun.append(number)
        may_end.wait(120)

    with ThreadRunner(RunSettings(runner="threads", workers=1)) as runner:
        futures = [runner.submit(step, {"number": number}) for number in range(3)]
        while not begun:
            pass
    may_end.set()
    futures[0].result(timeout=120)
    assert begun == [0]


def test_an_evaluation_lm_of_this_process_is_not_asked_by_several_threads(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"behind HTTP, which scripted is not: serve it .* run.runner = processes"):
        check_job_and_name_candidates(Job(demo("run.runner=threads"), tmp_path))
