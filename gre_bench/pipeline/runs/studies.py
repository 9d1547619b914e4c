"""A study's spending: its bounds hold while it works, and its folder says how it stands (``status.json``).

A study is what asks LMs without an edition's store: its name is its account. What was asked is in the reply archive, so
that a study that is stopped at a bound has lost nothing.
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

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.settings import BudgetSettings, load_over
from gre_bench.core.whole_files import put
from gre_bench.pipeline.runs.job import ending
from gre_bench.pipeline.runs.spending import TICK_S, RunClock, balance, check
from gre_bench.store import now
from gre_bench.writing.catalog import STUDIES, WriterContext
from gre_bench.writing.spend_log import spend_log_of

STATUS = "status.json"
SHORTEST_TICK_S = 0.05


class RankStatistics:
    """How the study in *folder* stands, for whoever asks."""

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
        """It is running, done, incomplete, paused, stopped, refused or a fault."""
        row = self._row | {"state": state, "message": message, "updated_at": now().isoformat()}
        put(self._file, json.dumps(row, indent=1).encode())


@contextmanager
def bounded(writer_context: WriterContext, folder: Path) -> Iterator[RankStatistics]:
    """Around the work of the study in *folder*: its hours count, and how it ends is noted.

    `SettingsError` before anything is asked for a bound of a model that there is not.
    """
    check(writer_context.budget, writer_context.models)
    clock = RunClock(spend_log_of(writer_context.archive.parent), writer_context.account, writer_context.budget)
    standing, over = RankStatistics(folder, writer_context), threading.Event()
    ticking = threading.Thread(target=_tick, args=(clock, writer_context.budget, over), name="hours", daemon=True)
    standing.say("running")
    ticking.start()
    try:
        yield standing
    except BaseException as error:
        _stopped(ticking, over)
        # What ended the study, such as a full disk, may forbid this too; it is the first fault that is told.
        for last in (clock.stop, partial(standing.say, *ending(error))):
            with suppress(StoreError, SourceError):
                last()
        raise
    _stopped(ticking, over)
    clock.stop()


def _stopped(ticking: threading.Thread, over: threading.Event) -> None:
    over.set()
    ticking.join()


def _tick(clock: RunClock, budget: BudgetSettings, over: threading.Event) -> None:
    """Writes hours down while others ask, a hundred times before they are over: each request is held against them."""
    every = TICK_S if budget.hours is None else min(TICK_S, max(SHORTEST_TICK_S, budget.hours * 36))
    # A spend log that cannot be written stops the next request, which says so.
    with suppress(StoreError):
        while not over.wait(every):
            clock.stop()


def study_rows(state: Path) -> list[dict[str, Any]]:
    """One row for each study in *state*: how it stands, what it has spent, and what its bounds still allow."""
    spend_log = spend_log_of(state)
    known = {f"{STUDIES}/{file.parent.parent.name}/{file.parent.name}": _read(file)
             for file in (state / STUDIES).glob(f"*/*/{STATUS}")}  # fmt: skip
    spent = {name for name in spend_log.accounts if name.partition("/")[0] == STUDIES}
    return [_row(name, known.get(name, {}), state) for name in sorted(spent | known.keys())]


def _row(account: str, found: dict[str, Any], state: Path) -> dict[str, Any]:
    row = {"study": account, "state": found.get("state", "unknown"), "message": found.get("message", "")}
    if row["state"] == "running" and not _alive(found.get("pid")):
        row |= {"state": "cut short", "message": "give the same command again: it pays only the rest"}
    try:
        budget = load_over({"budget": found.get("budget", {})}).budget
    except SettingsError:
        budget = BudgetSettings()
    return row | balance(spend_log_of(state), account, budget)


def _alive(pid: object) -> bool:
    """Whether a process *pid* of this machine is there."""
    try:
        os.kill(int(str(pid)), 0)
    except PermissionError:
        return True
    except (ValueError, OverflowError, OSError):
        return False
    return True


def _read(file: Path) -> dict[str, Any]:
    """What *file* says; nothing if it is damaged."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
