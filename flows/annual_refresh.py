"""The annual refresh of one edition: reviews in, GEM scores out, a leaderboard (Xu et al. 2025, §5).

    import → draw the sample → plan the pairs → score what is missing → publish the board

The store is the checkpoint. Each stage asks it what is missing, hands just that to a step, and writes what comes
back; a run that is killed anywhere is started again and goes on.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

from prefect import flow

from flows.intake import import_sources, known_papers, known_reviews
from flows.progress import Progress
from tasks import stats, steps
from tasks.controls import CONTROLS, OTHER_PAPER
from tasks.corpus.sampling import draw
from tasks.errors import SettingsError, SourceError
from tasks.metrics.cases import Entry, Response, plan, the_writer
from tasks.metrics.catalog import RECIPES
from tasks.metrics.gem import Scored, addresses
from tasks.records import HUMAN, Candidate, Case, Planned, Signature, SpanLogprob
from tasks.settings import EditionSettings, Settings
from tasks.store import Row, Store, now

DRAW_FIELDS = ("papers", "seed", "min_reviews", "roles", "candidate_slot", "reference_slots")


@dataclass(frozen=True, slots=True)
class Job:
    """What a refresh is asked to do. *candidates* adds just these; *limit* takes the first papers only (a pilot)."""

    settings: Settings
    state: Path
    candidates: tuple[str, ...] | None = None
    limit: int | None = None
    retry_failed: bool = False
    wait_s: float = 0.0


@dataclass(slots=True)
class Work:
    """What is planned, and under which signatures."""

    planned: list[tuple[str, Planned]]
    signatures: dict[str, Signature]
    lm_id: str
    writer: str
    papers: int
    sampled: int
    notes: list[str] = field(default_factory=list)

    @property
    def signature_ids(self) -> list[str]:
        return [signature.signature_id for signature in self.signatures.values()]


@flow(
    name="annual-refresh",
    flow_run_name="{settings.edition.venue}-{settings.edition.year}",
    timeout_seconds=None,
    validate_parameters=True,
    persist_result=False,
)
def annual_refresh(
    settings: Settings = Settings(),
    state: Path = Path("state"),
    candidates: list[str] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
    wait_s: float = 0.0,
) -> dict[str, Any]:
    """Brings one edition up to date; the summary says what was done and what is still missing."""
    chosen = tuple(candidates) if candidates else None
    return refresh(Job(settings, state, chosen, limit, retry_failed, wait_s), steps)


def refresh(job: Job, run: Any) -> dict[str, Any]:
    """`annual_refresh` with the steps given: `tasks.steps` itself, or ``steps.undecorated()``."""
    store = Store(job.state, job.settings.edition.edition)
    with store.lock("refresh", job.wait_s), recorded(store, "refresh", job.settings) as progress:
        work = prepare(store, job, run, progress)
        score(store, job, run, work, progress)
        return publish(store, run, work, progress)


@contextmanager
def recorded(store: Store, command: str, settings: Settings) -> Iterator[Progress]:
    """A row of ``runs`` and a status around the work; a failure is recorded before it goes on its way."""
    run_id = f"{now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
    store.write(
        (
            "start_run",
            {
                "run_id": run_id,
                "command": command,
                "started_at": now(),
                "settings": settings.model_dump_json(),
                "code_version": code_version(),
            },
        )
    )
    progress = Progress(store, run_id, command)
    try:
        yield progress
    except BaseException as error:
        store.write(("end_run", {"run_id": run_id, "ended_at": now(), "outcome": "fault"}))
        progress.end("fault", f"{type(error).__name__}: {error}".splitlines()[0])
        raise
    store.write(("end_run", {"run_id": run_id, "ended_at": now(), "outcome": progress.status["state"]}))
    store.copy_for_readers()


def prepare(store: Store, job: Job, run: Any, progress: Progress) -> Work:
    """Import, sample and plan: everything before the first score."""
    progress.stage("importing")
    import_sources(store, progress.status["run_id"], job.settings.sources)
    progress.stage("sampling")
    entries, notes = sample(store, job.settings.edition)
    progress.stage("planning")
    work = plan_pairs(store, job, run, entries, progress.status["run_id"])
    work.notes[:0] = notes
    store.copy_for_readers()
    return work


def sample(store: Store, settings: EditionSettings) -> tuple[list[Entry], list[str]]:
    """The sampled papers with all their responses, drawn now if they never were; and what is worth a note."""
    papers, reviews = known_papers(store), known_reviews(store)
    if not store.rows("draw"):
        if not papers:
            raise SourceError(
                f"edition {store.key} has no papers; import some, or name files in the settings (sources)"
            )
        drawn = draw(papers, reviews, settings)
        asked = {name: getattr(settings, name) for name in DRAW_FIELDS}
        asked["reference_slots"] = list(settings.reference_slots)
        store.write(
            ("add_draw", asked | {"known": drawn.known, "eligible": drawn.eligible, "drawn_at": now()}),
            ("add_sample", drawn.roles),
        )
    found = store.rows("draw")[0]
    _same_draw(store.key, settings, found)
    notes = []
    if len(papers) > found["known"]:
        notes.append(f"{len(papers) - found['known']} papers came after the sample was drawn and are not in it")
    return _entries(store, papers, reviews), notes


def _same_draw(key: str, settings: EditionSettings, found: Row) -> None:
    for name in DRAW_FIELDS:
        asked = getattr(settings, name)
        asked = list(asked) if isinstance(asked, tuple) else asked
        if asked != found[name]:
            raise SettingsError(
                f"edition {key} was drawn with {name} = {found[name]}, the settings ask for {asked}; "
                "a drawn sample never changes: set edition.sample to a new name for another one"
            )


def _entries(store: Store, papers: Sequence[Any], reviews: Sequence[Any]) -> list[Entry]:
    judged: dict[str, dict[str, str]] = defaultdict(dict)
    for row in store.rows("judgments"):
        judged[row["review_id"]][row["writer"]] = row["text"]
    responses = {
        review.review_id: Response(review.review_id, review.text, judged.get(review.review_id, {}))
        for review in reviews
    }
    by_candidate: dict[str, dict[str, Response]] = defaultdict(dict)
    for review in reviews:
        if review.candidate != HUMAN:
            by_candidate[review.paper_id][review.candidate] = responses[review.review_id]
    by_id = {paper.paper_id: paper for paper in papers}
    roles: dict[str, list[Response]] = {}
    for row in store.rows("sample"):
        roles.setdefault(row["paper_id"], []).append(responses[row["review_id"]])
    return [
        Entry(by_id[paper_id], first, tuple(rest), by_candidate[paper_id]) for paper_id, (first, *rest) in roles.items()
    ]


def plan_pairs(store: Store, job: Job, run: Any, entries: list[Entry], run_id: str) -> Work:
    """Signs the metrics and plans every pair; what an earlier run scored under the same signature stays scored."""
    scoring = job.settings.scoring
    writer = the_writer(entries, scoring.writer)
    identity, signatures = run.sign_metrics(job.settings.evaluation_lm, scoring, writer)
    ids = [signature.signature_id for signature in signatures.values()]
    candidates = _candidates(store, job, entries, ids)
    planned = [
        (signatures[metric].signature_id, pair)
        for metric in scoring.metrics
        for pair in plan(entries, candidates, RECIPES[metric], writer, scoring.form, job.limit)
    ]
    chosen = [candidate.candidate_id for candidate in candidates] if job.candidates else None
    clear = (
        []
        if job.limit
        else [
            ("clear_plan", {"signature_id": signature_id, "run_id": run_id, "candidates": chosen})
            for signature_id in ids
        ]
    )
    store.write(
        ("add_candidates", candidates),
        *(("add_signature", asdict(item) | {"signature_id": item.signature_id}) for item in signatures.values()),
        (
            "add_plan",
            [
                {
                    "signature_id": signature_id,
                    "paper_id": pair.paper_id,
                    "candidate_id": pair.candidate_id,
                    "reference_id": pair.reference_id,
                    "state": pair.state,
                    "reason": pair.reason,
                    "run_id": run_id,
                }
                for signature_id, pair in planned
            ],
        ),
        *clear,
        *([("forget_failed", {"signature_ids": ids})] if job.retry_failed else []),
    )
    return Work(planned, signatures, identity.lm_id, writer, min(job.limit or len(entries), len(entries)), len(entries))


def _candidates(store: Store, job: Job, entries: list[Entry], signature_ids: list[str]) -> list[Candidate]:
    models = sorted({name for entry in entries for name in entry.responses})
    known = {HUMAN: Candidate(HUMAN, "human")} | CONTROLS | {name: Candidate(name, "model", name) for name in models}
    asked = job.candidates or job.settings.scoring.candidates or tuple(known)
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise SettingsError(
            f"no candidate {', '.join(unknown)} in edition {store.key}; import its reviews first; "
            f"known: {', '.join(known)}"
        )
    there = {row["candidate_id"] for row in store.rows("planned_candidates", signature_ids=signature_ids)}
    if job.candidates and HUMAN not in there:
        asked = (HUMAN, *asked)
    return [known[name] for name in dict.fromkeys(asked)]


def score(store: Store, job: Job, run: Any, work: Work, progress: Progress) -> None:
    """Scores what is due and missing, some papers at a time; a paper's scores are committed together."""
    due = due_cases(store, work)
    progress.stage("scoring", store.rows("progress", signature_ids=work.signature_ids))
    progress.expect(sum(len(cases) for by_signature in due.values() for cases in by_signature.values()))
    papers = iter(due.items())
    while chunk := list(islice(papers, job.settings.run.chunk_papers)):
        works = works_of(chunk, work)
        scored = run.score_papers(
            chunk[0][0], job.settings.evaluation_lm, job.settings.scoring, works, known_spans(store, job, work, works)
        )
        commit(store, work, scored, progress.status["run_id"])
        progress.advance(len(scored.scores))
        store.copy_for_readers(job.settings.run.read_copy_every_s)


