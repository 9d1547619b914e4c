"""A candidate goes, with all that was scored for it; what the others' ranks rest on is tested again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gre_bench.changes.naming import is_changed
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import resolved
from gre_bench.core.records import HUMAN
from gre_bench.core.settings import Settings
from gre_bench.pipeline.intake import Step
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import Job, recorded
from gre_bench.store import Row, Store
from gre_bench.store.queries.plan import CANDIDATE_COUNTS, CANDIDATE_SIGNATURES, KNOWN_CANDIDATES
from gre_bench.writing.rules.writer import EXTRACTIVE


def own_name(name: str) -> str:
    """*name*, of a candidate whose reviews come from outside; `SettingsError` for one that is the benchmark's."""
    if name == HUMAN:
        raise SettingsError(f"{name} is the baseline; it cannot be taken away or added")
    if name in CONTROLS or name in EXTRACTIVE or is_changed(name):
        raise SettingsError(f"{name} is a control, made by rule; it cannot be taken away or added")
    return name


def found(store: Store, name: str) -> Row:
    """How much there is of the candidate *name*, or of the one whose name ends so; for readers.

    `SettingsError`: there is none, or it is none from outside.
    """
    known = [row["candidate"] for row in store.read(KNOWN_CANDIDATES)]
    name = own_name(resolved(name, known, f"edition {store.key} has no candidate"))
    return {"edition": store.key, "candidate": name} | store.read(CANDIDATE_COUNTS, candidate=name)[0]


def forgetting(store: Store, name: str) -> list[Step]:
    """The steps that take *name* out of the *store*, with what is said of the order that it stood in."""
    ids = {"signature_ids": [row["signature_id"] for row in store.rows(CANDIDATE_SIGNATURES, candidate_id=name)]}
    return [
        ("name_candidate", {"candidate": name}), ("forget_candidate", {}), ("clear_rank_statistics", ids),
        ("clear_chance", ids),
    ]  # fmt: skip


def remove(store: Store, settings: Settings, state: Path, name: str, wait_s: float = 0.0) -> dict[str, Any]:
    """Takes the candidate *name* out of the *store* in one transaction and tests the others' ranks again; the report.

    A removal that is stopped in between leaves a board without tests, which the next refresh makes.
    """
    with store.lock("remove", wait_s), recorded(store, "remove", settings, shown=False) as progress:
        signatures = store.rows(CANDIDATE_SIGNATURES, candidate_id=name)
        counts = store.rows(CANDIDATE_COUNTS, candidate=name)[0]
        store.write(*forgetting(store, name))
        store_rank_statistics(store, Job(settings, state), signatures, progress.status["run_id"])
        progress.end("done")
    return {"edition": store.key, "candidate": name} | counts | {"notes": coming_back(settings, name)}


def coming_back(settings: Settings, name: str) -> list[str]:
    """Why the next refresh with *settings* may bring the candidate *name* back."""
    notes = []
    if name in settings.writing.candidates:
        others = json.dumps([other for other in settings.writing.candidates if other != name])
        notes.append(
            f"the settings name {name} among writing.candidates, so that the next refresh asks it anew; leave it out: "
            f"--set 'writing.candidates={others}'"
        )
    if settings.sources.reviews is not None:
        file = settings.sources.reviews
        notes.append(f"the next refresh reads {file} again (sources.reviews); take its rows out if they are {name}'s")
    return notes
