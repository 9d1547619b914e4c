"""Imports a user's own reviews as one candidate of a board; removes candidates and undoes imports.

A board scores judgments by one writer. If some of the user's reviews have no judgments by this writer, the settings
must name it, and it then writes these judgments. If they do not name it, nothing is stored. Nothing is scored while
judgments are missing.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError, SourceError, StoreError, UnfinishedError
from gre_bench.core.incoming import use_file_limits
from gre_bench.core.known_names import require_known_name
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Review
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.cells import CONFLICT, ImportResult
from gre_bench.ingest.records.columns import AS_NAMED, ColumnOptions
from gre_bench.ingest.records.opening import resolve_local_path
from gre_bench.ingest.records.tables import REVIEW_COLUMNS, read_new_reviews, read_table_rows
from gre_bench.perturbations.by_name import is_perturbed_candidate
from gre_bench.pipeline.importing import (
    EXAMPLES,
    Step,
    load_reviews_judgments_and_paper_ids,
    read_known_reviews,
    report_unknown_papers,
    store_imported,
    summarise_judgments,
    write_refusals,
)
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import STATES, Job, record_run
from gre_bench.store import Row, Store, queries
from gre_bench.tasks import steps
from gre_bench.writing.rules.writer import EXTRACTIVE


def import_candidate(
    store: Store, job: Job, file: Path, name: str, writer: str | None = None, replace: bool = False,
    licence: str | None = None, reading: ColumnOptions = AS_NAMED, partial: bool = False,
) -> tuple[Job, dict[str, Any]]:  # fmt: skip
    """Stores the reviews in *file* as the candidate *name*; returns the job that scores it, and a report.

    - *writer*: the writer to assume for judgments that name none.
    - *replace*: whether to delete the candidate's earlier reviews.
    - *partial*: whether to leave out unusable rows; otherwise they are an error.

    The report has the number of sampled papers with a review, and the ids of those without one. Raises
    `UnfinishedError` if the edition has no board, and `SettingsError` or `SourceError` if the reviews cannot be ranked.
    After these errors the store is unchanged.
    """
    file, inputs = resolve_local_path(file), job.settings.inputs
    with (
        store.lock("rank", job.wait_s),
        record_run(store, "rank", job.settings, shown=False) as progress,
        use_file_limits(inputs.memory, inputs.seconds),
    ):
        _check_candidate_can_be_imported(store, name, replace)
        known = read_known_reviews(store)
        before, others = ([review for review in known if (review.candidate == name) is own] for own in (True, False))
        imported = read_new_reviews(
            file,
            *load_reviews_judgments_and_paper_ids(store, others if replace else known),
            by=name,
            only=True,
            writer=writer,
            reading=reading,
        )
        reading.require_all_headers_used()
        lost = [refusal.paper_id for refusal in imported.refusals if refusal.code == CONFLICT]
        if before and not replace and lost:
            raise SettingsError(
                f"{name} has other reviews of {len(lost)} of these papers in {store.key} "
                f"({_format_paper_examples(lost)}): "
                "add --replace --yes to replace them, or give another name with --as"
            )
        sampled = list(dict.fromkeys(row["paper_id"] for row in store.rows(queries.SAMPLE)))
        reviews = {review.paper_id: review for review in (*(() if replace else before), *imported.reviews)}
        matched = [paper for paper in sampled if paper in reviews]
        if not matched:
            unknown, first = report_unknown_papers(store, imported), next(iter(imported.refusals), None)
            why = f"its {counted(len(sampled), 'paper')} are others"
            if unknown:
                why = unknown["line"]
            elif first:
                why = f"{counted(len(imported.refusals), 'row')} refused, first {first.item}: {first.reason}"
            raise SettingsError(f"{file.name} has no review of a paper of {store.key}: {why}")
        if imported.refusals and not partial:
            raise SettingsError(
                f"{counted(len(imported.refusals), 'row')} of {file.name} cannot be used, so nothing was stored; "
                f"{imported.row_counts}; correct them (reasons: "
                f"{write_refusals(store, progress.run_id, file, imported)}), or leave them out with --partial"
            )
        judged_by = _require_judgments_writer(store, job, [reviews[paper] for paper in matched], imported, replace)
        before_it = build_deletion_steps(store, name) if replace else ()
        report = store_imported(store, progress.run_id, file, "reviews", imported, before=before_it, licence=licence)
        store.copy_for_readers()
        report |= {
            "edition": store.key,
            "candidate": name,
            "columns": [column for column in imported.columns if column not in imported.ignored_columns],
            "replaced": len(before) if replace else 0,
            "sampled": len(sampled),
            "matched": len(matched),
            "outside": sum(paper not in sampled for paper in reviews),
            "lacking": sorted(paper for paper in sampled if paper not in reviews),
            "writer": judged_by,
            "judged": summarise_judgments(store, [reviews[paper] for paper in matched], imported.judgments, others),
        }
        job = changed(job, candidates=(name,), limit=find_pilot_limit(store))
        progress.end("done")
    return job, report


def _check_candidate_can_be_imported(store: Store, name: str, replace: bool) -> None:
    """Raises an error if no reviews may be imported as the candidate *name*.

    Raises `UnfinishedError` if *store* has no board. Raises `SettingsError` for a name that users may not add. Also
    raises it if *name* wrote reviews in this edition and *replace* is false.
    """
    check_candidate_name(name)
    if not store.rows(queries.CURRENT_SIGNATURES):
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    if not replace and any(row["wrote"] and row["candidate"] == name for row in store.rows(queries.ASKED_FOR)):
        raise SettingsError(
            f"{name} wrote its reviews for {store.key} here: add --replace --yes to replace them, or "
            "give another name with --as"
        )


def find_pilot_limit(store: Store) -> int | None:
    """Returns the board's number of papers if only the first papers of the sample were scored (a pilot); else None.

    With this limit, a further candidate is scored on the same papers.
    """
    ids = [row["signature_id"] for row in store.rows(queries.CURRENT_SIGNATURES)]
    boards = store.rows(queries.LEADERBOARD, signature_ids=ids)
    papers = max((row["plan_papers"] or 0 for row in boards), default=0)
    return papers if boards and 0 < papers < boards[0]["sampled"] else None


def find_judgments_writers(store: Store, job: Job) -> tuple[str | None, str | None]:
    """Returns the writer whose judgments the boards score, and the writer that the settings name, as identities.

    An identity is a writer's full name in a signature. Both are None if no board scores judgments; the second is None
    if the settings name no writer. Raises `SettingsError` if the two writers differ.
    """
    signed = [row for row in store.rows(queries.CURRENT_SIGNATURES) if find_recipe(row["metric"]).source == "judgments"]
    if not signed:
        return None, None
    writer, named = signed[0]["writer"], job.settings.writing.judgments
    configured = None if named is None else steps.writer_identity(named, "judgments", job.writer_context)
    if configured is not None and configured != writer:
        raise SettingsError(
            f"{store.key} is scored with judgments by {writer}, and {named} now writes as {configured}; judgments by "
            f"different writers are never mixed: refresh the edition first (gre-bench refresh --edition {store.key})"
        )
    return writer, configured


def _require_judgments_writer(
    store: Store, job: Job, reviews: Sequence[Review], imported: ImportResult, replace: bool
) -> str | None:
    """Returns the identity of the writer whose judgments the boards score; None if they score no judgments.

    Looks for judgments in *imported* and, unless new reviews *replace* the old ones, in the store. Raises
    `SettingsError` if one of *reviews* has no judgments by this writer and the settings name no writer.
    """
    writer, configured = find_judgments_writers(store, job)
    if writer is None:
        return None
    judged = {item.review_id for item in imported.judgments if item.writer == writer}
    if not replace:
        judged |= {row["review_id"] for row in store.rows(queries.JUDGMENTS) if row["writer"] == writer}
    lacking = [review.paper_id for review in reviews if review.review_id not in judged]
    if lacking and configured is None:
        raise SettingsError(
            f"{store.key} is scored with judgments by {writer}, which these settings do not name, and {len(lacking)} "
            f"of these reviews have none by it ({_format_paper_examples(lacking)}). Nothing was scored. Add them to "
            "the file (columns judgments and writer), or rank them on an edition by rule, which you make "
            "once: "
            f"{format_rule_edition_command(job.settings)}"
        )
    return writer


def format_rule_edition_command(settings: Settings) -> str:
    """Returns a shell command that makes a second edition of the same papers with judgments by the writer ``rule``."""
    named = {"edition": {"venue", "year", "sample"}, "scoring": {"writer"}, "fetch": True, "budget": True, "run": True}
    tree = settings.model_dump(mode="json", exclude_defaults=True, exclude=named)
    edition, sources = settings.edition, settings.sources
    key = f"{edition.venue}-{edition.year}-" + ("rule" if edition.sample == "main" else f"{edition.sample}.rule")
    tree.setdefault("writing", {})["judgments"] = "rule"
    parts = [
        f"--set {shlex.quote(f'{group}.{name}={value if isinstance(value, str) else json.dumps(value)}')}"
        for group, values in tree.items()
        for name, value in values.items()
    ]
    command = f"gre-bench refresh --edition {key} {' '.join(parts)}"
    if sources.notes or sources.snapshot or sources.papers or sources.reviews:
        return command
    return f"import its papers and human reviews into {key} (--new), then {command}"


def _format_paper_examples(papers: Sequence[str | None]) -> str:
    return ", ".join(str(paper) for paper in papers[:EXAMPLES]) + (", ..." if len(papers) > EXAMPLES else "")


def check_candidate_name(name: str) -> str:
    """Returns *name* if users may add or remove a candidate of this name.

    Raises `SettingsError` for the human baseline, for controls, and for a name that looks like an option.
    """
    if name.startswith("-"):
        raise SettingsError(f"candidate {name}: a name that begins with - looks like an option; begin it otherwise")
    if name.casefold() == HUMAN:
        raise SettingsError(f"{HUMAN} is the baseline; it cannot be removed or added")
    if name in CONTROLS or name in EXTRACTIVE or is_perturbed_candidate(name):
        raise SettingsError(f"{name} is a control, made by rule; it cannot be removed or added")
    return name


def find_candidate(store: Store, name: str) -> Row:
    """Returns a candidate's full name, and how many reviews, judgments and scores it has.

    *name*: its name or the end of its name. Raises `SettingsError` for an unknown candidate, the baseline or a control.
    """
    known = [row["candidate"] for row in store.read(queries.KNOWN_CANDIDATES)]
    name = check_candidate_name(require_known_name(name, known, f"edition {store.key} has no candidate"))
    return {"edition": store.key, "candidate": name} | store.read(queries.CANDIDATE_COUNTS, candidate=name)[0]


def build_deletion_steps(store: Store, name: str) -> list[Step]:
    """Returns steps for `Store.write` that delete the candidate *name* and the rank statistics of its boards."""
    signed = store.rows(queries.CANDIDATE_SIGNATURES, candidate_id=name)
    ids = {"signature_ids": [row["signature_id"] for row in signed]}
    forgotten: list[Step] = [("name_candidate", {"candidate": name}), ("forget_candidate", {})]
    return [*forgotten, *((f"clear_{table}", ids) for table in ("rank_statistics", "pair_tests", "chance"))]


def remove_candidate(store: Store, settings: Settings, state: Path, name: str) -> dict[str, Any]:
    """Deletes the candidate *name* and recomputes the rank statistics of the other candidates, in one transaction.

    Returns the numbers of deleted records. Raises `LockedError` if another process is writing.
    """
    with store.lock("remove"), record_run(store, "remove", settings, shown=False) as progress:
        signatures = store.rows(queries.CANDIDATE_SIGNATURES, candidate_id=name)
        counts = store.rows(queries.CANDIDATE_COUNTS, candidate=name)[0]
        with store.transaction():
            store.write(*build_deletion_steps(store, name))
            store_rank_statistics(store, Job(settings, state), signatures, progress.run_id)
        _update_pair_counts(store)
        progress.end("done")
    return {"edition": store.key, "candidate": name} | counts | {"notes": explain_readdition(settings, name)}


def _update_pair_counts(store: Store) -> None:
    """Updates the numbers of pairs in the status of the edition's last run, after some pairs were deleted."""
    try:
        status = store.status()
    except StoreError:
        return
    newest: dict[str, str] = {}
    for row in store.rows(queries.PLANNED_SIGNATURES):
        newest.setdefault(row["metric"], row["signature_id"])
    if status:
        ids = [newest[row["metric"]] for row in status["metrics"] if row["metric"] in newest]
        counts = store.rows(queries.PROGRESS, signature_ids=ids)
        store.save_status(status | {"metrics": [{key: row[key] for key in ("metric", *STATES)} for row in counts]})