def due_cases(store: Store, work: Work) -> dict[str, dict[str, list[Case]]]:
    """Cases without a score: paper → signature → cases, papers in the edition's order."""
    missing = {tuple(row.values()) for row in store.rows("missing", signature_ids=work.signature_ids)}
    due: dict[str, dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
    for signature_id, pair in work.planned:
        if pair.case and (signature_id, pair.paper_id, pair.candidate_id, pair.reference_id) in missing:
            due[pair.paper_id][signature_id].append(pair.case)
    return due


def works_of(chunk: Sequence[tuple[str, dict[str, list[Case]]]], work: Work) -> list[steps.MetricWork]:
    """The cases of some papers, gathered by metric."""
    gathered: dict[str, list[Case]] = defaultdict(list)
    for _, by_signature in chunk:
        for signature_id, cases in by_signature.items():
            gathered[signature_id] += cases
    metric_of = {signature.signature_id: metric for metric, signature in work.signatures.items()}
    return [steps.MetricWork(metric_of[name], name, tuple(cases)) for name, cases in gathered.items()]


def known_spans(store: Store, job: Job, work: Work, works: Sequence[steps.MetricWork]) -> dict[str, SpanLogprob]:
    """Spans among those that *works* need which an earlier run or chunk left in the store."""
    needed = [place for item in works for place in addresses(item.cases, job.settings.scoring)]
    return {
        row["prediction"]: SpanLogprob(row["total"], tuple(row["ids"]), tuple(row["logprobs"]), row["escaped"])
        for row in store.rows("spans_of", lm_id=work.lm_id, predictions=needed)
    }


def commit(store: Store, work: Work, scored: Scored, run_id: str) -> None:
    """One transaction: the spans, the scores and final problems, and a record of transient ones."""
    at = now()
    finished = [item for item in scored.scores if item.problem is None or item.problem.final]
    passing = [item for item in scored.scores if item.problem is not None and not item.problem.final]
    store.write(
        (
            "add_spans",
            [
                {
                    "lm_id": work.lm_id,
                    "prediction": place,
                    "total": span.total,
                    "ids": span.ids,
                    "logprobs": span.logprobs,
                    "escaped": span.escaped,
                }
                for place, span in scored.spans.items()
            ],
        ),
        (
            "add_scores",
            [
                {
                    "signature_id": item.signature_id,
                    "paper_id": item.paper_id,
                    "candidate_id": item.candidate_id,
                    "reference_id": item.reference_id,
                    "value": item.value,
                    "problem": item.problem.code if item.problem else None,
                    "problem_message": item.problem.message if item.problem else None,
                    "broken": bool(item.problem and item.problem.broken),
                    "conditional": item.conditional,
                    "marginal": item.marginal,
                    "run_id": run_id,
                }
                for item in finished
            ],
        ),
        (
            "add_problems",
            [
                {
                    "run_id": run_id,
                    "signature_id": item.signature_id,
                    "paper_id": item.paper_id,
                    "candidate_id": item.candidate_id,
                    "reference_id": item.reference_id,
                    "problem": item.problem.code,
                    "message": item.problem.message,
                    "happened_at": at,
                }
                for item in passing
                if item.problem
            ],
        ),
    )


def publish(store: Store, run: Any, work: Work, progress: Progress) -> dict[str, Any]:
    """The board for readers, the separation of same-paper from other-paper scores, and the summary of the run."""
    progress.stage("publishing")
    for signature_id in work.signature_ids:
        separate(store, signature_id)
    store.copy_for_readers()
    run.show_leaderboard(store.key, store.rows("leaderboard", signature_ids=work.signature_ids))
    metrics = store.rows("progress", signature_ids=work.signature_ids)
    reasons = store.rows("reasons", signature_ids=work.signature_ids)
    outcome, message = outcome_of(metrics, reasons)
    summary = {
        "edition": store.key,
        "run_id": progress.status["run_id"],
        "outcome": outcome,
        "message": message,
        "papers": work.papers,
        "sampled": work.sampled,
        "writer": work.writer,
        "scored_now": progress.status["done"],
        "metrics": metrics,
        "reasons": reasons,
        "notes": work.notes,
    }
    progress.end(outcome, message, metrics)
    return summary


def separate(store: Store, signature_id: str) -> None:
    """Stores how often a human's score on a paper exceeds one on another paper, where both are there."""
    same, other = (
        store.rows("scored_pairs", signature_id=signature_id, candidate_id=name) for name in (HUMAN, OTHER_PAPER)
    )
    if len({row["paper_id"] for row in same}) < 2 or len(other) < 2:
        return
    found = stats.separation(
        [row["value"] for row in same],
        [row["paper_id"] for row in same],
        [row["value"] for row in other],
        [row["paper_id"] for row in other],
    )
    store.write(("put_separation", asdict(found) | {"signature_id": signature_id, "same": HUMAN, "other": OTHER_PAPER}))


def outcome_of(metrics: Sequence[Row], reasons: Sequence[Row]) -> tuple[str, str]:
    """``done``, ``incomplete`` (pairs still missing) or ``fault`` (the evaluation LM misbehaved), and why."""
    broken = [row for row in reasons if row["broken"]]
    missing = sum(row["missing"] for row in metrics)
    if broken:
        return "fault", f"{sum(row['pairs'] for row in broken)} pairs failed, first {broken[0]['example']}"
    if missing:
        why = next((f": {row['example'] or row['reason']}" for row in reasons if row["state"] == "missing"), "")
        return "incomplete", f"{missing} pairs are still missing{why}; run it again to try them"
    return "done", ""


def code_version() -> str:
    """Version of this program."""
    try:
        return version("gre-bench")
    except PackageNotFoundError:
        return "unknown"
