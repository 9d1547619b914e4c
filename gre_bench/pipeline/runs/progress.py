"""Reports the progress of a run in the edition's ``status.json``, with an estimate of the remaining time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.core.errors import StoreError
from gre_bench.pipeline.runs.run_log import RunLog
from gre_bench.pipeline.runs.spending import RunClock
from gre_bench.store import Store, now

ENDED = "ended"
STATES = ("planned", "scored", "failed", "excluded", "missing")


class Progress:
    """Counts the finished texts or pairs of a run, and keeps the edition's ``status.json`` up to date.

    Progress bars show that file.

    - *shown*: whether the run appears in the file; an import, for example, does not.
    - *clock*: ends the run when the budget's hours are used up.
    - *log*: receives one line for each event.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        command: str,
        shown: bool = True,
        clock: RunClock | None = None,
        log: RunLog | None = None,
    ):
        self.store = store
        self.clock = clock
        self.log = log
        self.shown = shown
        self.status: dict[str, Any] = {
            "edition": store.key,
            "run_id": run_id,
            "command": command,
            "state": "running",
            "stage": "starting",
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_at": now().isoformat(),
            "metrics": _last_metrics(store) if shown else [],
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
        if name != ENDED:
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

    def end(self, state: str, message: str = "", metrics: Sequence[Mapping[str, Any]] = (), **more: Any) -> None:
        """Records that the run ended as *state*: done, incomplete, fault, refused, paused or stopped.

        *message*: one line about the end. *metrics*: as in `stage`. *more*: further values to write to the status.
        """
        self.status |= {"state": state, "message": message, "remaining_s": None, "ended_at": now().isoformat()} | more
        self.tell("ended", state=state, message=message)
        self.stage(ENDED, metrics)

    def _save(self) -> None:
        if not self.shown:
            return
        self.store.save_status(self.status | {"updated_at": now().isoformat()})


def _last_metrics(store: Store) -> list[dict[str, Any]]:
    """Returns the numbers of pairs by state that the previous run recorded, one row per metric.

    The status shows these numbers until this run has counted its own pairs.
    """
    try:
        return (store.status() or {}).get("metrics", [])
    except StoreError:
        return []
