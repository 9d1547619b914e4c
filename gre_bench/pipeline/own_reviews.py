"""Imports a user's own reviews as the reviews of one candidate, to be ranked on an edition's board.

A board scores judgments by one writer. If some of the user's reviews have no judgments by this writer, the settings
must name the writer, who then writes them. Otherwise nothing is stored. Nothing is scored while judgments are missing.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.core.incoming import limited
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Review
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.row_files import CONFLICT, Imported
from gre_bench.pipeline.backends import writer_context
from gre_bench.pipeline.import_summary import described
from gre_bench.pipeline.intake import EXAMPLES, keep, known_reviews, read_reviews, unknown_papers
from gre_bench.pipeline.removal import forgetting, own_name
from gre_bench.pipeline.runs.job import Job, recorded
from gre_bench.store import Store
from gre_bench.store.queries.board import LEADERBOARD
from gre_bench.store.queries.plan import CURRENT_SIGNATURES, SAMPLE
from gre_bench.store.queries.writing import ASKED_FOR, JUDGMENTS
from gre_bench.tasks.protocol import Steps


def import_candidate(
    store: Store,
    job: Job,
    run: Steps,
    file: Path,
    name: str,
    writer: str | None = None,
    replace: bool = False,
    licence: str | None = None,
) -> tuple[Job, dict[str, Any]]:
    """Imports the reviews in *file* as reviews of the candidate *name*, while holding the edition's lock.

    Returns the job that scores this candidate, and the report. Parameters and errors are as in `import_own_reviews`.
    """
    with store.lock("rank", job.wait_s), recorded(store, "rank", job.settings, shown=False) as progress:
        with limited(job.settings.inputs.memory, job.settings.inputs.seconds):
            report = import_own_reviews(
                store, job, run, progress.status["run_id"], file, name, writer, replace, licence
            )
        job = changed(job, candidates=(name,), limit=limit_of(store))
        progress.end("done")
    return job, report


def import_own_reviews(
    store: Store,
    job: Job,
    run: Steps,
    run_id: str,
    file: Path,
    name: str,
    writer: str | None,
    replace: bool,
    licence: str | None = None,
) -> dict[str, Any]:
    """Stores the reviews in *file* as reviews of the candidate *name*; returns a report.

    - *writer*: the writer to assume for judgments without a named writer.
    - *replace*: whether the new reviews replace the candidate's earlier reviews.
    - *licence*: as in `gre_bench.pipeline.intake.keep`.

    The report says how many sampled papers have a review, and names those that have none. Raises `UnfinishedError` if
    the edition has no board. Raises `SettingsError` or `SourceError` if the reviews cannot be ranked. After any of
    these errors the store is as before.
    """
    own_name(name)
    if not store.rows(CURRENT_SIGNATURES):
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    known = known_reviews(store)
    before = [review for review in known if review.candidate == name]
    if before and not replace and any(row["candidate"] == name and row["wrote"] for row in store.rows(ASKED_FOR)):
        raise SettingsError(f"{name} wrote its reviews for {store.key} here; give another name with --as, or --replace")
    others = [review for review in known if review.candidate != name]
    imported = read_reviews(store, file, others if replace else known, by=name, only=True, writer=writer)
    if before and not replace:
        _refuse_conflicts(store, name, imported)
    sampled = list(dict.fromkeys(row["paper_id"] for row in store.rows(SAMPLE)))
    reviews = {review.paper_id: review for review in (*(() if replace else before), *imported.reviews)}
    matched = [paper for paper in sampled if paper in reviews]
    if not matched:
        raise SettingsError(
            f"{file.name} has no review of a paper of {store.key}: {_mismatch(store, imported, sampled)}"
        )
    judged_by = _judges(store, job, run, [reviews[paper] for paper in matched], imported, replace)
    before_it = forgetting(store, name) if replace else ()
    report = keep(store, run_id, file, "reviews", imported, before=before_it, licence=licence)
    store.copy_for_readers()
    lacking = sorted(paper for paper in sampled if paper not in reviews)
    return report | {
        "edition": store.key,
        "candidate": name,
        "columns": [column for column in imported.columns if column not in imported.ignored_columns],
        "replaced": len(before) if replace else 0,
        "sampled": len(sampled),
        "matched": len(matched),
        "outside": sum(paper not in sampled for paper in reviews),
        "lacking": lacking,
        "writer": judged_by,
        "judged": described(store, [reviews[paper] for paper in matched], imported.judgments, others),
    }


def _refuse_conflicts(store: Store, name: str, imported: Imported) -> None:
    """Raises `SettingsError` if a row was refused because *name* already has another review of its paper.

    *imported*: the content of the user's file, with the refused rows.
    """
    if lost := [refusal.paper_id for refusal in imported.refusals if refusal.code == CONFLICT]:
        raise SettingsError(
            f"{name} has other reviews of {len(lost)} of these papers in {store.key} ({_some(lost)}): "
            "replace them with --replace, or give another name with --as"
        )


def _mismatch(store: Store, imported: Imported, sampled: Sequence[str]) -> str:
    """Returns one line that says why no review in *imported* is about a paper of the sample.

    *sampled*: the ids of the papers in the sample.
    """
    unknown = unknown_papers(store, imported)
    return (
        unknown["line"] if unknown else _first_refusal(imported) or f"its {counted(len(sampled), 'paper')} are others"
    )


def limit_of(store: Store) -> int | None:
    """Returns the number of papers on the board if a pilot made it from only part of the sample; else None.

    A further candidate is scored on the same papers if its run gets this number as its limit.
    """
    ids = [row["signature_id"] for row in store.rows(CURRENT_SIGNATURES)]
    boards = store.rows(LEADERBOARD, signature_ids=ids)
    papers = max((row["plan_papers"] or 0 for row in boards), default=0)
    return papers if boards and 0 < papers < boards[0]["sampled"] else None


def writer_of_boards(store: Store, job: Job, run: Steps) -> tuple[str | None, str | None]:
    """Returns two identities of writers of judgments.

    - The first is the writer whose judgments the boards score; None if no board scores judgments.
    - The second is the writer that the settings name; None if they name none, or if no board scores judgments.

    Raises `SettingsError` if the settings name a writer and the two identities differ.
    """
    signed = [row for row in store.rows(CURRENT_SIGNATURES) if recipe_of(row["metric"]).source == "judgments"]
    if not signed:
        return None, None
    writer, named = signed[0]["writer"], job.settings.writing.judgments
    configured = None if named is None else run.writer_identity(named, "judgments", writer_context(store, job))
    if configured is not None and configured != writer:
        raise SettingsError(
            f"{store.key} is scored with judgments by {writer}, and {named} now writes as {configured}; judgments by "
            f"different writers are never mixed: refresh the edition first (gre-bench refresh --edition {store.key})"
        )
    return writer, configured


def _judges(
    store: Store, job: Job, run: Steps, reviews: Sequence[Review], imported: Imported, replace: bool
) -> str | None:
    """Returns the identity of the writer whose judgments the boards score; None if they score no judgments.

    - *reviews*: the reviews to be ranked.
    - *imported*: the content of the user's file, with its judgments.
    - *replace*: whether the judgments in the store are ignored, because new reviews replace the old ones.

    Raises `SettingsError` if a review has no judgments by this writer and the settings name no writer to write them.
    """
    writer, configured = writer_of_boards(store, job, run)
    if writer is None:
        return None
    judged = {item.review_id for item in imported.judgments if item.writer == writer}
    if not replace:
        judged |= {row["review_id"] for row in store.rows(JUDGMENTS) if row["writer"] == writer}
    lacking = [review.paper_id for review in reviews if review.review_id not in judged]
    if lacking and configured is None:
        raise SettingsError(
            f"{store.key} is scored with judgments by {writer}, which these settings do not name, and {len(lacking)} "
            f"of these reviews have none by it ({_some(lacking)}). Nothing was scored. Add them to the file (columns "
            "judgments and writer), or rank them on an edition by rule, which you make once: "
            f"{rule_edition_command(job.settings)}"
        )
    return writer


def rule_edition_command(settings: Settings) -> str:
    """Returns a shell command that makes a second edition of the same papers, with judgments by rule."""
    tree = settings.model_dump(mode="json", exclude_defaults=True, exclude={"fetch", "budget", "run"})
    tree.get("scoring", {}).pop("writer", None)
    edition = settings.edition
    key = f"{edition.venue}-{edition.year}-" + ("rule" if edition.sample == "main" else f"{edition.sample}.rule")
    for name in ("venue", "year", "sample"):
        tree.get("edition", {}).pop(name, None)
    tree.setdefault("writing", {})["judgments"] = "rule"
    parts = [
        f"--set {shlex.quote(f'{group}.{name}={value if isinstance(value, str) else json.dumps(value)}')}"
        for group, values in tree.items()
        for name, value in values.items()
    ]
    sources = settings.sources
    import_first = (
        ""
        if sources.notes or sources.snapshot or sources.papers or sources.reviews
        else (f"import its papers and human reviews into {key} (--new), then ")
    )
    return f"{import_first}gre-bench refresh --edition {key} {' '.join(parts)}"


def _some(papers: Sequence[str | None]) -> str:
    return ", ".join(str(paper) for paper in papers[:EXAMPLES]) + (", ..." if len(papers) > EXAMPLES else "")


def _first_refusal(imported: Imported) -> str | None:
    first = imported.refusals[0] if imported.refusals else None
    return f"{counted(len(imported.refusals), 'row')} refused, first {first.item}: {first.reason}" if first else None
