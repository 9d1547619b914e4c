"""The sample of an edition and the plan of its pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from flows.intake import known_papers, known_reviews
from flows.runs import Job
from tasks.controls import CONTROLS
from tasks.corpus.sampling import draw
from tasks.errors import SettingsError, SourceError
from tasks.metrics.cases import Entry, Response, plan, the_writer
from tasks.metrics.catalog import RECIPES
from tasks.records import HUMAN, Candidate, Planned, Signature
from tasks.settings import EditionSettings
from tasks.store import Row, Store, now

DRAW_FIELDS = ("papers", "seed", "min_reviews", "roles", "candidate_slot", "reference_slots")


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
