"""Reviews that somebody brings to be ranked: taken as one candidate's, understood, and judged by the edition's writer.

Judgments by different writers are never paired. So nothing is stored where a review has no judgments by the writer of
the edition's judgments and nothing here writes them, and nothing is scored while some of them are still to be written.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Review
from gre_bench.core.settings import Settings
from gre_bench.ingest.records.merge_index import CONFLICT, Imported
from gre_bench.pipeline.backends import writer_context
from gre_bench.pipeline.import_summary import described
from gre_bench.pipeline.intake import EXAMPLES, keep, known_reviews, read_reviews, unknown_papers
from gre_bench.pipeline.removal import forgetting
from gre_bench.pipeline.runs.job import Job, recorded
from gre_bench.store import Store
from gre_bench.store.queries.board import LEADERBOARD
from gre_bench.store.queries.plan import CURRENT_SIGNATURES, SAMPLE
from gre_bench.store.queries.writing import ASKED_FOR, JUDGMENTS
from gre_bench.tasks.protocol import Steps


def bring(
    store: Store, job: Job, run: Steps, file: Path, name: str, writer: str | None = None, replace: bool = False
) -> tuple[Job, dict[str, Any]]:
    """Calls `take` under the edition's lock. Returns the job that scores the candidate, and what was understood."""
    with store.lock("rank", job.wait_s), recorded(store, "rank", job.settings, shown=False) as progress:
        taken = take(store, job, run, progress.status["run_id"], file, name, writer, replace)
        job = changed(job, candidates=(name,), limit=limit_of(store))
        progress.end("done")
    return job, taken


def take(
    store: Store, job: Job, run: Steps, run_id: str, file: Path, name: str, writer: str | None, replace: bool
) -> dict[str, Any]:
    """Stores the reviews of *file* as those of the candidate *name*, in the place of its earlier ones where asked.

    What was understood: the report of an import, with the sampled papers that have a review and those that have none.
    `SettingsError` or `SourceError` if they cannot be ranked; then nothing was changed.
    """
    if not store.rows(CURRENT_SIGNATURES):
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    known = known_reviews(store)
    before = [review for review in known if review.candidate == name]
    if before and not replace and any(row["candidate"] == name and row["wrote"] for row in store.rows(ASKED_FOR)):
        raise SettingsError(f"{name} wrote its reviews for {store.key} here; give another name with --as, or --replace")
    others = [review for review in known if review.candidate != name]
    taken = read_reviews(store, file, others if replace else known, by=name, only=True, writer=writer)
    if before and not replace:
        _refuse_conflicts(store, name, taken)
    sampled = list(dict.fromkeys(row["paper_id"] for row in store.rows(SAMPLE)))
    reviews = {review.paper_id: review for review in (*(() if replace else before), *taken.reviews)}
    matched = [paper for paper in sampled if paper in reviews]
    if not matched:
        raise SettingsError(f"{file.name} has no review of a paper of {store.key}: {_mismatch(store, taken, sampled)}")
    judged_by = _judges(store, job, run, [reviews[paper] for paper in matched], taken, replace)
    report = keep(store, run_id, file, "reviews", taken, before=forgetting(store, name) if replace else ())
    store.copy_for_readers()
    lacking = [paper for paper in sampled if paper not in reviews]
    return report | {
        "edition": store.key,
        "candidate": name,
        "columns": [column for column in taken.columns if column not in taken.ignored_columns],
        "replaced": len(before) if replace else 0,
        "sampled": len(sampled),
        "matched": len(matched),
        "outside": sum(paper not in sampled for paper in reviews),
        "lacking": lacking,
        "writer": judged_by,
        "judged": described(store, [reviews[paper] for paper in matched], taken.judgments, others),
    }


def _refuse_conflicts(store: Store, name: str, taken: Imported) -> None:
    """`SettingsError` if *name* has other reviews of some of the papers of *taken*."""
    if lost := [one.paper_id for one in taken.refusals if one.code == CONFLICT]:
        raise SettingsError(
            f"{name} has other reviews of {len(lost)} of these papers in {store.key} ({_some(lost)}): --replace takes "
            "the file's in their place, or give another name with --as"
        )


