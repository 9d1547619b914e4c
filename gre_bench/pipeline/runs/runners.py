"""Who computes chunks: threads, processes of this machine or Ray, made to start, end and die as a run needs it.

Processes and Ray are Prefect's task runners. A runner is used directly, for the steps that need the evaluation LM only,
so that nothing is started before they come.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import RunSettings, Settings
from gre_bench.pipeline.runs.prefect_engine import die_with
from gre_bench.pipeline.runs.threads import Threads

GLANCE_S = 0.02
VISIBLE = "CUDA_VISIBLE_DEVICES"


Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Pending(Protocol[Result_co]):
    """A step that was handed out."""

    def result(self) -> Result_co:
        """What the step returned; raises what it raised."""
        ...


class Runner(Protocol):
    """Steps handed out and taken back. Left by an exception, it ends what is at work at once.

    *deaths*: the exceptions that stand for a worker that died. *die_together*: all go with one, the runner is spent.
    """

    die_together: bool

    @property
    def deaths(self) -> tuple[type[BaseException], ...]: ...

    def __enter__(self) -> Runner: ...

    def __exit__(self, *error: Any) -> None: ...

    def submit(self, step: Callable[..., Result], values: dict[str, Any]) -> Pending[Result]:
        """Hands out a *step* with its *values* by name."""
        ...

    def first_done(self, futures: Sequence[Pending[Result]]) -> Pending[Result]:
        """One of *futures*, as soon as one is done."""
        ...


class Processes:
    """A `Runner`: processes of this machine, its GPUs dealt out: one to each, beginning again after the last."""

    die_together = True

    def __init__(self, settings: RunSettings):
        from concurrent.futures.process import BrokenProcessPool

        self.deaths = (BrokenProcessPool,)
        self._workers = settings.workers
        self._stack = ExitStack()
        self._runner: Any = None

    def __enter__(self) -> Processes:
        from prefect.task_runners import ProcessPoolTaskRunner

        self._stack.enter_context(_one_server())
        threads = max(1, len(os.sched_getaffinity(0)) // self._workers)
        devices = self._stack.enter_context(_dealt_out())
        count = multiprocessing.get_context("spawn").Value("i", 0)
        begun = (os.getpid(), threads, devices, count)
        self._runner = ProcessPoolTaskRunner(self._workers, initializer=_begin, initargs=begun)
        self._stack.enter_context(self._runner)
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            # The pool itself would wait for what its processes are at.
            for process in list((self._runner._executor._processes or {}).values()):
                process.kill()
        self._stack.close()

    def submit(self, step: Callable[..., Result], values: dict[str, Any]) -> Pending[Result]:
        return self._runner.submit(step, values)

    def first_done(self, futures: Sequence[Any]) -> Any:
        while True:
            for future in futures:
                if future.wrapped_future.done():
                    return future
            time.sleep(GLANCE_S)


class Ray:
    """A `Runner`: a Ray cluster, that of ``ray_address`` or one started here and ended with the run."""

    die_together = False

    def __init__(self, settings: RunSettings):
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
        self._settings = settings
        self._stack = ExitStack()
        self._runner: Any = None
        self._out: set[Any] = set()

    def __enter__(self) -> Ray:
        from prefect_ray import RayTaskRunner
        from prefect_ray.context import remote_options

        self._stack.enter_context(_one_server())
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self._settings.ray_address:
            where: dict[str, Any] = {"address": self._settings.ray_address}
        else:
            where = {"num_cpus": self._settings.workers, "include_dashboard": False}
        # The runner's own address would take "auto" for a new cluster.
        self._runner = RayTaskRunner(init_kwargs=quiet | where)
        with _own_signals():
            self._stack.enter_context(self._runner)
        try:
            _look_for_gpus(self._settings.gpus_per_worker)
        except SettingsError:
            self._stack.close()
            raise
        # A worker with a GPU would end after each step, and its evaluation LM with it. What a worker that died was at
        # is left to the next run.
        options = {"num_gpus": self._settings.gpus_per_worker, "max_calls": 0, "max_retries": 0}
        self._stack.enter_context(remote_options(**options))
        return self

    def __exit__(self, *error: Any) -> None:
        import ray

        if error[0] is not None:
            for reference in self._out:
                ray.cancel(reference, force=True)
        self._stack.close()

    def submit(self, step: Callable[..., Result], values: dict[str, Any]) -> Pending[Result]:
        future = self._runner.submit(step, values)
        self._out.add(future.wrapped_future)
        return future

    def first_done(self, futures: Sequence[Any]) -> Any:
        import ray

        by_reference = {future.wrapped_future: future for future in futures}
        while True:
            try:
                # A wait within Ray mangles the exception of a signal that comes meanwhile.
                done, _ = ray.wait(list(by_reference), num_returns=1, timeout=0)
            except SystemError as error:
                raise error.__cause__ or error from None
            if done:
                break
            time.sleep(GLANCE_S)
        self._out.discard(done[0])
        return by_reference[done[0]]


def runner_of(settings: RunSettings) -> Runner | None:
    """The runner that *settings* ask for, not yet started; None: all is done here. `SettingsError` if it cannot be."""
    if settings.runner != "ray" and (settings.gpus_per_worker or settings.ray_address):
        raise SettingsError("run.gpus_per_worker and run.ray_address are for Ray: set run.runner = ray")
    if settings.runner == "here":
        return None
    if settings.runner == "threads":
        return Threads(settings)
    if settings.runner == "processes":
        return Processes(settings)
    if settings.ray_address and not os.environ.get("PREFECT_API_URL"):
        raise SettingsError(
            "run.ray_address: workers elsewhere report to a Prefect server that they can reach; start one "
            "(prefect server start) and set PREFECT_API_URL here and there"
        )
    return Ray(settings)


def check_runner(settings: Settings) -> None:
    """`SettingsError` if what *settings* ask for cannot be, or cannot do what it is asked to do."""
    runner_of(settings.run)
    if settings.run.runner == "threads" and not settings.evaluation_lm.elsewhere:
        raise SettingsError(
            f"run.runner = threads is for an evaluation LM behind HTTP, which {settings.evaluation_lm.backend} is not: "
            "serve it (evaluation_lm.backend = vllm), or take run.runner = processes"
        )


def _one_server() -> Any:
    """Makes the workers use the temporary Prefect server of this process; each would start one of its own."""
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if PREFECT_API_URL.value():
        return ExitStack()
    return temporary_settings({PREFECT_API_URL: SubprocessASGIServer().api_url})


def _look_for_gpus(wanted: float) -> None:
    """`SettingsError` if no machine of the cluster has so many GPUs: Ray would wait for one for ever."""
    import ray

    most = max((node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"]), default=0.0)
    if wanted > most:
        raise SettingsError(
            f"run.gpus_per_worker = {wanted:g}, but no machine of the Ray cluster has more than {most:g} GPUs"
        )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it starts; a run has its own use for it."""
    signs = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    kept = [(sign, signal.getsignal(sign)) for sign in signs]
    try:
        yield
    finally:
        for sign, handler in kept:
            signal.signal(sign, handler)


