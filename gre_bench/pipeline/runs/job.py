"""The job of a run (what the run must do), its progress, and its record in the store.

The progress is in the edition's ``status.json``, and in a log that programs can read.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import GreBenchError, Paused, Stopped, StoreError, UnfinishedError
from gre_bench.core.settings import Settings, edition_parts, load_over
from gre_bench.http.client import SHORTEST_SECRET, masked
from gre_bench.pipeline.runs.prefect_engine import lost
from gre_bench.pipeline.runs.spending import RunClock, check, spend_log
from gre_bench.store import Store, now
from gre_bench.store.queries import LAST_SETTINGS

if TYPE_CHECKING:
    from gre_bench.tasks.protocol import Backends
    from gre_bench.writing.catalog import WriterContext

STATES = ("planned", "scored", "failed", "excluded", "missing")


class RunLog:
    """The log of the run *run_id* of *edition*: one JSON object per line in ``logs/RUN.jsonl`` in the folder *state*.

    A line is written at once, so it survives if the run is killed. Nothing is read from the log: the store decides what
    is done. *secrets*: texts that are removed from every line. ``path``: the log's file; None after a line could not be
    written. The run then continues, and its status names no log.
    """

    def __init__(self, state: Path, edition: str, run_id: str, secrets: Sequence[str] = ()):
        self.path: Path | None = state / "logs" / f"{run_id}.jsonl"
        self._ids = {"edition": edition, "run": run_id}
        self._secrets = tuple(secrets)

    def tell(self, event: str, **more: Any) -> None:
        """Appends a line: the time (UTC), the edition, the run, the name *event*, and the event's details *more*."""
        if self.path is None:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps(self._clean({"at": at, **self._ids, "event": event, **more}), default=str)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            self.path = None

    def _clean(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._clean(part) for name, part in value.items()}
        return masked(value, self._secrets) if isinstance(value, str) else value


class Progress:
    """Counts the finished texts or pairs of a run, and keeps the edition's ``status.json`` up to date.

    Progress bars show that file. The file has an estimate of the remaining time.

    - *shown*: whether the run appears in the file; an import, for example, does not.
    - *clock*: ends the run when the budget's hours are used up.
    - *log*: receives one line for each event.
    """

    def __init__(
        self, store: Store, run_id: str, command: str, shown: bool = True, clock: RunClock | None = None,
        log: RunLog | None = None,
    ):  # fmt: skip
        self.store, self.run_id, self.shown, self.clock, self.log = store, run_id, shown, clock, log
        last: dict[str, Any] | None = None
        with suppress(StoreError):
            last = store.status() if shown else None
        self.status: dict[str, Any] = {
            "edition": store.key,
            "run_id": run_id,
            "command": command,
            "state": "running",
            "stage": "starting",
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_at": now().isoformat(),
            "metrics": (last or {}).get("metrics", []),  # of the last run, until this run has counted its own pairs
            "due": 0,
            "done": 0,
            "pairs_per_s": None,
            "remaining_s": None,
            "message": "",
            "log": None,
        }
        self._began = time.monotonic()
        self.tell("started", command=command, pid=os.getpid(), host=self.status["host"])
        self._save()

    def tell(self, event: str, **more: Any) -> None:
        """Writes *event*, with the details *more*, as a line of the run's log."""
        if self.log:
            self.log.tell(event, **more)
            self.status["log"] = self.log.path and str(self.log.path)

    def stage(self, name: str, metrics: Sequence[Mapping[str, Any]] = ()) -> None:
        """Starts the stage *name*.

        *metrics*: one row per metric with its numbers of pairs by state, to be shown from now on.
        """
        if metrics:
            self.status["metrics"] = [{key: row[key] for key in ("metric", *STATES)} for row in metrics]
        self.status["stage"] = name
        if name != "ended":
            self.tell("stage", stage=name)
        self._save()

    def expect(self, due: int) -> None:
        """Sets how many texts or pairs the current stage has to do; the count of finished ones starts at 0."""
        self.status |= {"due": due, "done": 0, "pairs_per_s": None, "remaining_s": None}
        self._began = time.monotonic()
        self._save()

    def advance(self, count: int) -> None:
        """Adds *count* finished pairs or texts; raises `BudgetReached` if the run has used up its budget of hours."""
        self.status["done"] += count
        rate = self.status["done"] / max(1e-9, time.monotonic() - self._began)
        self.status["pairs_per_s"] = round(rate, 3)
        self.status["remaining_s"] = round((self.status["due"] - self.status["done"]) / rate, 1) if rate else None
        self.tell("committed", stage=self.status["stage"], **{key: self.status[key] for key in ("done", "due")})
        self._save()
        if self.clock:
            self.clock.tick()

    def end(self, state: str, message: str = "", metrics: Sequence[Mapping[str, Any]] = ()) -> None:
        """Records that the run ended as *state*: done, incomplete, fault, refused, paused or stopped.

        *message*: one line about the end. *metrics*: as in `stage`.
        """
        self.status |= {"state": state, "message": message, "remaining_s": None, "ended_at": now().isoformat()}
        self.tell("ended", state=state, message=message)
        self.stage("ended", metrics)

    def _save(self) -> None:
        if self.shown:
            self.store.save_status(self.status | {"updated_at": now().isoformat()})