def _mismatch(store: Store, taken: Imported, sampled: Sequence[str]) -> str:
    """Why no review of *taken* is of a *sampled* paper."""
    unknown = unknown_papers(store, taken)
    return unknown["line"] if unknown else _first_refusal(taken) or f"its {len(sampled)} papers are others"


def limit_of(store: Store) -> int | None:
    """The papers of a board that is a pilot, so that a candidate is scored on the same; None of a whole one."""
    ids = [row["signature_id"] for row in store.rows(CURRENT_SIGNATURES)]
    boards = store.rows(LEADERBOARD, signature_ids=ids)
    papers = max((row["plan_papers"] or 0 for row in boards), default=0)
    return papers if boards and 0 < papers < boards[0]["sampled"] else None


def writer_of_boards(store: Store, job: Job, run: Steps) -> tuple[str | None, str | None]:
    """The writer whose judgments the edition's boards score, and the same if the settings name it; None: nobody.

    `SettingsError` if the settings name a writer that now writes otherwise.
    """
    signed = [row for row in store.rows(CURRENT_SIGNATURES) if recipe_of(row["metric"]).source == "judgments"]
    if not signed:
        return None, None
    writer, named = signed[0]["writer"], job.settings.writing.judgments
    at_work = None if named is None else run.writer_identity(named, "judgments", writer_context(store, job))
    if at_work is not None and at_work != writer:
        raise SettingsError(
            f"{store.key} is scored with judgments by {writer}, and {named} now writes as {at_work}; judgments by "
            f"different writers are never mixed: refresh the edition first (gre-bench refresh --edition {store.key})"
        )
    return writer, at_work


def _judges(
    store: Store, job: Job, run: Steps, reviews: Sequence[Review], taken: Imported, replace: bool
) -> str | None:
    """The writer whose judgments the edition's boards score; None if they score none.

    `SettingsError` if some of *reviews* have no judgments by it and the settings name nobody who writes as it does.
    """
    writer, at_work = writer_of_boards(store, job, run)
    if writer is None:
        return None
    judged = {one.review_id for one in taken.judgments if one.writer == writer}
    if not replace:
        judged |= {row["review_id"] for row in store.rows(JUDGMENTS) if row["writer"] == writer}
    lacking = [review.paper_id for review in reviews if review.review_id not in judged]
    if lacking and at_work is None:
        raise SettingsError(
            f"{store.key} is scored with judgments by {writer}, which nothing here writes, and {len(lacking)} of these "
            f"reviews have none by it ({_some(lacking)}). Nothing was scored. Add them to the file (columns judgments "
            f"and writer), or rank them on an edition by rule, which you make once: {by_rule(job.settings)}"
        )
    return writer


def by_rule(settings: Settings) -> str:
    """The command that makes an edition of the same papers whose judgments are written by rule."""
    stated = settings.model_dump(mode="json", exclude_defaults=True, exclude={"fetch", "budget", "run"})
    stated.get("scoring", {}).pop("writer", None)
    edition = settings.edition
    key = f"{edition.venue}-{edition.year}-" + ("rule" if edition.sample == "main" else f"{edition.sample}.rule")
    for name in ("venue", "year", "sample"):
        stated.get("edition", {}).pop(name, None)
    stated.setdefault("writing", {})["judgments"] = "rule"
    parts = [
        f"--set {shlex.quote(f'{group}.{name}={value if isinstance(value, str) else json.dumps(value)}')}"
        for group, values in stated.items()
        for name, value in values.items()
    ]
    sources = settings.sources
    made = (
        ""
        if sources.notes or sources.snapshot or sources.papers or sources.reviews
        else (f"import its papers and human reviews into {key} (--new), then ")
    )
    return f"{made}gre-bench refresh --edition {key} {' '.join(parts)}"


def _some(papers: Sequence[str | None]) -> str:
    return ", ".join(str(paper) for paper in papers[:EXAMPLES]) + (", ..." if len(papers) > EXAMPLES else "")


def _first_refusal(taken: Imported) -> str | None:
    first = taken.refusals[0] if taken.refusals else None
    return f"{len(taken.refusals)} rows refused, first {first.item}: {first.reason}" if first else None
