"""Keeps a running study within its budget, and shows its state in ``status.json`` in the study's folder.

A study sends requests to LMs but has no edition and no store. Its spending is logged under its name. All replies are in
the reply archive, so a study that is stopped at a limit loses nothing.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.settings import BudgetSettings, load_over
from gre_bench.core.strict import load_json
from gre_bench.core.whole_files import put
from gre_bench.pipeline.runs.job import ending
from gre_bench.pipeline.runs.spending import TICK_S, RunClock, balance, check
from gre_bench.store import now
from gre_bench.writing.catalog import STUDIES, WriterContext
from gre_bench.writing.spend_log import spend_log_of

STATUS = "status.json"
SHORTEST_TICK_S = 0.05


class _Status(BaseModel, strict=True, extra="ignore"):
    """What readers of a study's status rely on."""

    state: str = "unknown"
    message: str = ""
    pid: int | None = None
    budget: dict[str, Any] = {}


class StudyStatus:
    """Writes the state of a study to ``status.json`` in the study's *folder*.

    *writer_context* has the study's account and budget, which the file also states.
    """

    def __init__(self, folder: Path, writer_context: WriterContext):
        self._file = folder / STATUS
        budget = writer_context.budget.model_dump(mode="json", exclude_none=True)
        self._row: dict[str, Any] = {
            "study": writer_context.account,
            "pid": os.getpid(),
            "started_at": now().isoformat(),
            "budget": budget,
        }

    def say(self, state: str, message: str = "") -> None:
        """Writes the state of the study, and *message*, one line about it.

        The state is running, done, incomplete, paused, stopped, refused or fault.
        """
        row = self._row | {"state": state, "message": message, "updated_at": now().isoformat()}
        put(self._file, json.dumps(row, indent=1).encode())


@contextmanager
def bounded(writer_context: WriterContext, folder: Path) -> Iterator[StudyStatus]:
    """Runs the block of a study within the study's budget; yields the study's status.

    Meanwhile the working time is written to the spend log. If the block raises, the status file states how the study
    ended. If the block does not raise, the block itself must write the end to the status. Raises `SettingsError` at the
    start if the budget limits an unknown model.
    """
    check(writer_context.budget, writer_context.models)
    clock = RunClock(spend_log_of(writer_context.archive.parent), writer_context.account, writer_context.budget)
    status, finished = StudyStatus(folder, writer_context), threading.Event()
    ticking = threading.Thread(target=_tick, args=(clock, writer_context.budget, finished), name="hours", daemon=True)
    status.say("running")
    ticking.start()
    try:
        yield status
    except BaseException as error:
        _stopped(ticking, finished)
        # The fault that ended the study, such as a full disk, may prevent this too. Only the first fault is reported.
        for last in (clock.stop, partial(status.say, *ending(error))):
            with suppress(StoreError, SourceError):
                last()
        raise
    _stopped(ticking, finished)
    clock.stop()


def _stopped(ticking: threading.Thread, finished: threading.Event) -> None:
    finished.set()
    ticking.join()


def _tick(clock: RunClock, budget: BudgetSettings, finished: threading.Event) -> None:
    """Writes the working time to the spend log at intervals until *finished* is set.

    So a budget check before a request counts the time spent so far. The interval is at most a hundredth of the budget's
    hours.
    """
    every = TICK_S if budget.hours is None else min(TICK_S, max(SHORTEST_TICK_S, budget.hours * 36))
    # A spend log that cannot be written stops the next request, which says so.
    with suppress(StoreError):
        while not finished.wait(every):
            clock.stop()


def study_rows(state: Path) -> list[dict[str, Any]]:
    """Returns one row for each study in the folder *state*: its status, its spending, and its remaining budget."""
    spend_log = spend_log_of(state)
    known = {f"{STUDIES}/{file.parent.parent.name}/{file.parent.name}": _read(file)
             for file in (state / STUDIES).glob(f"*/*/{STATUS}")}  # fmt: skip
    spent = {name for name in spend_log.accounts if name.partition("/")[0] == STUDIES}
    return [_row(name, known.get(name, _Status()), state) for name in sorted(spent | known.keys())]


def _row(account: str, status: _Status, state: Path) -> dict[str, Any]:
    row = {"study": account, "state": status.state, "message": status.message}
    if row["state"] == "running" and not _alive(status.pid):
        row |= {"state": "cut short", "message": "give the same command again: it pays only the rest"}
    try:
        budget = load_over({"budget": status.budget}).budget
    except SettingsError:
        budget = BudgetSettings()
    return row | balance(spend_log_of(state), account, budget)


def _alive(pid: object) -> bool:
    """Returns whether a process with the id *pid* is running on this machine."""
    try:
        os.kill(int(str(pid)), 0)
    except PermissionError:
        return True
    except (ValueError, OverflowError, OSError):
        return False
    return True


def _read(file: Path) -> _Status:
    """Returns the content of the status file *file*; an unknown state if the file is damaged or of another shape."""
    try:
        return _Status.model_validate(load_json(read_bytes(file)))
    except (OSError, ValueError, SourceError):
        return _Status(message="its status.json is damaged; the same command makes a new one")
