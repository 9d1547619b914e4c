"""A progress bar with the remaining time, drawn from a run's ``status.json``."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from flows.screen import err
from tasks.errors import StoreError
from tasks.store import Store


@contextmanager
def drawn(store: Store, every_s: float = 0.25) -> Iterator[None]:
    """Draws the status of the run of this process until the block ends."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("remaining"),
        TimeRemainingColumn(),
    )
    stop = threading.Event()
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task("starting", total=None)

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
                    )

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
