"""Texts that the scores need, written by rule or by LMs: candidates' reviews, judgments, synopses.

Each stage asks the store which texts are missing, hands some at a time to a step, and commits what comes back. What
failed for good is not asked for again; what failed for the moment is, by the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeVar

from flows.intake import judged
from flows.progress import Progress
from flows.runs import Job
from tasks import controls
from tasks.metrics.cases import Entry, Response
from tasks.records import Judgments, Paper, Review, Written
from tasks.store import Row, Store
from tasks.writing.catalog import Desk

T = TypeVar("T")


def desk(store: Store, job: Job) -> Desk:
    """Where writers find the models file and the reply archive, which all editions of a state share."""
    return Desk(store.folder.parent.parent / "replies", job.settings.writing.models)


def reviewers(store: Store, job: Job, run: Any) -> list[str]:
    """Who is asked for reviews: the candidates of the settings, or of those asked for by name the ones that write.

    A candidate whose reviews were imported is not asked for more.
    """
    named = job.settings.writing.candidates
    if job.candidates is None:
        return list(named)
    written = {row["writer"] for row in store.rows("asked_for", task="review")}
    imported = {row["candidate"] for row in store.rows("reviews")} - written
    able = run.reviewers_among([name for name in job.candidates if name not in named], desk(store, job))
    return [name for name in job.candidates if name in named or (name in able and name not in imported)]


def write_reviews(
    store: Store, job: Job, run: Any, papers: Sequence[Paper], names: Sequence[str], progress: Progress
) -> None:
    """Reviews of *papers* by each of the candidates *names*."""
    for name in names:
        known = {row["paper_id"] for row in store.rows("reviews") if row["candidate"] == name}
        lost = _lost(store, "review", name)
        due = [paper for paper in papers if paper.paper_id not in known | lost]
        progress.stage(f"writing reviews by {name}")

        def rows(written: Sequence[Written], name: str = name) -> tuple[str, list[Any]]:
            return "add_reviews", [Review(f"{item.item}:{name}", item.item, name, item.text) for item in written]

        _write(store, job, progress, "review", name, due, run.write_reviews, name, rows)


def write_judgments(store: Store, job: Job, run: Any, entries: Sequence[Entry], progress: Progress) -> str | None:
    """Judgments of every review of the sample that is scored, by the writer that the settings name; its identity."""
    name = job.settings.writing.judgments
    if name is None:
        return None
    writer = run.writer_identity(name, "judgments", desk(store, job))
    lost = _lost(store, "judgments", writer)
    due = [
        (response.review_id, response.text)
        for response in _scored(entries, job.limit)
        if response.text and writer not in response.judgments and response.review_id not in lost
    ]
    progress.stage("writing judgments")

    def rows(written: Sequence[Written]) -> tuple[str, list[Any]]:
        return "add_judgments", [judged(Judgments(item.item, writer, item.text or "")) for item in written]

    _write(store, job, progress, "judgments", writer, due, run.write_judgments, name, rows)
    return writer


def write_assw(store: Store, job: Job, run: Any, papers: Sequence[Paper], progress: Progress) -> str | None:
    """Author-stated strengths and weaknesses of *papers*, where a metric needs them; the writer's identity."""
    if "gem_s_assw" not in job.settings.scoring.metrics:
        return None
    name = job.settings.writing.assw
    writer = run.writer_identity(name, "assw", desk(store, job))
    known = {row["paper_id"] for row in store.rows("synopses", kind="assw", writer=writer)}
    lost = _lost(store, "assw", writer)
    due = [paper for paper in papers if paper.paper_id not in known | lost]
    progress.stage("writing synopses")

    def rows(written: Sequence[Written]) -> tuple[str, list[Any]]:
        return "add_synopses", [
            {"paper_id": item.item, "kind": "assw", "writer": writer, "text": item.text} for item in written
        ]

    _write(store, job, progress, "assw", writer, due, run.write_assw, name, rows)
    return writer


def _write(
    store: Store,
    job: Job,
    progress: Progress,
    task: str,
    writer: str,
    due: Sequence[T],
    step: Callable[[str, Desk, Sequence[T]], list[Written]],
    name: str,
    rows: Callable[[Sequence[Written]], tuple[str, list[Any]]],
) -> None:
    """Has *due* written some at a time; each part is committed with a record of what became of every text."""
    progress.expect(len(due))
    items = iter(due)
    while some := list(islice(items, job.settings.writing.chunk)):
        written = step(name, desk(store, job), some)
        store.write(
            rows([item for item in written if item.text]),
            ("add_replies", [_reply(task, writer, item, progress.status["run_id"]) for item in written]),
        )
        progress.advance(len(written))


def _reply(task: str, writer: str, written: Written, run_id: str) -> Row:
    row = asdict(written) | {"task": task, "writer": writer, "run_id": run_id}
    del row["text"]
    return row


def _lost(store: Store, task: str, writer: str) -> set[str]:
    """Items that failed for good."""
    return {row["item"] for row in store.rows("unwritten", task=task, writer=writer) if row["final"]}


def _scored(entries: Sequence[Entry], limit: int | None) -> list[Response]:
    """Every response that a score of the first *limit* papers reads, once."""
    found: dict[str, Response] = {}
    for place, entry in enumerate(entries[:limit]):
        others = (entry.human, *entry.references, controls.other(entries, place).human, *entry.responses.values())
        found |= {response.review_id: response for response in others}
    return list(found.values())
