"""Removes a candidate with all its scores, and computes the rank statistics of the remaining candidates again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gre_bench.changes.catalog import is_changed
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.known_names import resolved
from gre_bench.core.records import HUMAN
from gre_bench.core.settings import Settings
from gre_bench.ingest.records.row_files import Imported
from gre_bench.ingest.records.tables import REVIEW_COLUMNS, rows_of
from gre_bench.pipeline.intake import Step
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import Job, recorded
from gre_bench.store import Row, Store
from gre_bench.store.queries.plan import CANDIDATE_COUNTS, CANDIDATE_SIGNATURES, KNOWN_CANDIDATES
from gre_bench.writing.rules.writer import EXTRACTIVE


def own_name(name: str) -> str:
    """Returns *name* if a user may add or remove this candidate.

    Raises `SettingsError` for the human baseline and for controls.
    """
    if name == HUMAN:
        raise SettingsError(f"{name} is the baseline; it cannot be removed or added")
    if name in CONTROLS or name in EXTRACTIVE or is_changed(name):
        raise SettingsError(f"{name} is a control, made by rule; it cannot be removed or added")
    return name


def find_candidate(store: Store, name: str) -> Row:
    """Returns the full name of the candidate *name*, and the numbers of its records in *store*.

    The records are reviews, judgments and scores. *name* may be the end of a full name if only one candidate fits.
    Raises `SettingsError` for an unknown candidate, the baseline or a control.
    """
    known = [row["candidate"] for row in store.read(KNOWN_CANDIDATES)]
    name = own_name(resolved(name, known, f"edition {store.key} has no candidate"))
    return {"edition": store.key, "candidate": name} | store.read(CANDIDATE_COUNTS, candidate=name)[0]


def forgetting(store: Store, name: str) -> list[Step]:
    """Returns the steps for `Store.write` that delete the candidate *name* and the rank statistics of its boards."""
    ids = {"signature_ids": [row["signature_id"] for row in store.rows(CANDIDATE_SIGNATURES, candidate_id=name)]}
    return [
        ("name_candidate", {"candidate": name}), ("forget_candidate", {}), ("clear_rank_statistics", ids),
        ("clear_chance", ids),
    ]  # fmt: skip


def remove(store: Store, settings: Settings, state: Path, name: str, wait_s: float = 0.0) -> dict[str, Any]:
    """Deletes the candidate *name*, then computes the rank statistics of the remaining candidates again.

    Returns a report with the numbers of deleted records. The deletion is one transaction. If the run stops after it,
    the board has no rank statistics until the next refresh. Raises `LockedError` if another process still writes the
    edition after *wait_s* seconds.
    """
    with store.lock("remove", wait_s), recorded(store, "remove", settings, shown=False) as progress:
        signatures = store.rows(CANDIDATE_SIGNATURES, candidate_id=name)
        counts = store.rows(CANDIDATE_COUNTS, candidate=name)[0]
        store.write(*forgetting(store, name))
        store_rank_statistics(store, Job(settings, state), signatures, progress.status["run_id"])
        progress.end("done")
    return {"edition": store.key, "candidate": name} | counts | {"notes": coming_back(settings, name)}


def coming_back(settings: Settings, name: str) -> list[str]:
    """Returns one note for each reason why the next refresh with *settings* would add the candidate *name* again."""
    notes = []
    if name in settings.writing.candidates:
        others = json.dumps([other for other in settings.writing.candidates if other != name])
        notes.append(
            f"the settings name {name} among writing.candidates, so the next refresh would ask it again; leave it out: "
            f"--set 'writing.candidates={others}'"
        )
    file = settings.sources.reviews
    if file is not None and _holds(file, settings.sources.reviews_by, name):
        notes.append(f"the next refresh reads {file} again (sources.reviews); take the rows of {name} out of it")
    return notes


def _holds(file: Path, by: str | None, name: str) -> bool:
    """Returns whether *file* has a review by the candidate *name*.

    *by*: the candidate to assume for rows without a named candidate. Returns False for a file that cannot be read,
    because the next refresh cannot read it either.
    """
    try:
        return any((row.get("candidate") or by) == name for _, row in rows_of(file, REVIEW_COLUMNS, None, Imported()))
    except SourceError:
        return False
