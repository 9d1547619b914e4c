"""Reports the progress of a run: in the edition's ``status.json``, and in a log that programs can read."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gre_bench.core.errors import StoreError
from gre_bench.http.masking import masked
from gre_bench.pipeline.runs.spending import RunClock
from gre_bench.store import Store, now

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
