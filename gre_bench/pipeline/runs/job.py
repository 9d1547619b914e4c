"""The job of a run (what it must do), its progress, and its record in the store.

The progress is written to the edition's ``status.json``, and to a machine-readable log.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import GreBenchError, Paused, Stopped, StoreError, UnfinishedError
from gre_bench.core.records import parse_edition_key
from gre_bench.core.settings import Settings, load_recorded_settings
from gre_bench.http.lm_requests import SHORTEST_SECRET, mask_secrets
from gre_bench.pipeline.runs.prefect_engine import is_server_lost
from gre_bench.pipeline.runs.spending import RunClock, check_budget_models, spend_log
from gre_bench.store import Store, now
from gre_bench.store.queries import LAST_SETTINGS

if TYPE_CHECKING:
    from gre_bench.tasks.backends import Backends
    from gre_bench.writing.writers import WriterContext

STATES = ("planned", "scored", "failed", "excluded", "missing")
EVENTS = {
    "started": "{edition}: {command}, run {run}",
    "stage": "{stage}",
    "committed": "{stage}: {done} of {due}",
    "text": "{task} of {item} by {writer}: {outcome} {detail}",
    "ended": "{edition}: {state} {message}",
}
"""Event of a run → the template of its line in Python's log, which Prefect shows on the page of the flow run."""
LOG = logging.getLogger("gre_bench.run")


