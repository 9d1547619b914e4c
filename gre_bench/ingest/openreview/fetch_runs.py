"""Finds the fetch runs of a venue-year. A fetch run has its own journal and belongs to one host and API version.

    <state>/openreview/<venue>-<year>-0001/journal.jsonl      its first line names the host and the API version

Answers of one host never enter a snapshot of another host. A trial with the loopback server therefore leaves a real
fetch untouched.
"""

from __future__ import annotations

import json
from pathlib import Path

from gre_bench.ingest.openreview.journal import JOURNAL, Fetched, Origin, read


def runs_of(root: Path, name: str) -> list[Path]:
    """Returns the folders of a venue-year's fetch runs under *root*, oldest first.

    *name*: ``<venue>-<year>``. The folders are called ``<name>-0001``, ``<name>-0002`` and so on.
    """
    runs = [path for path in root.glob(f"{name}-[0-9][0-9][0-9][0-9]") if (path / JOURNAL).is_file()]
    return sorted(runs)


def origin_of(run: Path) -> Origin | None:
    """Returns the host and API version named in the journal of the folder *run*; None if the journal names none."""
    with (run / JOURNAL).open("rb") as file:
        line = file.readline()
    try:
        return Origin(**json.loads(line)["asked"]) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def run_for(root: Path, name: str, origin: Origin, again: bool = False) -> Path:
    """Returns the folder in which a fetch from *origin* works: its latest fetch run, or a new folder.

    The folder is new if *origin* has no fetch run yet, or if *again* is set and the latest one ended with a snapshot.
    *name*: ``<venue>-<year>``.
    A journal without an origin counts as one of *origin*; whoever opens it gets an error that says what is wrong.
    """
    known = runs_of(root, name)
    mine = [path for path in known if origin_of(path) in (origin, None)]
    if mine and not (again and read(mine[-1]).sealed):
        return mine[-1]
    last = int(known[-1].name.rpartition("-")[2]) if known else 0
    return root / f"{name}-{last + 1:04}"


def before(run: Path, origin: Origin) -> list[Path]:
    """Returns the folders of the earlier fetch runs with the same venue-year and *origin* as *run*, oldest first."""
    known = runs_of(run.parent, run.name.rpartition("-")[0])
    return [path for path in known if path.name < run.name and origin_of(path) == origin]


def pdfs_before(run: Path, origin: Origin) -> dict[str, Fetched]:
    """Returns paper id → PDF result, from all fetch runs before *run* with the same *origin*.

    If several fetch runs have a result for a paper, the latest is returned.
    """
    return {paper: fetched for path in before(run, origin) for paper, fetched in read(path).pdfs.items()}


def sealed_before(run: Path, origin: Origin) -> str | None:
    """Returns the digest of the latest snapshot made by a fetch run that precedes *run*; None if there is none."""
    sealed = [digest for path in before(run, origin) for digest in read(path).sealed]
    return sealed[-1] if sealed else None
