"""Writes the texts that scores need, by rule or by LMs: candidates' reviews, judgments, synopses.

Each stage asks the store which texts are missing, has a step write them in chunks, and commits the results. A text that
failed for good is not requested again. A text that failed for a transient reason is requested again by the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeVar

from gre_bench.changes.catalog import is_changed
from gre_bench.core import controls
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Judgments, Paper, Review, Written
from gre_bench.metrics.cases import Entry, Response
from gre_bench.pipeline.intake import judged
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.progress import Progress
from gre_bench.store import Store
from gre_bench.store.queries.ingest import REVIEWS
from gre_bench.store.queries.writing import ASKED_FOR, SYNOPSES, UNWRITTEN
from gre_bench.tasks.protocol import Steps
from gre_bench.writing.catalog import WriterContext

T = TypeVar("T")
DOWN = 16
"""After this many texts in a row without a reply the endpoint counts as down; the next run tries the others."""


def reviewers(store: Store, job: Job, run: Steps) -> dict[str, str]:
    """Returns candidate → its identity as a writer, for each candidate to ask for reviews.

    The identity includes prompt and sampling. The candidates are those in the settings and those asked by earlier runs.
    If the job names candidates, only the named ones are returned. A candidate with imported reviews is not asked.
    Raises `SettingsError` for a candidate whose identity has changed in this edition.
    """
    rows = store.rows(ASKED_FOR)
    before = {row["candidate"]: row["writer"] for row in rows if row["wrote"]}
    imported = {row["candidate"] for row in store.rows(REVIEWS)} - before.keys()
    named = dict.fromkeys((*job.settings.writing.candidates, *(row["candidate"] for row in rows)))
    others = [name for name in job.candidates or () if name not in named and name not in imported]
    able = run.reviewers_among([*named, *others], job.writer_context)
    unknown = [name for name in job.settings.writing.candidates if name not in able]
    chosen = [name for name in (*unknown, *able) if job.candidates is None or name in job.candidates]
    identities = {name: run.writer_identity(name, "review", job.writer_context) for name in chosen}
    for name, identity in identities.items():
        if before.get(name, identity) != identity:
            raise SettingsError(
                f"candidate {name} of edition {store.key} wrote as {before[name]!r} and would now write as "
                f"{identity!r}; reviews of one candidate are never mixed: give the changed model a name of its own"
            )
    return identities


def write_reviews(
    store: Store, job: Job, run: Steps, papers: Sequence[Paper], names: Mapping[str, str], progress: Progress
) -> None:
    """Lets each candidate write its missing reviews of *papers*, and stores them chunk by chunk.

    *names*: candidate → its identity as a writer.
    """
    for name, writer in names.items():
        known = {row["paper_id"] for row in store.rows(REVIEWS) if row["candidate"] == name}
        lost = {item.rpartition(":")[0] for item in lost_for_good(store, "review", writer)}
        due = [paper for paper in papers if paper.paper_id not in known | lost]
        progress.stage(f"writing reviews by {name}")

        def rows(written: Sequence[Written], name: str = name) -> tuple[str, list[Any]]:
            return "add_reviews", [Review(f"{item.item}:{name}", item.item, name, item.text) for item in written]

        write(store, job, progress, "review", writer, due, run.write_reviews, name, rows)


def write_judgments(store: Store, job: Job, run: Steps, entries: Sequence[Entry], progress: Progress) -> str | None:
    """Writes and stores the missing judgments of every review that this run scores; returns the writer's identity.

    In three cases it writes nothing and returns None: no metric reads judgments, the settings name no writer, or the
    settings score the judgments of another writer.
    """
    return judge_responses(store, job, run, _scored(entries, job), progress)


def judge_responses(
    store: Store, job: Job, run: Steps, responses: Sequence[Response], progress: Progress
) -> str | None:
    """Writes and stores the missing judgments of *responses* (reviews); returns the writer's identity.

    In the three cases that `write_judgments` names, it writes nothing and returns None.
    """
    name, scoring = job.settings.writing.judgments, job.settings.scoring
    if name is None or not any(recipe_of(metric).source == "judgments" for metric in scoring.metrics):
        return None
    writer = run.writer_identity(name, "judgments", job.writer_context)
    if scoring.writer not in (None, writer):
        return None
    lost = lost_for_good(store, "judgments", writer)
    due = [
        (response.review_id, response.text)
        for response in responses
        if response.text and writer not in response.judgments and response.review_id not in lost
    ]
    progress.stage("writing judgments")

    def rows(written: Sequence[Written]) -> tuple[str, list[Any]]:
        return "add_judgments", [judged(Judgments(item.item, writer, item.text or "")) for item in written]

    write(store, job, progress, "judgments", writer, due, run.write_judgments, name, rows)
    return writer


def write_assw(store: Store, job: Job, run: Steps, papers: Sequence[Paper], progress: Progress) -> str | None:
    """Writes and stores the missing ASSW of *papers*; returns the identity of the writer of ASSW.

    ASSW are the strengths and weaknesses that a paper's authors state. Returns None if no metric needs ASSW.
    """
    if not any(recipe_of(metric).synopsis == "assw" for metric in job.settings.scoring.metrics):
        return None
    name = job.settings.writing.assw
    writer = run.writer_identity(name, "assw", job.writer_context)
    known = {row["paper_id"] for row in store.rows(SYNOPSES, kind="assw", writer=writer)}
    lost = lost_for_good(store, "assw", writer)
    due = [paper for paper in papers if paper.paper_id not in known | lost]
    progress.stage("writing synopses")

    def rows(written: Sequence[Written]) -> tuple[str, list[Any]]:
        return "add_synopses", [
            {"paper_id": item.item, "kind": "assw", "writer": writer, "text": item.text} for item in written
        ]

    write(store, job, progress, "assw", writer, due, run.write_assw, name, rows)
    return writer


def write(
    store: Store,
    job: Job,
    progress: Progress,
    task: str,
    writer: str,
    due: Sequence[T],
    step: Callable[[str, WriterContext, Sequence[T]], list[Written]],
    name: str,
    rows: Callable[[Sequence[Written]], tuple[str, list[Any]]],
    candidate: str | None = None,
) -> None:
    """Writes a text for each item of *due* in chunks, and commits each chunk with the outcome of every text.

    - *task*: the kind of text, such as ``review``.
    - *writer*: the identity of the writer.
    - *due*: what the texts are written from, such as papers.
    - *step*: a function that writes the texts of one chunk.
    - *name*: the name of the writer, the first argument of *step*.
    - *rows*: a function that returns the query and the records that store the written texts.
    - *candidate*: the candidate whose reviews the texts are; None means *name*.

    Ends early if `DOWN` texts in a row get no reply. The texts that were not requested then are missing, not failed.
    """
    progress.expect(len(due))
    items, owner, unanswered = iter(due), candidate or name, 0
    while unanswered < DOWN and (chunk := list(islice(items, job.settings.writing.chunk))):
        written = step(name, job.writer_context, chunk)
        store.write(
            rows([item for item in written if item.text]),
            ("add_replies", [_reply(task, writer, owner, item, progress.run_id) for item in written]),
        )
        for item in written:
            if item.outcome != "ok":
                why = {"outcome": item.outcome, "detail": item.detail, "final": item.final}
                progress.tell("text", task=task, writer=writer, item=item.item, **why)
        progress.advance(len(written))
        unanswered = 0 if any(item.final for item in written) else unanswered + len(written)


def _reply(task: str, writer: str, name: str, written: Written, run_id: str) -> dict[str, Any]:
    row = asdict(written) | {"task": task, "writer": writer, "run_id": run_id}
    if task == "review":
        row["item"] = f"{written.item}:{name}"
    del row["text"]
    return row


def lost_for_good(store: Store, task: str, writer: str) -> set[str]:
    """Returns the items whose text failed for good, so that the text is not requested again.

    An item is the id of a review or paper. *task*: the kind of text. *writer*: the identity of its writer. An item is
    left out if its text failed because the paper's text or abstract was missing. That text may have been added since.
    """
    rows = store.rows(UNWRITTEN, task=task, writer=writer)
    return {row["item"] for row in rows if row["final"] and row["outcome"] not in ("no_text", "no_abstract")}


def _scored(entries: Sequence[Entry], job: Job) -> list[Response]:
    """Returns the distinct responses (reviews) that this run scores: those by humans and by the candidates of *job*."""
    named = tuple(job.changes.values()) or job.candidates or job.settings.scoring.candidates
    by_id: dict[str, Response] = {}
    for index, entry in enumerate(entries[: job.limit]):
        chosen = [
            response
            for name, response in entry.responses.items()
            if (name in named if named is not None else not is_changed(name))
        ]
        others = (entry.human, *entry.references, controls.other(entries, index).human, *chosen)
        by_id |= {response.review_id: response for response in others}
    return list(by_id.values())
