"""Refreshes of the sample in children that are killed or stopped: from notes and PDFs, by rule or by a scripted server.

Children are forked off a process that has everything imported, so that a start costs no time.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from gre_bench.cli.commands.groups import CommandApp
from gre_bench.core import settings
from gre_bench.core.errors import GreBenchError, StoreError
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs import spending
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.writing import http_writer
from tests.conftest import ROOT
from tests.faults.commands import DEMO, MODELS, start
from tests.faults.points import armed
from tests.flows.refreshing import EDITION, tables, use
from tests.forks import CONTEXT
from tests.holds import wait_for
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, ScriptedChat

GIVEN = ROOT / "tests" / "flows" / "given_judgments.toml"
"""The sample with the judgments that ship with it: no PDF is read, a refresh takes a third of the time."""
SMALL_STEPS = ("run.chunk_papers=6", "run.read_copy_every_s=0", "writing.chunk=16")
"""Scores are committed in three parts, with a copy for readers after each."""
T = TypeVar("T")


def by_lm(folder: Path, server: ScriptedChat, *more: str) -> tuple[str, ...]:
    """Overrides that have judgments, synopses and a candidate's reviews written by the scripted *server*."""
    folder.mkdir(parents=True, exist_ok=True)
    models = folder / "models.toml"
    models.write_text(MODELS.format(url=server.url, model=MODEL))
    names = ("judgments=scripted", "assw=scripted", "candidates=['scripted']")
    return (f"writing.models={models}", *(f"writing.{name}" for name in names), *more)


def refreshed(
    state: str, overrides: tuple[str, ...] = (), die_at: int | None = None, counted: str | None = None, only: str = "",
    core: int | None = None, pause_s: float = 0.0, held_at: Path | None = None, lm: str = "scripted-overlap",
    prepare: Callable[[], None] | None = None, file: Path = DEMO, **asked: Any,
) -> None:  # fmt: skip
    """One refresh, in a child: exit code 0 if it is done, 3 if it is incomplete, 2 if it is refused.

    It dies at commit point *die_at*, or leaves the names of all points it passed in the file *counted*. One core is
    enough, and hours are written down at the end alone, so that the points are the same each time.
    """
    if core is not None:
        os.sched_setaffinity(0, {core})
    spending.TICK_S = math.inf
    use(OverlapLM(lm, pause_s=pause_s, held_at=held_at))
    http_writer.RetryPolicy = partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01)  # type: ignore[misc]
    if prepare:
        prepare()
    points = armed(Path(state), die_at, only) if die_at or counted else None
    chosen = settings.load(file, ("evaluation_lm.backend=scripted", *SMALL_STEPS, *overrides))
    try:
        outcome = refresh(Job(chosen, Path(state), **asked))["outcome"]
    except GreBenchError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(2)
    if counted and points:
        Path(counted).write_text("\n".join(points.passed))
    sys.exit(0 if outcome == "done" else 3)


def started(state: Path, *overrides: str, **more: Any) -> BaseProcess:
    """A refresh under *state* at work in a child."""
    process = CONTEXT.Process(target=refreshed, args=(str(state), overrides), kwargs=more)
    process.start()
    return process


def ended(state: Path, *overrides: str, **more: Any) -> int:
    """The exit code of a refresh under *state*; minus the signal that ended it."""
    process = started(state, *overrides, **more)
    process.join(600)
    assert process.exitcode is not None, "a run that does not end"
    return process.exitcode


def killed_after(process: BaseProcess, seconds: float) -> bool:
    """Whether *process* was still at work after *seconds*, and is killed now."""
    process.join(seconds)
    alive = process.exitcode is None
    if alive:
        os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    assert process.exitcode == (-signal.SIGKILL if alive else 0) or (alive and process.exitcode == 0)
    return process.exitcode != 0


def on_each_core(work: Callable[[T, int], None], items: Iterable[T]) -> None:
    """*work* done on each of *items*, with a core of its own, as many at a time as there are cores."""
    free: SimpleQueue[int] = SimpleQueue()
    for core in os.sched_getaffinity(0):
        free.put(core)

    def done(item: T) -> None:
        core = free.get()
        try:
            work(item, core)
        finally:
            free.put(core)

    with ThreadPoolExecutor(free.qsize()) as threads:
        list(threads.map(done, items))


def whole(state: Path) -> dict[str, list[tuple[Any, ...]]]:
    """`tables` and the texts that they rest on, run ids and times aside."""
    names = ("papers", "reviews", "judgments", "synopses", "texts", "candidates", "review_versions", "paper_sources")
    asked = {name: f"from {name} order by all" for name in names}
    asked["replies"] = "select * exclude (run_id, archived) from replies order by all"
    with Store(state, EDITION).transaction() as connection:
        texts = {name: connection.execute(text).fetchall() for name, text in asked.items()}
    return tables(state) | texts


def debris(state: Path) -> list[str]:
    """What a killed run was writing beside its place, and nobody took away."""
    return sorted(str(path.relative_to(state)) for path in state.rglob(".*"))


def stage_of(state: Path) -> str:
    """The stage at which the run under *state* is, or was killed."""
    with suppress(StoreError):
        status = Store(state, EDITION).status() or {}
        return " ".join(status.get("stage", "nothing written yet").split()[:2])
    return "unknown"


def commanded(folder: Path, *arguments: str, environment: Mapping[str, str] = {}, **lm: Any) -> BaseProcess:
    """``gre-bench ARGUMENTS``, begun in a child that leads a session; what it prints goes to files of *folder*.

    *lm*: how the scripted evaluation LM behaves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "began").unlink(missing_ok=True)
    process = start(arguments, folder, partial(_leading, folder / "began", dict(environment), lm))
    wait_for((folder / "began").exists, process)
    return process


def _leading(began: Path, environment: dict[str, str], lm: dict[str, Any]) -> None:
    os.setsid()
    os.environ.update(environment)
    use(OverlapLM(**lm))
    from gre_bench.cli import app as cli

    whole = cli.build_program

    def program_of(names: Collection[str] | None = None) -> CommandApp:
        """The program, told to be at work when its signals are in its hands."""
        began.touch()
        return whole(names)

    cli.build_program = program_of


def said(folder: Path) -> tuple[str, str]:
    """What a command printed: standard output, standard error."""
    return (folder / "out").read_text(), (folder / "err").read_text()


def under_prefect(state: Path, *more: str) -> subprocess.Popen[str]:
    """A refresh of the sample under a Prefect engine of its own, in a session of its own."""
    command = ["refresh", "--settings", DEMO, "--set", "evaluation_lm.backend=scripted", *more, "--state", state]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.runs.killed", *map(str, command)], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def left_behind(session: int) -> list[int]:
    """Processes of the *session* that are still there after some seconds."""
    deadline = time.monotonic() + 10
    while alive := [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _session(pid) == session]:
        if time.monotonic() > deadline:
            return alive
        time.sleep(0.05)
    return []


def _session(pid: int) -> int | None:
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else int(fields[2])


def children(pid: int) -> list[int]:
    """Process ids of the direct children of *pid*."""
    try:
        threads = [(part / "children").read_text() for part in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    return [int(child) for thread in threads for child in thread.split()]


def descendants(pid: int) -> set[int]:
    """Processes that *pid* started, and those that they started."""
    own = set(children(pid))
    return own | {further for child in own for further in descendants(child)}


def gone(pids: Iterable[int], within_s: float) -> None:
    """Waits until none of the processes *pids* is there any more."""
    deadline = time.monotonic() + within_s
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.02)
