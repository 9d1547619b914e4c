"""Distributes the steps that need the evaluation LM: to this process, to threads, or to worker processes.

Papers are distributed in chunks, at most two per worker at a time. A score does not depend on where it was computed. If
a worker dies, its chunk is left to the next run, and scoring continues.

Threads are for an evaluation LM behind HTTP. Each worker process opens its own LM. A *runner* starts the workers of one
kind and passes steps to them. The runners for processes and for Ray use Prefect's task runners. A runner is started by
the first step that needs it.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from gre_bench.core.errors import LMError, ServiceDown, SettingsError
from gre_bench.core.process import make_parent_death_hook
from gre_bench.core.records import LMIdentity, Signature
from gre_bench.core.settings import RunSettings, ScoringSettings, Settings
from gre_bench.metrics.scoring import ScoringResult
from gre_bench.pipeline.runs.job import Job, Progress, record_run
from gre_bench.store import Store
from gre_bench.tasks import steps
from gre_bench.tasks.backends import Backends, SignMetrics
from gre_bench.tasks.policy import is_in_flow_run

GLANCE_S = 0.02
CLUSTER_TRIES_S = (0.0, 1.0, 3.0)
VISIBLE = "CUDA_VISIBLE_DEVICES"
IN_FLIGHT = 2
"""Chunks per worker: one in progress and one queued, so that no worker waits for the store."""
MOST_DEATHS = 3
"""After this many worker deaths in a row, without a result in between, no more chunks are submitted."""

Chunk = TypeVar("Chunk")


class StepRunner:
    """Runs steps in workers; a context manager. If an exception ends its block, it does not wait for running steps.

    `submit` has a worker call a step with keyword arguments, and returns a future. `first_done` waits until one of
    several futures is done, and returns it.

    - *deaths*: the types of exceptions that mean that a worker died.
    - *die_together*: whether the death of one worker ends the runner and all its other workers.
    """

    deaths: tuple[type[BaseException], ...] = ()
    die_together = False

    def __init__(self, settings: RunSettings):
        self._settings, self._stack = settings, ExitStack()
        self._runner: Any = None

    def __enter__(self) -> StepRunner:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def submit(self, step: Callable[..., Any], values: dict[str, Any]) -> Any:
        return self._runner.submit(step.task(), values)  # type: ignore[attr-defined]

    def first_done(self, futures: Sequence[Any]) -> Any:
        raise NotImplementedError


class ThreadRunner(StepRunner):
    """Threads in this process, which take their steps from one queue, without Prefect.

    They are daemon threads, so that a stopped run does not wait for replies that nobody will read.
    """

    def __enter__(self) -> StepRunner:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        for number in range(self._settings.workers):
            threading.Thread(target=self._run_queued_steps, name=f"scoring-{number}", daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        while not self._queue.empty():
            self._queue.get()
        for _ in range(self._settings.workers):
            self._queue.put(None)

    def submit(self, step: Callable[..., Any], values: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        # The context identifies the flow run to which a step belongs.
        self._queue.put((copy_context(), step, values, future))
        return future

    def first_done(self, futures: Sequence[Any]) -> Any:
        done, _ = wait(futures, return_when=FIRST_COMPLETED)
        return next(future for future in futures if future in done)

    def _run_queued_steps(self) -> None:
        while (task := self._queue.get()) is not None:
            context, step, values, future = task
            try:
                future.set_result(context.run(step, **values))
            except BaseException as error:
                future.set_exception(error)


class ProcessRunner(StepRunner):
    """Worker processes on this machine. If there are several GPUs, they are assigned to the workers in turn."""

    deaths = (BrokenProcessPool,)
    die_together = True

    def __enter__(self) -> StepRunner:
        from prefect.task_runners import ProcessPoolTaskRunner

        threads, devices = max(1, len(os.sched_getaffinity(0)) // self._settings.workers), list_gpus()
        if devices and (visible := os.environ.pop(VISIBLE, None)) is not None:
            # Each worker sets this variable to its own GPU. With each step, Prefect copies this process's environment
            # to the worker, so a value here would overwrite the worker's value.
            self._stack.callback(os.environ.__setitem__, VISIBLE, visible)
        begun = (os.getpid(), threads, devices, multiprocessing.get_context("spawn").Value("i", 0))
        self._runner = ProcessPoolTaskRunner(self._settings.workers, initializer=_initialise_worker, initargs=begun)
        self._stack.enter_context(self._runner)
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            # Without this, the pool would wait for the running steps.
            for process in list((self._runner._executor._processes or {}).values()):
                process.kill()
        self._stack.close()

    def first_done(self, futures: Sequence[Any]) -> Any:
        while True:
            for future in futures:
                if future.wrapped_future.done():
                    return future
            time.sleep(GLANCE_S)


class RayRunner(StepRunner):
    """Workers on a Ray cluster: the one at ``ray_address``, or a local one that is started for this run."""

    def __init__(self, settings: RunSettings):
        super().__init__(settings)
        try:
            from ray import exceptions
        except ImportError as error:
            raise SettingsError("run.runner = ray needs Ray: pip install 'gre-bench[ray]'") from error
        self.deaths = (
            exceptions.WorkerCrashedError,
            exceptions.NodeDiedError,
            exceptions.LocalRayletDiedError,
            exceptions.OutOfMemoryError,
            exceptions.ObjectLostError,
        )
        self._out: set[Any] = set()

    def __enter__(self) -> StepRunner:
        import ray
        from prefect_ray import RayTaskRunner
        from prefect_ray.context import remote_options

        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self._settings.ray_address:
            if lacking := explain_unreachable_ray_cluster(self._settings.ray_address):
                raise ServiceDown(lacking)
            cluster: dict[str, Any] = {"address": self._settings.ray_address}
        else:
            cluster = {"num_cpus": self._settings.workers, "include_dashboard": False}
        # RayTaskRunner(address="auto") would start a new cluster.
        self._runner = RayTaskRunner(init_kwargs=quiet | cluster)
        # When Ray starts, it installs its own handler for SIGTERM.
        signs = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
        handlers = [(sign, signal.getsignal(sign)) for sign in signs]
        try:
            self._stack.enter_context(self._runner)
        finally:
            for sign, handler in handlers:
                signal.signal(sign, handler)
        wanted = self._settings.gpus_per_worker
        most = max((node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"]), default=0.0)
        if wanted > most:
            # Without this, Ray would wait forever.
            self._stack.close()
            raise SettingsError(
                f"run.gpus_per_worker = {wanted:g}, but no machine of the Ray cluster has more than {most:g} GPUs"
            )
        # By default a worker with a GPU ends after each step, and would lose its evaluation LM. A step whose worker
        # died is not retried: its chunk is left to the next run.
        self._stack.enter_context(remote_options(num_gpus=wanted, max_calls=0, max_retries=0))
        return self

    def __exit__(self, *error: Any) -> None:
        import ray

        if error[0] is not None:
            for reference in self._out:
                ray.cancel(reference, force=True)
        self._stack.close()

    def submit(self, step: Callable[..., Any], values: dict[str, Any]) -> Any:
        future = super().submit(step, values)
        self._out.add(future.wrapped_future)
        return future

    def first_done(self, futures: Sequence[Any]) -> Any:
        import ray

        by_reference = {future.wrapped_future: future for future in futures}
        while True:
            try:
                # With a blocking wait, Ray would replace the exception that a signal handler raises.
                done, _ = ray.wait(list(by_reference), num_returns=1, timeout=0)
            except SystemError as error:
                raise error.__cause__ or error from None
            if done:
                break
            time.sleep(GLANCE_S)
        self._out.discard(done[0])
        return by_reference[done[0]]


def explain_unreachable_ray_cluster(address: str, tries_s: Sequence[float] = CLUSTER_TRIES_S) -> str | None:
    """Returns a message if nothing accepts connections at *address*, the host:port of a Ray cluster; else None.

    Ray itself would try for 15 minutes. An address of another form, such as ``auto``, is not checked. *tries_s*: the
    seconds to wait before each attempt.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return None
    reason = None
    for seconds in tries_s:
        time.sleep(seconds)
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
            return None
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    return (
        f"no Ray cluster answers at {address} (run.ray_address): {reason}; start it (ray start --head) or correct the "
        "address; what was done is kept"
    )


