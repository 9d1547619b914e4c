"""The doctor's check of the disk: is there enough free space for the most that the edition may need?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from gre_bench.core.controls import CONTROLS
from gre_bench.core.settings import Settings
from gre_bench.preflight.doctor import Check, Finding
from gre_bench.store import Store
from gre_bench.writing.catalog import by_rule

GIB = 2**30
LITTLE_DISK, TOO_LITTLE_DISK = 10 * GIB, GIB
PAIR = 22_000
"""Bytes per pair in the store with texts and log-probabilities: measured 12 kB at 1,800 pairs, 22 kB at 640."""
STORE = 64 * 2**20
"""Bytes of everything else: an empty store, logs, validation records, Prefect's own files."""
COPIES = 3
"""How many copies exist at once: the store, the copy for readers, and the next copy while it is made."""
PDF = 3_000_000
REPLY = 64_000
"""Bytes of an archived reply, whose prompt holds the paper."""


def disk(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the free disk space against the space that the edition may need.

    The finding is a problem if the edition may not fit, and a warning if less than twice the needed space is free.
    """
    whole = state.resolve()
    existing = next(folder for folder in (whole, *whole.parents) if folder.exists())
    free, needed = shutil.disk_usage(existing).free, bytes_needed(settings, state)
    problem, warning = free < max(TOO_LITTLE_DISK, needed), free < max(LITTLE_DISK, 2 * needed)
    verdict = "problem" if problem else "warning" if warning else "ok"
    todo = "" if verdict == "ok" else "free some, or choose another folder by --state"
    free_space = f"{free / GIB:.1f} GiB free; {settings.edition.edition.key} takes {needed / GIB:.1f} GiB more at most"
    yield Finding("disk", verdict, free_space, todo)


def bytes_needed(settings: Settings, state: Path) -> int:
    """Returns the most bytes that a fetch and a refresh with *settings* will add to the folder *state*."""
    edition, writing, sources = settings.edition, settings.writing, settings.sources
    pairs = edition.papers * edition.likely_pairs(len(CONTROLS) + len(writing.candidates))
    pairs *= len(settings.scoring.with_chance)
    reviewers = [name for name in writing.candidates if not by_rule(name)]
    texts = len(reviewers) + (len(reviewers) + 3 if writing.judgments and not by_rule(writing.judgments) else 0)
    fetched = 0 if sources.papers or sources.texts or sources.snapshot else edition.papers * PDF
    store = Store(state, edition.edition)
    stored = sum(file.stat().st_size for file in store.folder.glob("*.duckdb")) if store.exists else 0
    return max(0, STORE + pairs * PAIR * COPIES - stored) + edition.papers * texts * REPLY + fetched


CHECKS: dict[str, Check] = {"disk": disk}
