"""Writes the progress of a fetch into a file beside its journal, for display."""

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
    """Writes that the fetch in *folder* is at *stage*: *done* of *total* items, *remaining_s* seconds still to wait."""
    beside = folder / f".{STATUS}.{os.getpid()}"
    status = {"pid": os.getpid(), "stage": stage, "done": done, "total": total, "remaining_s": remaining_s}
    with suppress(OSError):  # a failure to show progress must not stop the fetch
        beside.write_text(json.dumps(status))
        beside.replace(folder / STATUS)


def progress_writer(folder: Path, client: OpenReview, fetch: FetchSettings) -> Callable[[str, str], Advance]:
    """Returns a function that takes a stage and its kind of requests, and returns the `Advance` of that stage.

    The `Advance` writes the progress, at most every `EVERY_S` seconds. It computes the seconds to wait from the limits
    known now.
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
