"""Shows the progress bar of long work: a run, a fetch, a training or a download."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from gre_bench.cli.views import screen
from gre_bench.core.errors import StoreError
from gre_bench.store import Row, Store


@contextmanager
def show_live_progress(
    begins: str, quiet: bool, poll: Callable[[], dict[str, Any] | None] | None = None, unit: str = "items"
) -> Iterator[Callable[..., None]]:
    """Shows a progress bar until the block ends; yields the function that updates it.

    Call that function with keyword arguments only. *line* is a text to print above the bar; all others are fields of
    `rich.progress.Task`. Nothing is shown if *quiet* is True or standard error is not a terminal.

    - *begins*: the text of the bar before its first update.
    - *poll*: a function that is called four times a second. It returns the fields to update, or None if nothing is new.
      If they lack *left* (the remaining time as a text), the bar estimates the remaining time itself.
    - *unit*: what the bar counts: ``items`` or ``bytes``; with any other unit, it shows no counts.
    """
    if quiet or not screen.err.is_terminal:
        yield lambda **fields: None
        return
    from rich import progress as rich

    count = {"items": rich.MofNCompleteColumn, "bytes": rich.DownloadColumn}.get(unit)
    columns = [rich.TextColumn("{task.description}"), rich.BarColumn(), *([count()] if count else ())]
    columns += [rich.TimeElapsedColumn(), rich.TextColumn("{task.fields[left]}")]
    stop = threading.Event()
    # The bar has its own console: while models load, standard error is redirected to hide the libraries' own bars.
    with rich.Progress(*columns, console=screen.Console(file=sys.stderr, emoji=False), transient=True) as bar:
        number = bar.add_task(begins, total=None, left="")
        task = bar.tasks[number]

        def update(line: str = "", **fields: Any) -> None:
            if line:
                bar.console.print(screen.escape(line), highlight=False, soft_wrap=True)
            bar.update(task.id, **fields)
            if "left" not in fields and task.time_remaining:
                bar.update(task.id, left=_format_remaining(task.time_remaining))

        def follow() -> None:
            while poll and not stop.wait(0.25):
                update(**poll() or {"left": task.fields["left"]})

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield update
        finally:
            stop.set()
            thread.join()


def _format_remaining(seconds: float | None) -> str:
    return f"about {screen.format_duration(seconds)} remaining" if seconds else ""


def show_run_progress(store: Store, quiet: bool, engine: bool = False) -> AbstractContextManager[Any]:
    """Shows the progress of this process's run on *store*.

    *engine*: whether Prefect runs it; then the bar first says that Prefect's server starts.
    """

    def poll() -> dict[str, Any] | None:
        try:
            status = store.status()
        except StoreError:
            return None
        if not status or status["pid"] != os.getpid():
            return None
        described = {"description": f"{status['edition']}: {status['stage']}", "left": format_remaining_time(status)}
        return described | {"total": status["due"] or None, "completed": status["done"]}

    return show_live_progress("starting Prefect's server" if engine else "starting", quiet, poll)


def format_remaining_time(status: Row) -> str:
    """Returns the remaining time of a run with this *status* as a text; empty if it is unknown or the stage is done."""
    return _format_remaining(status["remaining_s"]) if status["done"] < status["due"] else ""


def show_fetch_progress(status: Path, quiet: bool) -> AbstractContextManager[Any]:
    """Shows the progress of the fetch whose status file is *status*.

    The bar also shows the time that the fetch will take under the service's rate limits.
    """

    def poll() -> dict[str, Any] | None:
        try:
            now = json.loads(status.read_text())
        except (OSError, ValueError):
            return None
        if now["pid"] != os.getpid():
            return None
        by_limits = f"{screen.format_duration(now['remaining_s'])} by the limits" if now["remaining_s"] else ""
        return {"description": now["stage"], "total": now["total"] or None, "completed": now["done"], "left": by_limits}

    return show_live_progress("starting", quiet, poll)


def show_training_progress(folder: Path, quiet: bool) -> AbstractContextManager[Any]:
    """Shows the progress of the training in *folder*: loss, steps per second, remaining time."""
    began = time.time()
    first: list[tuple[float, int]] = []

    def poll() -> dict[str, Any] | None:
        point = read_last_training_history_entry(folder, began)
        if point is None:
            return None
        # Steps per second are counted from the first step seen here, because an earlier run may have done those before.
        first[1:] = [(time.monotonic(), point["step"])]
        steps, seconds = first[-1][1] - first[0][1], first[-1][0] - first[0][0]
        speed = steps / seconds if seconds else 0
        pace = f"{speed:.2f} steps/s · {_format_remaining((point['steps'] - point['step']) / speed)}" if speed else ""
        loss = "" if point["loss"] is None else f", loss {point['loss']:.3f}"
        counts = {"total": point["steps"], "completed": point["step"]}
        return counts | {"description": f"training{loss}", "left": pace}

    return show_live_progress("opening the base", quiet, poll)


def read_last_training_history_entry(folder: Path, since: float) -> dict[str, Any] | None:
    """Returns the last complete entry of the training history in *folder*.

    Returns None if the file of the history was last changed before *since* (epoch seconds), cannot be read, or has no
    complete entry.
    """
    from gre_bench.tuning.record import HISTORY

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
