"""Progress bars with the remaining time.

They follow the status file of a run, or the history file of a training.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gre_bench.cli.views.screen import duration, err
from gre_bench.core.errors import StoreError
from gre_bench.store import Row, Store
from gre_bench.tuning.record import HISTORY


@contextmanager
def drawn(store: Store, begins: str = "starting", every_s: float = 0.25) -> Iterator[None]:
    """Shows a progress bar for the run on *store* until the block ends; updates the bar every *every_s* seconds.

    *begins*: what the bar says before the run has a stage, such as what it waits for. The bar shows only runs of this
    process.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    stop = threading.Event()
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task(begins, total=None, left="")

        def follow() -> None:
            while not stop.wait(every_s):
                try:
                    status = store.status()
                except StoreError:
                    continue
                if status and status["pid"] == os.getpid():
                    progress.update(
                        bar,
                        description=f"{status['edition']}: {status['stage']}",
                        total=status["due"] or None,
                        completed=status["done"],
                        left=left(status),
                    )

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def left(status: Row) -> str:
    """Returns the remaining time in *status*, a run's status, as a text.

    The text is empty if the time is unknown or the stage is done.
    """
    seconds = status["remaining_s"]
    return f"about {duration(seconds)} remaining" if seconds and status["done"] < status["due"] else ""


@contextmanager
def followed(folder: Path, every_s: float = 0.25) -> Iterator[None]:
    """Shows a progress bar for the training in *folder* until the block ends: loss, steps per second, remaining time.

    The bar is updated every *every_s* seconds.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("· remaining"),
        TimeRemainingColumn(),
    )
    began = time.time()
    stop = threading.Event()
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task("opening the base", total=None, pace="")

        def follow() -> None:
            while not stop.wait(every_s):
                point = last_point(folder, began)
                if point is None:
                    continue
                if progress.tasks[0].total is None:
                    # Steps per second count from where an earlier run stopped.
                    progress.reset(bar, total=point["steps"], completed=point["step"])
                loss = "" if point["loss"] is None else f", loss {point['loss']:.3f}"
                speed = progress.tasks[0].speed
                progress.update(
                    bar,
                    description=f"training{loss}",
                    total=point["steps"],
                    completed=point["step"],
                    pace=f"{speed:.2f} steps/s" if speed else "",
                )

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def last_point(folder: Path, since: float) -> dict[str, Any] | None:
    """Returns the last complete entry of the training history in *folder*.

    Returns None if the history was last written before *since* (epoch seconds), or if it cannot be read.
    """
    path = folder / HISTORY
    try:
        if path.stat().st_mtime < since:
            return None
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = file.read().split(b"\n")[:-1]
        return json.loads(lines[-1]) if lines else None
    except (OSError, ValueError):
        return None
