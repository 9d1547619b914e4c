"""Checks that a release agrees with what the store of its edition holds now."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.ingest.snapshot import may_publish
from gre_bench.release.database import Additions, write_database
from gre_bench.release.differences import unlike_tables
from gre_bench.release.publishing import DATABASE
from gre_bench.store import Store, find_editions, frozen, no_edition


def agree(folder: Path, manifest: dict[str, Any], state: Path) -> None:
    """Checks that every table of the release in *folder* agrees with the edition's store under *state*.

    *manifest*: the manifest of the release. Raises `SourceError`, which names the first table that differs. Raises
    `SettingsError` if the edition is missing.
    """
    if manifest["edition"] not in find_editions(state):
        raise no_edition(state, manifest["edition"])
    store = Store(state, manifest["edition"])
    with frozen(store, "verify") as edition, TemporaryDirectory(prefix="gre-bench-") as scratch:
        rebuilt = Path(scratch) / DATABASE
        everything, own = manifest["texts"].startswith("all"), manifest["settings"]["writing"].get("licence")
        write_database(edition.file, rebuilt, Additions(), may_publish, everything, own)
        unlike = unlike_tables(folder, rebuilt)
    if unlike:
        first, more = unlike[0], f", and {len(unlike) - 1} tables more" if len(unlike) > 1 else ""
        raise SourceError(
            f"{folder}: {first['table']} is not as in the store of {store.key} ({first['first']:,} rows in the release "
            f"alone, {first['second']:,} in the store alone{more}); the edition has changed since, or one of the two "
            "was tampered with"
        )