@contextmanager
def _dealt_out() -> Iterator[tuple[str, ...]]:
    """The GPUs of this machine, to be dealt out: with each step Prefect sets a worker's environment to that of here.

    Hence what says which GPUs are seen is taken out of it meanwhile.
    """
    devices = gpus()
    kept = os.environ.pop(VISIBLE, None) if devices else None
    try:
        yield devices
    finally:
        if kept is not None:
            os.environ[VISIBLE] = kept


def gpus(folder: Path = Path("/dev")) -> tuple[str, ...]:
    """The GPUs that this process may use as CUDA names them: those of the environment, else the NVIDIA ones there are.

    Counted by the files of the driver, so that torch need not be loaded.
    """
    if (visible := os.environ.get(VISIBLE)) is not None:
        return tuple(itertools.takewhile(lambda name: name and name != "-1", map(str.strip, visible.split(","))))
    return tuple(map(str, range(len(list(folder.glob("nvidia[0-9]*"))))))


def _begin(parent: int, threads: int, devices: Sequence[str], count: Any) -> None:
    """In a worker, first of all: a Ctrl-C is for the run to handle, and the worker does not outlive it.

    It sees the one of *devices* that is next by *count*, a number that the workers share.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    die_with(parent, signal.SIGKILL)
    if devices:
        with count.get_lock():
            place = count.value
            count.value += 1
        os.environ[VISIBLE] = str(devices[place % len(devices)])
