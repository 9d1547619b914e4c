"""The takes of a venue-year: each is one fetch with its own journal, and belongs to the host and API it was begun at.

    <state>/openreview/<venue>-<year>-0001/journal.jsonl      its first line names host and API

What came from one host never goes into the snapshot of another: a try on a loopback leaves the real fetch untouched.
"""

from __future__ import annotations

import json
from pathlib import Path

from gre_bench.ingest.openreview.journal import JOURNAL, Fetched, Origin, read


def takes(root: Path, name: str) -> list[Path]:
    """Folders of the journals of a venue-year under *root*, oldest first: ``<name>-0001`` and up."""
    found = [path for path in root.glob(f"{name}-[0-9][0-9][0-9][0-9]") if (path / JOURNAL).is_file()]
    return sorted(found)


def origin_of(take: Path) -> Origin | None:
    """The host and API that *take* was begun at; None if nothing is in it yet, or if its journal does not say."""
    with (take / JOURNAL).open("rb") as file:
        line = file.readline()
    try:
        return Origin(**json.loads(line)["asked"]) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError):
        return None


def take_for(root: Path, name: str, origin: Origin, again: bool = False) -> Path:
    """The folder that a fetch from *origin* goes on in: its last, or a new one if that is sealed and *again* is asked.

    A journal that names no origin is taken for one of it: opening it tells what is wrong with it.
    """
    known = takes(root, name)
    mine = [path for path in known if origin_of(path) in (origin, None)]
    if mine and not (again and read(mine[-1]).sealed):
        return mine[-1]
    last = int(known[-1].name.rpartition("-")[2]) if known else 0
    return root / f"{name}-{last + 1:04}"


def before(take: Path, origin: Origin) -> list[Path]:
    """The takes of the same venue-year and *origin* that are older than *take*, oldest first."""
    known = takes(take.parent, take.name.rpartition("-")[0])
    return [path for path in known if path.name < take.name and origin_of(path) == origin]


def pdfs_before(take: Path, origin: Origin) -> dict[str, Fetched]:
    """What the takes before *take* got of papers' PDFs, the latest of each."""
    return {paper: fetched for path in before(take, origin) for paper, fetched in read(path).pdfs.items()}


def sealed_before(take: Path, origin: Origin) -> str | None:
    """The digest of the snapshot that was made last of the takes before *take*."""
    sealed = [digest for path in before(take, origin) for digest in read(path).sealed]
    return sealed[-1] if sealed else None
