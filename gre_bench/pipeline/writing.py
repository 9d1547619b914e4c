"""Writes the texts that scores need, by rule or by LMs: candidates' reviews, judgments, synopses.

Each stage asks the store which texts are missing, has a step write them in chunks, and commits the results. A text that
failed permanently is not requested again. After a transient failure, the next run retries.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeVar

from gre_bench.core import controls
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Judgments, Review, WrittenText
from gre_bench.metrics.cases import ReviewWithJudgments, SampledPaper
from gre_bench.perturbations.by_name import is_perturbed_candidate
from gre_bench.pipeline.importing import build_judgments_row, load_papers_by_id
from gre_bench.pipeline.runs.job import Job, Progress
from gre_bench.store import Store
from gre_bench.store.queries import ASKED_FOR, REVIEWS, SYNOPSES, UNWRITTEN
from gre_bench.tasks import steps
from gre_bench.writing.writers import WriterContext

T = TypeVar("T")
Task = Literal["review", "judgments", "assw"]
DOWN = 16
"""After this many texts in a row without a reply, the endpoint counts as down; the next run retries the rest."""
STORED: dict[Task, tuple[str, Callable[[WrittenText, str, str], Any]]] = {
    "review": ("put_reviews", lambda item, _, name: Review(f"{item.item}:{name}", item.item, name, item.text)),
    "judgments": (
        "add_judgments",
        lambda item, writer, _: build_judgments_row(Judgments(item.item, writer, item.text or "")),
    ),
    "assw": (
        "put_synopses",
        lambda item, writer, _: {"paper_id": item.item, "kind": "assw", "writer": writer, "text": item.text},
    ),
}
"""Kind of text → the query that stores it, and a function that makes its record from text, writer and candidate."""


def identify_reviewers(store: Store, job: Job) -> dict[str, str]:
    """Returns candidate → its identity as a writer (with prompt and sampling), for each candidate that writes reviews.

    These are the job's candidates, or else the settings' candidates and those of earlier runs. Candidates with imported
    reviews are excluded. Raises `SettingsError` for a candidate whose identity has changed in this edition.
    """
    rows = store.rows(ASKED_FOR)
    before = {row["candidate"]: row["writer"] for row in rows if row["wrote"]}
    imported = {row["candidate"] for row in store.rows(REVIEWS, texts=False)} - before.keys()
    named = dict.fromkeys((*job.settings.writing.candidates, *(row["candidate"] for row in rows)))
    others = [name for name in job.candidates or () if name not in named and name not in imported]
    able = steps.reviewers_among([*named, *others], job.writer_context)
    unknown = [name for name in job.settings.writing.candidates if name not in able]
    chosen = [name for name in (*unknown, *able) if job.candidates is None or name in job.candidates]
    identities = {name: steps.writer_identity(name, "review", job.writer_context) for name in chosen}
    for name, identity in identities.items():
        if before.get(name, identity) != identity:
            raise SettingsError(
                f"candidate {name} of edition {store.key} wrote as {before[name]!r} and would now write as "
                f"{identity!r}; reviews of one candidate are never mixed: give the changed model a name of its own"
            )
    return identities


def write_reviews(store: Store, job: Job, papers: Sequence[str], names: Mapping[str, str], progress: Progress) -> None:
    """Has each candidate in *names* (candidate → writer identity) write its missing reviews of *papers* (ids)."""
    for name, writer in names.items():
        write_missing_texts(
            store, job, progress, f"writing reviews by {name}", "review", writer, name, steps.write_reviews, papers,
            partial(load_papers_by_id, store),
        )  # fmt: skip


def list_responses_to_score(job: Job, entries: Sequence[SampledPaper]) -> list[ReviewWithJudgments]:
    """Returns, as responses, the reviews in *entries* that the job scores: those by humans and by its candidates."""
    named = tuple(job.perturbations.values()) or job.candidates or job.settings.scoring.candidates
    by_id: dict[str, ReviewWithJudgments] = {}
    for index, entry in enumerate(entries[: job.limit]):
        chosen = [response for name, response in entry.responses.items()
                  if (name in named if named is not None else not is_perturbed_candidate(name))]  # fmt: skip
        others = (entry.human, *entry.references, controls.pick_item_half_a_list_away(entries, index).human, *chosen)
        by_id |= {response.review_id: response for response in others}
    return list(by_id.values())


def write_judgments(store: Store, job: Job, responses: Sequence[ReviewWithJudgments], progress: Progress) -> str | None:
    """Writes and stores the missing judgments of *responses* (reviews); returns the writer's identity.

    Writes nothing and returns None in three cases: no metric reads judgments; the settings name no writer of judgments;
    or ``scoring.writer`` names another one.
    """
    name, scoring = job.settings.writing.judgments, job.settings.scoring
    if name is None or not any(find_recipe(metric).source == "judgments" for metric in scoring.metrics):
        return None
    writer = steps.writer_identity(name, "judgments", job.writer_context)
    if scoring.writer not in (None, writer):
        return None
    due = {item.review_id: (item.review_id, item.text)
           for item in responses if item.text and writer not in item.judgments}  # fmt: skip
    write_missing_texts(
        store, job, progress, "writing judgments", "judgments", writer, name, steps.write_judgments, due,
        lambda ids: [due[name] for name in ids],
    )  # fmt: skip
    return writer


def write_assw(store: Store, job: Job, papers: Sequence[str], progress: Progress) -> str | None:
    """Writes and stores the missing ASSW (author-stated strengths and weaknesses) of the papers with the ids *papers*.

    Returns the identity of the writer; None if no metric needs ASSW.
    """
    if not any(find_recipe(metric).synopsis == "assw" for metric in job.settings.scoring.metrics):
        return None
    name = job.settings.writing.assw
    writer = steps.writer_identity(name, "assw", job.writer_context)
    known = {row["paper_id"] for row in store.rows(SYNOPSES, kind="assw", writer=writer)}
    write_missing_texts(
        store, job, progress, "writing synopses", "assw", writer, name, steps.write_assw, papers,
        partial(load_papers_by_id, store), known,
    )  # fmt: skip
    return writer


def write_missing_texts(
    store: Store, job: Job, progress: Progress, stage: str, task: Task, writer: str, name: str,
    step: Callable[[str, WriterContext, Sequence[T]], list[WrittenText]], items: Iterable[str],
    read: Callable[[Sequence[str]], Sequence[T]], known: Container[str] = (), candidate: str | None = None,
) -> None:  # fmt: skip
    """Writes the missing texts of one kind in chunks, and commits each chunk with the outcome of every text.

    - *writer*, *name*: the identity and the name of the writer.
    - *step*: writes the texts of one chunk; its first argument is *name*.
    - *items*: ids of reviews or papers. *read*: takes ids, and returns what their texts are written from, such as
      papers; called for one chunk at a time, because papers are long.
    - *known*: ids whose text exists. For reviews, the store is asked instead.
    - *candidate*: the candidate to which the written reviews belong; None means *name*.

    A text that failed permanently is not requested again, unless it failed because the paper's text or abstract was
    missing: it may have been added since. Ends early if `DOWN` texts in a row get no reply; the texts that were not
    requested do not count as failed.
    """
    owner = candidate or name
    rows = store.rows(UNWRITTEN, task=task, writer=writer)
    lost = {row["item"] for row in rows if row["final"] and row["outcome"] not in ("no_text", "no_abstract")}
    if task == "review":
        known = {row["paper_id"] for row in store.rows(REVIEWS, texts=False) if row["candidate"] == owner}
        lost = {item.rpartition(":")[0] for item in lost}
    due = [key for key in items if key not in known and key not in lost]
    progress.stage(stage)
    progress.expect(len(due))
    if job.in_place_of:
        step = job.in_place_of(step, task)
    (query, record), remaining, unanswered = STORED[task], iter(due), 0
    while unanswered < DOWN and (chunk := list(islice(remaining, job.settings.writing.chunk))):
        written = step(name, job.writer_context, read(chunk))
        replies = [asdict(item) | {"task": task, "writer": writer, "run_id": progress.run_id} for item in written]
        for reply in replies:
            del reply["text"]
            if task == "review":
                reply["item"] += f":{owner}"
        store.write((query, [record(item, writer, owner) for item in written if item.text]), ("put_replies", replies))
        for item in written:
            if item.outcome != "ok":
                why = {"outcome": item.outcome, "detail": item.detail, "final": item.final}
                progress.tell("text", task=task, writer=writer, item=item.item, **why)
        progress.advance(len(written))
        unanswered = 0 if any(item.final for item in written) else unanswered + len(written)
