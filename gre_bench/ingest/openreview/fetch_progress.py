"""Writes the progress of a fetch into a file beside its journal, so that other commands can display it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gre_bench.core.settings import FetchSettings
from gre_bench.ingest.openreview.client import OpenReview
from gre_bench.ingest.openreview.fetching import Advance

STATUS = "status.json"
EVERY_S = 0.2


def write_progress(folder: Path, stage: str, done: int = 0, total: int = 0, remaining_s: float | None = None) -> None:
    """Writes the progress of the fetch in *folder* to its status file; a failure to write is ignored.

    *stage*: the name of the current stage.
    *done*, *total*: finished items and all items of the stage.
    *remaining_s*: estimated seconds until the stage ends; None if unknown.
    """
    beside = folder / f".{STATUS}.{os.getpid()}"
    status = {"pid": os.getpid(), "stage": stage, "done": done, "total": total, "remaining_s": remaining_s}
    with suppress(OSError):  # a failure to show progress must not stop the fetch
        beside.write_text(json.dumps(status))
        beside.replace(folder / STATUS)


def progress_writer(folder: Path, client: OpenReview, fetch: FetchSettings) -> Callable[[str, str], Advance]:
    """Returns a function that makes a stage's progress callback from the stage's name and its kind of request.

    The callback takes the numbers of finished items and of all items. It writes the status file at most every `EVERY_S`
    seconds. It estimates the remaining seconds from the request limits known at that moment.
    """
    name, last = client.host.partition("//")[2], [0.0]

    def advance_of(stage: str, kind: str) -> Advance:
        def advance(done: int, total: int) -> None:
            if done < total and time.monotonic() - last[0] < EVERY_S:
                return
            last[0] = time.monotonic()
            size = {"notes": fetch.page, "attachment": fetch.pdf_batch}.get(kind, 1)
            left = client.budget.seconds_for(f"{name} {kind}", -(-(total - done) // size))
            write_progress(folder, stage, done, total, left)

        return advance

    return advance_of