def build_runner(settings: RunSettings) -> StepRunner | None:
    """Returns the runner that *settings* name, not yet started; None if this process does the scoring itself.

    Raises `SettingsError` if the settings contradict each other.
    """
    if settings.runner != "ray" and (settings.gpus_per_worker or settings.ray_address):
        raise SettingsError("run.gpus_per_worker and run.ray_address are for Ray: set run.runner = ray")
    if settings.runner == "here":
        return None
    if settings.ray_address and not os.environ.get("PREFECT_API_URL"):
        raise SettingsError(
            "run.ray_address: workers elsewhere report to a Prefect server that they can reach; start one "
            "(prefect server start) and set PREFECT_API_URL here and there"
        )
    return {"threads": ThreadRunner, "processes": ProcessRunner, "ray": RayRunner}[settings.runner](settings)


def check_task_runner(settings: Settings) -> None:
    """Raises `SettingsError` if the runner's settings contradict each other or do not suit the evaluation LM."""
    build_runner(settings.run)
    if settings.run.runner == "threads" and not settings.evaluation_lm.runs_in_server:
        raise SettingsError(
            f"run.runner = threads is for an evaluation LM behind HTTP, which {settings.evaluation_lm.backend} is not: "
            "serve it (evaluation_lm.backend = vllm), or take run.runner = processes"
        )


def list_gpus(folder: Path = Path("/dev")) -> tuple[str, ...]:
    """Returns the CUDA names of the GPUs that this process may use: ``CUDA_VISIBLE_DEVICES``, or all if it is unset.

    GPUs are counted by the NVIDIA driver's device files in *folder*, without loading torch.
    """
    if (visible := os.environ.get(VISIBLE)) is not None:
        return tuple(itertools.takewhile(lambda name: name and name != "-1", map(str.strip, visible.split(","))))
    return tuple(map(str, range(len(list(folder.glob("nvidia[0-9]*"))))))


