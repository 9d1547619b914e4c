"""What a refresh would do, and how long it would take: the same stages on a copy that is thrown away."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from flows.annual_refresh import prepare
from flows.runs import Job, recorded
from flows.scoring import due_cases, works_of
from tasks import steps
from tasks.settings import Settings
from tasks.store import Store

TRIED_PAPERS = 2
"""Papers scored to learn the pace."""


def estimate(
    settings: Settings, state: Path, candidates: tuple[str, ...] | None, limit: int | None, retry_failed: bool
) -> dict[str, Any]:
    """Pairs by metric and state, pairs due, and the seconds they take at the pace of a few of them."""
    run = steps.undecorated()
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        original, copy = Store(state, settings.edition.edition), Store(Path(folder), settings.edition.edition)
        if original.read_file.is_file():
            copy.folder.mkdir(parents=True)
            shutil.copyfile(original.read_file, copy.file)
        job = Job(settings, Path(folder), candidates, limit, retry_failed)
        with copy.lock("dry run"), recorded(copy, "dry run", settings) as progress:
            work = prepare(copy, job, run, progress)
            due = due_cases(copy, work)
            chunk = list(due.items())[:TRIED_PAPERS]
            pairs = sum(len(cases) for by_signature in due.values() for cases in by_signature.values())
            tried = sum(len(cases) for _, by_signature in chunk for cases in by_signature.values())
            began = time.monotonic()
            if chunk:
                run.score_papers("trial", settings.evaluation_lm, settings.scoring, works_of(chunk, work), {})
            seconds = (time.monotonic() - began) * pairs / tried if tried else 0.0
            return {
                "edition": copy.key,
                "papers": work.papers,
                "sampled": work.sampled,
                "due": pairs,
                "seconds": round(seconds, 1),
                "basis": f"at the pace of {tried} pairs tried now",
                "metrics": copy.rows("progress", signature_ids=work.signature_ids),
                "reasons": copy.rows("reasons", signature_ids=work.signature_ids),
                "notes": work.notes,
            }
