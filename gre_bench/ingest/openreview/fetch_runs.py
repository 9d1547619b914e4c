"""The fetch runs of a venue-year: each has its own journal and belongs to the host and API where it began.

    <state>/openreview/<venue>-<year>-0001/journal.jsonl      its first line names host and API

Answers of one host never enter the snapshot of another, so a trial on a loopback leaves the real fetch untouched.
"""

from __future__ import annotations

import json
from pathlib import Path

from gre_bench.ingest.openreview.journal import JOURNAL, Fetched, Origin, read


def runs_of(root: Path, name: str) -> list[Path]:
    """Returns the folders of a venue-year's fetch runs under *root*, oldest first: ``<name>-0001`` and up."""
    runs = [path for path in root.glob(f"{name}-[0-9][0-9][0-9][0-9]") if (path / JOURNAL).is_file()]
    return sorted(runs)


def origin_of(run: Path) -> Origin | None:
    """Returns the host and API of the fetch run *run*; None if it is empty or its journal does not say."""
    with (run / JOURNAL).open("rb") as file:
        line = file.readline()
    try:
        return Origin(**json.loads(line)["asked"]) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError):
        return None


def run_for(root: Path, name: str, origin: Origin, again: bool = False) -> Path:
    """Returns the folder of the fetch run that a fetch from *origin* continues.

    It is the last one of that origin. If there is none, or *again* is set and the last one is sealed, it is a new one.
    A journal that names no origin counts as one of *origin*; opening it reports what is wrong with it.
    """
    known = runs_of(root, name)
    mine = [path for path in known if origin_of(path) in (origin, None)]
    if mine and not (again and read(mine[-1]).sealed):
        return mine[-1]
    last = int(known[-1].name.rpartition("-")[2]) if known else 0
    return root / f"{name}-{last + 1:04}"


def before(run: Path, origin: Origin) -> list[Path]:
    """Returns the fetch runs of the same venue-year and *origin* before *run*, oldest first."""
    known = runs_of(run.parent, run.name.rpartition("-")[0])
    return [path for path in known if path.name < run.name and origin_of(path) == origin]


def pdfs_before(run: Path, origin: Origin) -> dict[str, Fetched]:
    """Returns the PDFs that fetch runs before *run* got, the latest of each paper."""
    return {paper: fetched for path in before(run, origin) for paper, fetched in read(path).pdfs.items()}


def sealed_before(run: Path, origin: Origin) -> str | None:
    """Returns the digest of the last snapshot made by a fetch run before *run*; None if there is none."""
    sealed = [digest for path in before(run, origin) for digest in read(path).sealed]
    return sealed[-1] if sealed else None
