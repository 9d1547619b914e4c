"""Detects that a refresh would do nothing, without starting Prefect or opening the store for writing.

A refresh with the outcome done writes two digests to ``last_refresh.json``: one of all inputs, and one of the store's
copy for readers, the file that other processes read while a run writes. If neither digest has changed, another refresh
of the same job has nothing to import, write or score.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import GreBenchError
from gre_bench.core.extensions import has_extension_packages
from gre_bench.core.pretrained import locate_model
from gre_bench.core.resources import PACKAGE
from gre_bench.core.whole_files import replace_file
from gre_bench.store import Store
from gre_bench.store.files import convert_write_errors
from gre_bench.store.queries import CURRENT_SIGNATURES, PROGRESS, REASONS, UNCOVERED

if TYPE_CHECKING:
    from gre_bench.pipeline.runs.job import Job

FILE = "last_refresh.json"
_LONGEST = 1_000_000
"""The maximum number of bytes that are read from ``last_refresh.json``."""


def record_done_refresh(store: Store, job: Job, summary: dict[str, Any]) -> None:
    """Records *summary* if it says that the refresh of *job* is done; does nothing if `_digest_inputs` returns None."""
    if (read := _digest_inputs(store, job)) is not None and summary["outcome"] == "done":
        kept = {name: summary[name] for name in ("run_id", "papers", "sampled", "writer", "notes")}
        text = json.dumps({"copy": _digest_of_copy(store), "inputs": read, "summary": kept})
        with convert_write_errors(store.key, store.folder / FILE):
            replace_file(store.folder / FILE, text.encode(), keep=False)


def find_unchanged_summary(store: Store, job: Job) -> dict[str, Any] | None:
    """Returns the summary of the last refresh if a refresh of *job* would do nothing; None if it may do something."""
    try:
        with (store.folder / FILE).open("rb") as file:
            last = json.loads(file.read(_LONGEST))
        if (
            last["copy"] != _digest_of_copy(store)
            or last["inputs"] != _digest_inputs(store, job)
            or store.is_being_written()
        ):
            return None
        ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
        metrics = store.read(PROGRESS, signature_ids=ids)
        if not metrics or any(row["unfinished"] for row in metrics):
            return None
        return {
            "edition": store.key,
            "outcome": "done",
            "message": "",
            "scored_now": 0,
            "metrics": metrics,
            "reasons": store.read(REASONS, signature_ids=ids),
            "uncovered": store.read(UNCOVERED, signature_ids=ids),
            **{name: last["summary"][name] for name in ("run_id", "papers", "sampled", "writer", "notes")},
        }
    except (OSError, ValueError, LookupError, TypeError, RecursionError, GreBenchError):
        return None


def _digest_of_copy(store: Store) -> str:
    return store.read_file.name


def _digest_inputs(store: Store, job: Job) -> str | None:
    """Returns a digest of the settings, and of the size and time of every file that a refresh of *job* reads.

    Returns None if the job depends on more than these: if the evaluation LM runs on a server, if failed texts are
    retried, or if the job is a validation. Also returns None if an installed package adds a metric, an LM or a
    perturbation, because its code may be anywhere.
    """
    settings = job.settings
    if job.retry_failed or job.perturbations or settings.evaluation_lm.runs_in_server or has_extension_packages():
        return None
    inputs = hashlib.sha256(settings.model_dump_json().encode())
    inputs.update(json.dumps([job.candidates, job.limit]).encode())
    folder, sources = store.folder.resolve(), settings.sources
    named = (sources.papers, sources.reviews, sources.notes, sources.pdfs, sources.texts, sources.snapshot,
             settings.edition.only, settings.edition.not_human, settings.writing.models)  # fmt: skip
    paths = [PACKAGE, folder / "edition.duckdb", folder.parent.parent / "validations", *filter(None, named)]
    if settings.evaluation_lm.folder is not None:
        paths.append(locate_model(settings.evaluation_lm.folder, "lm"))
    if settings.embedder.folder is not None:
        paths.append(locate_model(settings.embedder.folder, "embedder"))
    for path in paths:
        for line in _list_file_stamps(path):
            inputs.update(line.encode("utf-8", "surrogateescape"))
    return inputs.hexdigest()


def _list_file_stamps(path: Path) -> Iterator[str]:
    """Yields the name, size and modification time (ns) of the file *path*, or of each file in the folder *path*."""
    if not path.is_dir():
        about = path.stat() if path.exists() else None
        yield f"{path} {about and (about.st_size, about.st_mtime_ns)}\n"
        return
    for folder, folders, files in os.walk(path, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            about = os.stat(os.path.join(folder, name))
            yield f"{folder}/{name} {about.st_size} {about.st_mtime_ns}\n"
