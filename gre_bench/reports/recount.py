"""Rebuilds the cases behind a candidate's scores from the store's texts, and scores these cases again."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from gre_bench.catalogs.domains import domain_of
from gre_bench.core import settings as configuration
from gre_bench.core.errors import StoreError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Candidate, Case
from gre_bench.metrics.cases import Entry, Response, plan, response_of
from gre_bench.metrics.scoring import MetricWork, Scored
from gre_bench.pipeline.intake import in_domain
from gre_bench.pipeline.planning import sample
from gre_bench.pipeline.runs.job import Job
from gre_bench.reports.signatures import with_specific
from gre_bench.store import Row, Store
from gre_bench.store.queries import CURRENT_SIGNATURES, FINISHED_PAIRS, MOVED, PLANNED_CANDIDATE, WHY_RUN, SignatureRow
from gre_bench.tasks.protocol import Steps

TOLERANCE = 1e-6
"""Largest relative difference between a stored number and the recomputed one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a candidate's scores come from.

    *job*: a job with the settings under which the pairs were scored. *run*: the last run that scored them.
    """

    job: Job
    run: Row

    @property
    def settings(self) -> configuration.Settings:
        return self.job.settings


def origin(store: Store, signature: SignatureRow, candidate_id: str, state: Path) -> Origin:
    """Returns the job and the last run that scored a candidate's pairs under *signature*.

    Raises `StoreError` if no run scored them.
    """
    runs = store.rows(WHY_RUN, signature_id=signature["signature_id"], candidate_id=candidate_id)
    if not runs:
        raise StoreError(f"edition {store.key}: {candidate_id} has no pair that was scored by {signature['metric']}")
    settings = configuration.load_over(json.loads(runs[0]["settings"]), ())
    run = {name: value for name, value in runs[0].items() if name != "settings"}
    return Origin(in_domain(Job(settings, state)), run)


def cases(store: Store, signature: SignatureRow, candidate: Candidate, source: Origin) -> list[Case]:
    """Returns the cases of *candidate* under *signature*, made from the texts that the store holds now.

    The cases are in the edition's order. If a text of a pair is missing, the pair gets no case.
    """
    scoring = source.settings.scoring
    assw_by = signature["synopsis_writer"] if recipe_of(signature["metric"]).synopsis == "assw" else None
    entries = sample(store, {}, None, assw_by, scoring.synopsis_of)
    generic = domain_of(source.settings.edition.domain).generic
    recipe = recipe_of(signature["metric"])
    moved = _moved(store, signature["writer"], entries, candidate) if recipe.formula == "specific" else {}
    planned = plan(entries, [candidate], recipe, signature["writer"], signature["form"], None, generic, moved)
    return [pair.case for pair in planned if pair.case]


def _moved(
    store: Store, writer: str, entries: Sequence[Entry], candidate: Candidate
) -> dict[tuple[str, str], Response]:
    """Returns the review from another paper that each paper's chance score uses: (candidate, paper) → review.

    The review is by *candidate*. The paper in the key is the one on which the review is scored, not the one it is
    about.
    """
    responses = (response_of(entries, index, candidate) for index in range(len(entries)))
    by_id = {response.review_id: response for response in responses if response}
    rows = store.rows(MOVED, writer=writer, candidate_id=candidate.candidate_id)
    return {
        (candidate.candidate_id, row["paper_id"]): by_id[row["review_id"]] for row in rows if row["review_id"] in by_id
    }


def signed_again(run: Steps, store: Store, signature: SignatureRow, source: Origin) -> dict[str, Any]:
    """Computes the signature of a metric again, as it would be today; returns the fields of the new signature.

    *source* gives the settings. The fields differ from *signature* if the evaluation LM or the engine has changed
    since.
    """
    scoring = source.settings.scoring.model_copy(update={"metrics": (signature["metric"],)})
    assw_by = signature["synopsis_writer"] if recipe_of(signature["metric"]).synopsis == "assw" else None
    _, signatures = run.sign_metrics(source.job.backends, scoring, signature["writer"], assw_by)
    today = signatures[signature["metric"]]
    return {name: getattr(today, name) for name in signature if name != "signature_id"} | {
        "signature_id": today.signature_id
    }


def scored_again(run: Steps, store: Store, signature: SignatureRow, source: Origin, due: Sequence[Case]) -> Scored:
    """Scores the cases *due* again and returns the result; no stored log-probability is used."""
    work = MetricWork(signature["metric"], signature["signature_id"], tuple(due))
    return run.score_papers("why", source.job.backends, source.settings.scoring, [work], {})


def compared(pairs: Sequence[dict[str, Any]], scored: Scored) -> list[tuple[dict[str, Any], float]]:
    """Compares new scores with stored ones, and adds each new score to its row of *pairs* under the key *recount*.

    Returns (row, relative difference) for each pair that has a stored score and was scored again. The difference of the
    two scores is divided by the sum of the absolute log-probabilities behind the new score. If there are none, it is
    divided by the absolute stored score instead.
    """
    by_pair = {(score.paper_id, score.reference_id): score for score in scored.scores}
    rows = []
    for row in pairs:
        score = by_pair.get((row["paper_id"], row["reference_id"]))
        row["recount"] = score.value if score else None
        if row["state"] != "scored" or score is None:
            continue
        # A score is a small difference of large log-probabilities; these are what must agree.
        scale = sum(
            abs(scored.spans[prediction].total) for prediction in score.predictions if prediction in scored.spans
        )
        off = math.inf if score.value is None else abs(score.value - row["value"]) / (scale or abs(row["value"]) or 1.0)
        rows.append((row, off))
    return rows


def recount_some(store: Store, run: Steps, count: int, seed: int, state: Path) -> int:
    """Scores *count* pairs of the board again, sampled with *seed*; returns how many were scored.

    If the board has fewer pairs than *count*, all are scored. Raises `StoreError`, which names the first pair whose
    score differs or whose texts are missing.
    """
    drawn: dict[tuple[str, str], list[dict[str, Any]]] = {}
    signatures = {row["signature_id"]: row for row in with_specific(store, store.rows(CURRENT_SIGNATURES))}
    known = [(key, row) for key in signatures for row in store.rows(FINISHED_PAIRS, signature_id=key)
             if row["value"] is not None]  # fmt: skip
    chosen = Random(seed).sample(known, min(count, len(known)))
    for key, row in chosen:
        drawn.setdefault((key, row["candidate_id"]), []).append(row | {"state": "scored"})
    for (key, candidate_id), pairs in drawn.items():
        signature = signatures[key]
        source = origin(store, signature, candidate_id, state)
        wanted = {(row["paper_id"], row["reference_id"]) for row in pairs}
        due = cases(store, signature, candidate_of(store, candidate_id), source)
        scored = scored_again(run, store, signature, source, [
            case for case in due if (case.paper_id, case.reference_id) in wanted
        ])  # fmt: skip
        agreed = [row for row, off in compared(pairs, scored) if off <= TOLERANCE]
        if unlike := [row for row in pairs if row not in agreed]:
            raise StoreError(_unlike(store.key, signature["metric"], unlike[0]))
    return len(chosen)


def _unlike(key: str, metric: str, row: Row) -> str:
    outcome = (
        "cannot be scored again" if row["recount"] is None else f"is {row['recount']:+.6f} when it is scored again"
    )
    return (
        f"edition {key}: {metric} of {row['candidate_id']}, paper {row['paper_id']}, reference {row['reference_id']} "
        f"{outcome}, and {row['value']:+.6f} in the store; nothing was published; "
        f"gre-bench why {key} {metric} {row['candidate_id']} --paper {row['paper_id']} shows its texts and tokens"
    )


def candidate_of(store: Store, candidate_id: str) -> Candidate:
    """Returns the planned candidate with the id *candidate_id*."""
    rows = store.rows(PLANNED_CANDIDATE, candidate_id=candidate_id)
    return Candidate(**rows[0])
