"""What a refresh would do, and how long it would take: the same stages on a copy that is thrown away.

Nothing is bought: texts that an LM would write are counted, not asked for.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.annual_refresh import prepare, usable
from flows.domains import in_domain
from flows.instruments import instruments
from flows.runs import Job, recorded
from flows.scoring import due_cases, works_of
from tasks import steps
from tasks.errors import SourceError
from tasks.records import Paper, Written
from tasks.store import Store
from tasks.writing.catalog import Desk, by_rule

TRIED_PAPERS = 2
"""Papers scored to learn the pace."""


def estimate(job: Job, scratch: Path) -> dict[str, Any]:
    """Pairs by metric and state, texts an LM would write, pairs due and the seconds they take at the pace of a few.

    *scratch* is an empty folder for the copy.
    """
    job = in_domain(usable(job))
    original, copy = (Store(state, job.settings.edition.edition) for state in (job.state, scratch))
    if original.read_file.is_file():
        copy.folder.mkdir(parents=True)
        shutil.copyfile(original.read_file, copy.file)
    run, unwritten = steps.undecorated(), Counter[str]()
    for task in ("write_reviews", "write_judgments", "write_assw"):
        setattr(
            run, task, _counting(getattr(run, task), unwritten, task.partition("_")[2], job.settings.writing.judgments)
        )
    try:
        with copy.lock("dry run"), recorded(copy, "dry run", job.settings) as progress:
            work = prepare(copy, replace(job, state=scratch), run, progress)
            due = due_cases(copy, work)
            pairs = sum(len(cases) for by_signature in due.values() for cases in by_signature.values())
            seconds, basis = _pace(copy, job, run, due, work, pairs)
            return {
                "edition": copy.key,
                "papers": work.papers,
                "sampled": work.sampled,
                "due": pairs,
                "to_write": dict(unwritten),
                "seconds": seconds,
                "basis": basis,
                "metrics": copy.rows("progress", signature_ids=work.signature_ids),
                "reasons": copy.rows("reasons", signature_ids=work.signature_ids),
                "notes": work.notes,
            }
    except SourceError as error:
        # The report of refused rows goes with the copy.
        raise SourceError(str(error).partition("; all of them:")[0]) from None


def _pace(store: Store, job: Job, run: Any, due: dict[str, Any], work: Any, pairs: int) -> tuple[float, str]:
    chunk = list(due.items())[:TRIED_PAPERS]
    tried = sum(len(cases) for _, by_signature in chunk for cases in by_signature.values())
    if not tried:
        return 0.0, "nothing is due"
    began = time.monotonic()
    run.score_papers("trial", instruments(store, job), job.settings.scoring, works_of(chunk, work), {})
    return round((time.monotonic() - began) * pairs / tried, 1), f"at the pace of {tried} pairs tried now"


def _counting(
    step: Callable[[str, Desk, Sequence[Any]], list[Written]], unwritten: Counter[str], what: str, judge: str | None
) -> Callable[[str, Desk, Sequence[Any]], list[Written]]:
    """*step* for writers by rule; for an LM a count, and texts that are still to be written."""

    def counted(name: str, desk: Desk, items: Sequence[Any]) -> list[Written]:
        if by_rule(name):
            return step(name, desk, items)
        unwritten[f"{what} by {name}"] += len(items)
        if what == "reviews" and judge and not by_rule(judge):
            unwritten[f"judgments by {judge}"] += len(items)
        ids = [item.paper_id if isinstance(item, Paper) else item[0] for item in items]
        return [Written(item, None, "to_be_written", final=False) for item in ids]

    return counted
