"""Several papers at a time of one evaluation LM behind HTTP: the same tables, with the engine or without."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.core.settings import EvaluationLMSettings, RunSettings
from gre_bench.flows.annual_refresh import refresh, usable
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.workers import Threads
from gre_bench.tasks import steps
from tests.flows.refreshing import EDITION, assert_same, demo, query, run, tables, use
from tests.scripted_lms import OverlapLM


class Elsewhere(EvaluationLMSettings):
    """Settings of the scripted evaluation LM as if it were a service."""

    backend: str = "scripted"

    @property
    def elsewhere(self) -> bool:
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
    return refresh(Job(settings, state), steps.undecorated())


def test_two_papers_are_asked_about_at_a_time_and_the_tables_are_those_of_one_after_the_other(tmp_path: Path) -> None:
    use(OverlapLM())
    run(tmp_path / "one")
    use(MetLM())
    assert threaded(tmp_path / "two")["outcome"] == "done"
    assert_same(tables(tmp_path / "two"), tables(tmp_path / "one"))


class BrokenLM(OverlapLM):
    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob]:
        raise LMError("the server is gone")


def test_what_ends_one_thread_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    use(BrokenLM())
    with pytest.raises(LMError, match="the server is gone"):
        threaded(tmp_path)
    use(OverlapLM())
    assert threaded(tmp_path)["outcome"] == "done"
    assert query(tmp_path, "select count(*) from pairs where state = 'missing'", EDITION) == [(0,)]


def test_what_waits_when_a_run_ends_is_not_begun() -> None:
    begun, may_end = [], threading.Event()

    def step(number: int) -> None:
        begun.append(number)
        may_end.wait(120)

    with Threads(RunSettings(runner="threads", workers=1)) as runner:
        futures = [runner.submit(step, {"number": number}) for number in range(3)]
        while not begun:
            pass
    may_end.set()
    futures[0].result(timeout=120)
    assert begun == [0]


def test_an_evaluation_lm_of_this_process_is_not_asked_by_several_threads(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"behind HTTP, which scripted is not: serve it .* run.runner = processes"):
        usable(Job(demo("run.runner=threads"), tmp_path))