class Progress:
    """Counts the finished texts or pairs of a run in the edition's ``status.json``, which progress bars show.

    *shown*: whether the run appears in that file and is stopped when the budget's hours are used up; false for imports.
    Each event is also a line of ``logs/RUN.jsonl`` in the state folder, a JSON object without secrets. The program
    never reads this log: the store is the checkpoint. If a line cannot be written, the run continues without a log.
    """

    def __init__(self, store: Store, run_id: str, command: str, settings: Settings, shown: bool = True):
        self.store, self.run_id, self.shown, state = store, run_id, shown, store.folder.parent.parent
        self.clock = RunClock(spend_log(store), store.key, settings.budget) if shown else None
        self._log: Path | None = state / "logs" / f"{run_id}.jsonl"
        self._secrets = list_secrets(settings)
        last: dict[str, Any] | None = None
        with suppress(StoreError):
            last = store.status() if shown else None
        self.status: dict[str, Any] = {
            "edition": store.key,
            "run_id": run_id,
            "command": command,
            "again": mask_secrets(_build_repeat_command(store), self._secrets),
            "state": "running",
            "stage": "starting",
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_at": now().isoformat(),
            "metrics": (last or {}).get("metrics", []),  # the last run's, until this run has counted its own pairs
            "due": 0,
            "done": 0,
            "pairs_per_s": None,
            "remaining_s": None,
            "message": "",
            "log": None,
        }
        self._began = time.monotonic()
        self.tell("started", command=command, pid=os.getpid(), host=self.status["host"])
        self._save_status()

    def tell(self, event: str, **more: Any) -> None:
        """Appends a line to the log: the time (UTC), the edition, the run, the name *event*, and its details *more*."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = self._mask_secrets_in({"at": at, "edition": self.store.key, "run": self.run_id, "event": event, **more})
        LOG.info("%s", EVENTS[event].format_map(entry).rstrip())
        if self._log is None:
            return
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, default=str) + "\n")
        except OSError:
            self._log = None
        self.status["log"] = self._log and str(self._log)

    def _mask_secrets_in(self, value: Any) -> Any:
        """Returns *value* with all secrets masked, at any depth."""
        if isinstance(value, dict):
            return {name: self._mask_secrets_in(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._mask_secrets_in(part) for part in value]
        return mask_secrets(value, self._secrets) if isinstance(value, str) else value

    def stage(self, name: str, metrics: Sequence[Mapping[str, Any]] = ()) -> None:
        """Starts the stage *name*. *metrics*: rows to show now, one per metric: its numbers of pairs by state."""
        if metrics:
            self.status["metrics"] = [{key: row[key] for key in ("metric", *STATES)} for row in metrics]
        self.status["stage"] = name
        if name != "ended":
            self.tell("stage", stage=name)
        self._save_status()

    def expect(self, due: int) -> None:
        """Sets the number of texts or pairs that the current stage has to process."""
        self.status |= {"due": due, "done": 0, "pairs_per_s": None, "remaining_s": None}
        self._began = time.monotonic()
        self._save_status()

    def advance(self, count: int) -> None:
        """Adds *count* finished pairs or texts; raises `BudgetReached` if the run has used up its budget of hours."""
        self.status["done"] += count
        rate = self.status["done"] / max(1e-9, time.monotonic() - self._began)
        self.status["pairs_per_s"] = round(rate, 3)
        self.status["remaining_s"] = round((self.status["due"] - self.status["done"]) / rate, 1) if rate else None
        self.tell("committed", stage=self.status["stage"], **{key: self.status[key] for key in ("done", "due")})
        self._save_status()
        if self.clock:
            self.clock.tick()

    def end(self, state: str, message: str = "", metrics: Sequence[Mapping[str, Any]] = ()) -> None:
        """Records that the run ended as *state*: done, incomplete, fault, refused, paused or stopped."""
        self.status |= {"state": state, "message": message, "remaining_s": None, "ended_at": now().isoformat()}
        self.tell("ended", state=state, message=message)
        self.stage("ended", metrics)

    def _save_status(self) -> None:
        if self.shown:
            self.store.save_status(self.status | {"updated_at": now().isoformat()})


@dataclass(frozen=True, slots=True)
class Job:
    """What a run must do with the edition of *settings* under the folder *state*.

    - *candidates*: score only these; None means all. *limit*: use only this number of papers (a pilot).
    - *retry_failed*: whether to retry texts and scores that failed permanently.
    - *wait_s*: seconds to wait for another process that holds the edition's lock.
    - *perturbations*: perturbation → id of its candidate, for a validation; other jobs have none.
    - *texts_first*: whether to score nothing as long as texts of *candidates* are missing.
    - *left_out*: ids of papers to leave out of a validation, because its evaluation LM or writer was trained on them.
    - *in_place_of*: set for a dry run. A function that takes a step and the kind of text that the step writes, and
      returns the function that runs instead of the step.
    """

    settings: Settings
    state: Path
    candidates: tuple[str, ...] | None = None
    limit: int | None = None
    retry_failed: bool = False
    wait_s: float = 0.0
    perturbations: Mapping[str, str] = field(default_factory=dict)
    texts_first: bool = False
    left_out: frozenset[str] = frozenset()
    in_place_of: Callable[[Callable[..., Any], str], Callable[..., Any]] | None = None

    @property
    def store(self) -> Store:
        return Store(self.state, self.settings.edition.edition)

    @property
    def writer_context(self) -> WriterContext:
        """What text writers need.

        Editions in a state folder share an archive of replies. Each edition has its own account in the spend log.
        """
        from gre_bench.writing.writers import WriterContext

        edition, writing = self.settings.edition, self.settings.writing
        account = edition.edition.key
        return WriterContext(self.state / "replies", writing.models, self.retry_failed, edition.domain, account,
                             self.settings.budget, writing.sampling, writing.over_long)  # fmt: skip

    @property
    def backends(self) -> Backends:
        from gre_bench.tasks.backends import Backends

        return Backends(self.settings.evaluation_lm, self.settings.embedder, self.writer_context)


def read_last_run(store: Store) -> dict[str, Any] | None:
    """Returns the status of the current or last run of *store*; None before the first.

    For an edition that was loaded, the state is ``loaded``, and the message names the release. For a run that was
    killed, the state is ``cut short``, and the message says how to continue it. Raises `StoreError` if the status is
    damaged.
    """
    if store.is_from_release:
        release = store.release_file.read_text(encoding="utf-8")
        return {"edition": store.key, "state": "loaded", "metrics": [], "message": f"from release {release}"}
    status = store.status()
    if status and status["state"] == "running" and not store.is_being_written():
        again = status.get("again") or f"gre-bench refresh --edition {store.key}"
        status |= {"state": "cut short", "message": f"run it again: {again}"}
    return status


def _build_repeat_command(store: Store) -> str:
    """Returns the command that repeats this process's work in the same state folder."""
    if flow_run := os.environ.get("PREFECT__FLOW_RUN_ID"):
        return f"prefect flow-run retry {flow_run}"  # this keeps the run's parameters
    program, *words = sys.argv
    if Path(program).name != "gre-bench" or words[:1] == ["new"]:  # a Python program, or an edition that is there now
        words = ["refresh", "--edition", store.key]
    words = [word for before, word in zip(["", *words], words, strict=False)
             if "--state" not in (before, word.partition("=")[0])]  # fmt: skip
    return shlex.join(["gre-bench", *words, "--state", str(store.folder.parent.parent.resolve())])