def undo_import(store: Store, settings: Settings, state: Path, row: queries.ImportRow) -> dict[str, Any]:
    """Deletes those records that the import *row* added and that still exist, in one transaction; returns a report.

    A candidate that then has no reviews is deleted, too. If a paper or a human review of the sample was deleted, the
    next refresh draws the sample again; otherwise the other candidates' rank statistics are recomputed now. Raises
    `LockedError` if another process is writing.
    """
    with store.lock("undo"), record_run(store, "undo", settings, shown=False) as progress:
        scores = store.rows(queries.SCORE_COUNT)[0]["scores"]
        named = {"run_id": row["run_id"], "file": row["file"]}
        steps: list[Step] = [("name_undone", named), ("undo_import", {})]
        for gone in store.rows(queries.UNDONE_CANDIDATES, **named):
            steps += [("name_candidate", {"candidate": gone["candidate"]}), ("forget_candidate", {})]
        with store.transaction():
            store.write(*steps)
            if store.rows(queries.DRAW):
                signatures = store.rows(queries.PLANNED_SIGNATURES)
                store_rank_statistics(store, Job(settings, state), signatures, progress.run_id)
        _update_pair_counts(store)
        progress.end("done")
        left = store.rows(queries.SCORE_COUNT)[0]["scores"]
    sources = {name: getattr(settings.sources, name) for name in ("papers", "reviews", "notes")}
    notes = [
        f"the next refresh or study reads {file} again (sources.{name}); to leave it out: --set sources.{name}="
        for name, file in sources.items() if file is not None and file.name == Path(row["file"]).name
    ]  # fmt: skip
    return {"edition": store.key, "scores": scores - left, "notes": notes} | {
        name: row[name] for name in ("number", "file", "papers", "reviews", "judgments")
    }


def explain_readdition(settings: Settings, name: str) -> list[str]:
    """Returns one note per reason why the next refresh with *settings* would add the removed candidate *name* again."""
    notes = []
    if name in settings.writing.candidates:
        others = json.dumps([other for other in settings.writing.candidates if other != name])
        notes.append(
            f"the settings name {name} among writing.candidates, so the next refresh would ask it again; leave it out: "
            f"--set 'writing.candidates={others}'"
        )
    file, by = settings.sources.reviews, settings.sources.reviews_by
    with suppress(SourceError):  # the next refresh cannot read such a file either
        rows = read_table_rows(file, REVIEW_COLUMNS, None, ImportResult()) if file else ()
        if any((row.get("candidate") or by) == name for _, row in rows):
            again = f"the next refresh or study reads {file} again (sources.reviews)"
            notes.append(f"{again}; take the rows of {name} out of it")
    return notes
