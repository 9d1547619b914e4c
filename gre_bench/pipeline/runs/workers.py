"""Distributes the steps that need the evaluation LM: to this process, to threads, or to worker processes.

Each worker process opens an LM of its own. Papers are distributed in chunks, at most two per worker at a time. A score
does not depend on where it was computed. If a worker dies, its chunk is left to the next run, and scoring continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import LMIdentity, Signature
from gre_bench.core.settings import RunSettings, ScoringSettings
from gre_bench.metrics.scoring import Scored
from gre_bench.pipeline.runs.runners import Pending, Runner, runner_of
from gre_bench.tasks.protocol import Backends, Steps

Chunk = TypeVar("Chunk")

IN_FLIGHT = 2
"""Chunks per worker: one in progress, one queued, so that no worker waits for the store."""

MOST_DEATHS = 3
"""After this many deaths of workers without a result in between, no more chunks are submitted."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The result of a chunk whose worker died. *why* is the message stored with the chunk's pairs."""

    why: str = "its worker died, perhaps for lack of memory; run it again to try it"


class Workers:
    """Runs the steps that need the evaluation LM where *settings* say; a context manager that ends the workers.

    *run*: the steps of the run, with or without Prefect. ``steps``: the same steps, with one exception. If each worker
    has its own LM, a worker computes the signatures of metrics. Raises `SettingsError` if *settings* need Prefect and
    *run* does not use Prefect.
    """

    def __init__(self, run: Steps, settings: RunSettings):
        self._run = run
        self._settings = settings
        runner = runner_of(settings)
        elsewhere = runner is not None and settings.runner != "threads"
        if elsewhere and not hasattr(run.score_papers, "submit"):
            raise SettingsError(f"run.runner = {settings.runner} needs the Prefect engine: leave out --no-prefect")
        self._distributed = runner is not None
        self._runner: Runner | None = None
        self.steps = self._distributed_steps() if elsewhere else run

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._runner is not None:
            self._runner.__exit__(*error)
            self._runner = None

    def scored(
        self, chunks: Iterator[Chunk], values_of: Callable[[Chunk], dict[str, Any]]
    ) -> Iterator[tuple[Chunk, Scored | Lost]]:
        """Scores *chunks*, and yields each chunk with its result, in order of completion.

        The result is `Lost` if the chunk's worker died. *values_of* returns the keyword arguments of `score_papers` for
        a chunk. It is called when the chunk is submitted.
        """
        if not self._distributed:
            for chunk in chunks:
                yield chunk, self._run.score_papers(**quoted_for(self._run.score_papers, values_of(chunk)))
            return
        at_work: dict[Pending[Scored], Chunk] = {}
        deaths = 0
        while True:
            while deaths < MOST_DEATHS and len(at_work) < IN_FLIGHT * self._settings.workers:
                if (chunk := next(chunks, None)) is None:
                    break
                values = values_of(chunk)
                if self._settings.runner != "ray":
                    # Not for Ray: a pickled annotation comes back nested in itself (Prefect 3.8).
                    values = quoted_for(self._run.score_papers, values)
                at_work[self._started().submit(self._run.score_papers, values)] = chunk
            if not at_work:
                return
            runner = self._started()
            future = runner.first_done(list(at_work))
            result = _result(future, runner)
            yield at_work.pop(future), result
            deaths = deaths + 1 if isinstance(result, Lost) else 0
            if isinstance(result, Lost) and runner.die_together:
                for future, chunk in at_work.items():
                    yield chunk, _result(future, runner)
                at_work.clear()
                self.__exit__(None, None, None)

    def _started(self) -> Runner:
        """Returns the runner; the first call starts it."""
        if self._runner is None:
            runner = runner_of(self._settings)
            assert runner is not None
            self._runner = runner.__enter__()
        return self._runner

    def _distributed_steps(self) -> Steps:
        """Returns the steps of the run, changed so that a worker computes the signatures of metrics.

        This process then need not load the evaluation LM.
        """

        def sign_metrics(
            backends: Backends, scoring: ScoringSettings, writer: str, assw_writer: str | None = None
        ) -> tuple[LMIdentity, dict[str, Signature]]:
            values = {"backends": backends, "scoring": scoring, "writer": writer, "assw_writer": assw_writer}
            runner = self._started()
            try:
                # Unlike waiting for the future itself, this wait can be interrupted under Ray.
                return runner.first_done([runner.submit(self._run.sign_metrics, values)]).result()
            except runner.deaths:
                raise LMError("the worker that opened the evaluation LM died, perhaps for lack of memory") from None

        steps = copy(self._run)
        vars(steps)["sign_metrics"] = sign_metrics
        return steps


def quoted_for(step: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns *values* as keyword arguments for *step*.

    If *step* is a Prefect task, each value except strings is wrapped in Prefect's `quote`. Otherwise Prefect would
    search the values for futures.
    """
    if not hasattr(step, "submit"):
        return dict(values)
    from prefect.utilities.annotations import quote

    return {name: value if isinstance(value, str) else quote(value) for name, value in values.items()}


def _result(future: Pending[Scored], runner: Runner) -> Scored | Lost:
    try:
        return future.result()
    except runner.deaths:
        return Lost()