def read_last_settings(store: Store) -> Settings:
    """Returns the settings of the last ``refresh`` or ``new`` that was not refused; without one, the default settings.

    Reads the store's copy for readers, the file that other processes read while a run writes.
    """
    last = store.read(LAST_SETTINGS)
    return load_recorded_settings(
        json.loads(last[0]["settings"]) if last else {}, parse_edition_key(store.key).overrides
    )


@contextmanager
def record_run(store: Store, command: str, settings: Settings, shown: bool = True) -> Iterator[Progress]:
    """Records a run of *command* as a row of the table ``runs``, and yields its `Progress`.

    The caller must hold the edition's lock. If the block raises an exception, the failure is recorded. *shown*: whether
    the status file shows the run. The copy for readers (`read_last_settings`) is updated at the start, so the next run
    finds these settings even if this run is killed.
    """
    check_budget_models(settings.budget, settings.writing.models)
    run_id = f"{now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
    begun = {"run_id": run_id, "command": command, "started_at": now(), "settings": settings.model_dump_json(),
             "code_version": code_version()}  # fmt: skip
    store.write(("start_run", begun))
    store.copy_for_readers()
    progress = Progress(store, run_id, command, settings, shown)
    clock = progress.clock
    try:
        yield progress
        if clock:
            clock.stop()
    except BaseException as error:
        outcome, message = describe_ending(error)
        ended = {"run_id": run_id, "ended_at": now(), "outcome": outcome}
        last = (
            clock.stop if clock else None,
            partial(store.write, ("end_run", ended)),
            partial(progress.end, outcome, message),
            store.copy_for_readers,
        )
        for step in filter(None, last):
            # The error that ended the run, such as a full disk, may prevent this too. Only the first one is reported.
            with suppress(StoreError):
                step()
        raise
    store.write(("end_run", {"run_id": run_id, "ended_at": now(), "outcome": progress.status["state"]}))
    store.copy_for_readers()


def describe_ending(error: BaseException) -> tuple[str, str]:
    """Returns the outcome and the message to record for a run that raised *error*."""
    if isinstance(error, KeyboardInterrupt | Stopped):
        return "stopped", "stopped by hand; the same command goes on from there"
    if isinstance(error, Paused):
        return "paused", str(error)
    if is_server_lost(error):
        return "stopped", "the Prefect server no longer answers; the same command goes on from there"
    if isinstance(error, UnfinishedError):
        return "incomplete", str(error)
    if isinstance(error, StoreError) or not isinstance(error, GreBenchError):
        return "fault", f"{type(error).__name__}: {error}".splitlines()[0]
    return "refused", str(error)


def code_version() -> str:
    try:
        return version("gre-bench")
    except PackageNotFoundError:
        return "unknown"


def list_secrets(settings: Settings) -> list[str]:
    """Returns the secrets in the environment, the longest first: keys of LMs, logins of OpenReview and Prefect."""
    names = {"PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", settings.evaluation_lm.key_env}
    with suppress(GreBenchError):  # another check reports a faulty models file
        names |= {model.key_env for model in load_models(settings.writing.models).values()}
    names |= {where.removeprefix("env:") for where in settings.fetch.secrets.values()}
    values = {os.environ.get(name, "").strip() for name in names if name}
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)