@dataclass(frozen=True, slots=True)
class Job:
    """What a run must do with the edition of *settings* under the folder *state*.

    - *candidates*: score only these; None means all.
    - *limit*: use only this number of papers (a pilot); None means all.
    - *retry_failed*: whether to try again the texts and scores that failed for good.
    - *wait_s*: seconds to wait for another process that holds the edition's lock.
    - *changes*: change → id of the candidate that it makes. Only a validation changes reviews.
    - *texts_first*: whether to score nothing while texts of *candidates* are missing.
    - *left_out*: ids of papers to leave out: a validation's, which its evaluation LM or writer was learnt from.
    """

    settings: Settings
    state: Path
    candidates: tuple[str, ...] | None = None
    limit: int | None = None
    retry_failed: bool = False
    wait_s: float = 0.0
    changes: Mapping[str, str] = field(default_factory=dict)
    texts_first: bool = False
    left_out: frozenset[str] = frozenset()

    @property
    def store(self) -> Store:
        return Store(self.state, self.settings.edition.edition)

    @property
    def writer_context(self) -> WriterContext:
        """What a text writer needs: models file, reply archive, account, budget and sampling.

        All editions of a state folder share its reply archive. The account that pays for requests has the name of the
        edition.
        """
        from gre_bench.writing.catalog import WriterContext

        edition, writing = self.settings.edition, self.settings.writing
        account = edition.edition.key
        return WriterContext(self.state / "replies", writing.models, self.retry_failed, edition.domain, account,
                             self.settings.budget, writing.sampling, writing.over_long)  # fmt: skip

    @property
    def backends(self) -> Backends:
        from gre_bench.tasks.protocol import Backends

        return Backends(self.settings.evaluation_lm, self.settings.embedder, self.writer_context)


def settings_of(store: Store) -> Settings:
    """Returns the settings of the edition's last refresh, as recorded in the read-only copy of the store.

    Returns the default settings if there was no refresh yet.
    """
    last = store.read(LAST_SETTINGS)
    parts = tuple(f"edition.{name}={value}" for name, value in edition_parts(store.key).items())
    return load_over(json.loads(last[0]["settings"]) if last else {}, parts)


@contextmanager
def recorded(store: Store, command: str, settings: Settings, shown: bool = True) -> Iterator[Progress]:
    """Records a run of *command* as a row of the table ``runs``, and yields the `Progress` of the run.

    The caller must hold the edition's lock. If the block raises, the failure is recorded and the exception raised
    again. *shown*: whether the status file shows the run. The read-only copy of the store is already made at the start.
    So the next run finds these settings even if this run is killed.
    """
    check(settings.budget, settings.writing.models)
    run_id = f"{now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
    begun = {"run_id": run_id, "command": command, "started_at": now(), "settings": settings.model_dump_json(),
             "code_version": code_version()}  # fmt: skip
    store.write(("start_run", begun))
    store.copy_for_readers()
    clock = RunClock(spend_log(store), store.key, settings.budget) if shown else None
    log = RunLog(store.folder.parent.parent, store.key, run_id, secrets_of(settings))
    progress = Progress(store, run_id, command, shown, clock, log)
    try:
        yield progress
        if clock:
            clock.stop()
    except BaseException as error:
        outcome, message = ending(error)
        ended = {"run_id": run_id, "ended_at": now(), "outcome": outcome}
        last = (
            clock.stop if clock else None,
            partial(store.write, ("end_run", ended)),
            partial(progress.end, outcome, message),
            store.copy_for_readers,
        )
        for step in filter(None, last):
            # The fault that ended the run, such as a full disk, may prevent this too. Only the first fault is reported.
            with suppress(StoreError):
                step()
        raise
    store.write(("end_run", {"run_id": run_id, "ended_at": now(), "outcome": progress.status["state"]}))
    store.copy_for_readers()


def ending(error: BaseException) -> tuple[str, str]:
    """Returns the outcome and the message that are recorded for a run that raised *error*."""
    if isinstance(error, KeyboardInterrupt | Stopped):
        return "stopped", "stopped by hand; the same command goes on from there"
    if isinstance(error, Paused):
        return "paused", str(error)
    if lost(error):
        return "stopped", "the Prefect server no longer answers; the same command goes on from there"
    if isinstance(error, UnfinishedError):
        return "incomplete", str(error)
    if isinstance(error, StoreError) or not isinstance(error, GreBenchError):
        return "fault", f"{type(error).__name__}: {error}".splitlines()[0]
    return "refused", str(error)


def code_version() -> str:
    """Returns the version of this program; ``unknown`` if the program is not installed."""
    try:
        return version("gre-bench")
    except PackageNotFoundError:
        return "unknown"


def secrets_of(settings: Settings) -> list[str]:
    """Returns the secret values in the environment, the longest first: keys of LMs, logins of OpenReview and Prefect.

    *settings* name the environment variables that hold them.
    """
    names = {"PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", settings.evaluation_lm.key_env}
    with suppress(GreBenchError):  # another check reports a faulty models file
        names |= {model.key_env for model in load_models(settings.writing.models).values()}
    fetch = settings.fetch
    for where in (fetch.username, fetch.password, fetch.token, fetch.mfa_code, fetch.totp_secret):
        names.add(where.removeprefix("env:"))
    values = {os.environ.get(name, "").strip() for name in names if name}
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)