def _initialise_worker(parent: int, threads: int, devices: Sequence[str], count: Any) -> None:
    """Initialises a worker process with *threads* threads and the next one of the GPUs *devices*.

    The worker ignores Ctrl-C, which the run's main process, *parent*, handles. It is killed when *parent* ends.
    *count*: the number of workers started so far, a value shared by all workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    make_parent_death_hook(parent, signal.SIGKILL)()
    if devices:
        with count.get_lock():
            index = count.value
            count.value += 1
        os.environ[VISIBLE] = str(devices[index % len(devices)])


@contextmanager
def run_with_workers(job: Job, command: str) -> Iterator[tuple[Store, ScoringWorkers, Progress]]:
    """Records a run of *command* for *job*; holds the edition's lock within the block, then ends the workers."""
    store, workers = job.store, ScoringWorkers(job.settings.run)
    with store.lock(command, job.wait_s), record_run(store, command, job.settings) as progress, workers:
        yield store, workers, progress


class LostChunk:
    """The result for a chunk whose worker died; *why*: the message to store with the chunk's pairs."""

    why = "its worker died, perhaps for lack of memory"


class ScoringWorkers:
    """Runs the steps that need the evaluation LM in the runner of *settings*; a context manager that ends the workers.

    The runners ``processes`` and ``ray`` need Prefect: outside a flow run, this process runs the steps instead.
    ``sign_metrics`` is the step of this name; if workers have their own LMs, a worker runs it.
    """

    def __init__(self, settings: RunSettings):
        self._settings = settings
        elsewhere = settings.runner in ("processes", "ray") and is_in_flow_run()
        self._distributed = elsewhere or settings.runner == "threads"
        self._runner: StepRunner | None = None
        self.sign_metrics: SignMetrics = self._sign_metrics_in_worker if elsewhere else steps.sign_metrics

    def __enter__(self) -> ScoringWorkers:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._runner is not None:
            self._runner.__exit__(*error)
            self._runner = None

    def score_chunks(
        self, chunks: Iterator[Chunk], build_score_arguments: Callable[[Chunk], dict[str, Any]]
    ) -> Iterator[tuple[Chunk, ScoringResult | LostChunk]]:
        """Scores *chunks*; yields (chunk, result) in order of completion, with `LostChunk` if the worker died.

        *build_score_arguments*: called when a chunk is submitted; returns the keyword arguments of `score_papers` for
        the chunk.
        """
        if not self._distributed:
            for chunk in chunks:
                yield chunk, steps.score_papers(**quote_for_prefect(build_score_arguments(chunk)))
            return
        at_work: dict[Any, Chunk] = {}
        deaths = 0
        while True:
            while deaths < MOST_DEATHS and len(at_work) < IN_FLIGHT * self._settings.workers:
                if (chunk := next(chunks, None)) is None:
                    break
                values = build_score_arguments(chunk)
                if self._settings.runner != "ray":
                    # Not for Ray: after pickling, the annotation is nested in itself (Prefect 3.8).
                    values = quote_for_prefect(values)
                at_work[self._get_started_runner().submit(steps.score_papers, values)] = chunk
            if not at_work:
                return
            runner = self._get_started_runner()
            future = runner.first_done(list(at_work))
            result = _get_result_or_lost_chunk(future, runner)
            yield at_work.pop(future), result
            deaths = deaths + 1 if isinstance(result, LostChunk) else 0
            if isinstance(result, LostChunk) and runner.die_together:
                for future, chunk in at_work.items():
                    yield chunk, _get_result_or_lost_chunk(future, runner)
                at_work.clear()
                self.__exit__(None, None, None)

    def _get_started_runner(self) -> StepRunner:
        """Returns the runner; the first call starts it."""
        if self._runner is None:
            runner = build_runner(self._settings)
            assert runner is not None
            self._runner = runner.__enter__()
        return self._runner

    def _sign_metrics_in_worker(
        self, backends: Backends, scoring: ScoringSettings, writer: str, assw_writer: str | None = None
    ) -> tuple[LMIdentity, dict[str, Signature]]:
        """Has a worker run the step ``sign_metrics``, so that this process need not load the evaluation LM."""
        values = {"backends": backends, "scoring": scoring, "writer": writer, "assw_writer": assw_writer}
        runner = self._get_started_runner()
        try:
            # Unlike waiting for the future itself, this wait can be interrupted under Ray.
            return runner.first_done([runner.submit(steps.sign_metrics, values)]).result()
        except runner.deaths:
            raise LMError("the worker that opened the evaluation LM died, perhaps for lack of memory") from None


def quote_for_prefect(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns *values* as keyword arguments for a step, wrapped in Prefect's `quote` within a flow run.

    Without the wrapping, Prefect would search the values for futures.
    """
    if not is_in_flow_run():
        return dict(values)
    from prefect.utilities.annotations import quote

    return {name: value if isinstance(value, str) else quote(value) for name, value in values.items()}


def _get_result_or_lost_chunk(future: Any, runner: StepRunner) -> ScoringResult | LostChunk:
    try:
        return future.result()
    except runner.deaths:
        return LostChunk()
