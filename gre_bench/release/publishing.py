"""Makes a release of an edition: builds it in a temporary folder, seals it, and moves it into place.

    database → pieces → Parquet → pages → figures → manifest → place → log → latest

A publisher that is killed at any step leaves the earlier release unchanged. The next publisher deletes the remains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.release.database import Additions, opened, same_rows, write_database, write_parquet
from gre_bench.release.figures.drawing import write_figures
from gre_bench.release.history import histories
from gre_bench.release.manifest import SIGNED_BY, digest_of, read, seal
from gre_bench.release.pieces import Pieces, add_pieces
from gre_bench.release.release_store import ReleaseStore
from gre_bench.release.signing import SigningKey
from gre_bench.release.site import write_site
from gre_bench.store import now

DERIVED = ("chance", "differences", "lengths", "profiles", "rank_statistics", "separation")
RECORDS = ("imports", "runs")
"""Tables of commands that were run; they differ from release to release."""
DATABASE, TABLES, FIGURES = "release.duckdb", "tables", "figures"


@dataclass(frozen=True, slots=True)
class Publication:
    """Everything that a release is made from.

    - *source*: a private copy of an edition. *additions*: the tables that the release adds.
    - *is_free*: takes a licence, or None if none is stated; returns whether texts under this licence may be passed
      on.
    - *provenance*: facts about data, settings and program, for the manifest.
    - *pieces_of*: splits a text into one piece per token, for heat maps; None for heat maps without words.
    - *everything*: whether to include all texts, whatever their licence, for a release that is not passed on.
    - *again*: whether to publish even if no table has changed. *key*: the key that signs the release, if any.
    """

    source: Path
    additions: Additions
    is_free: Callable[[str | None], bool]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    pieces_of: Pieces | None = None
    everything: bool = False
    again: bool = False
    key: SigningKey | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """A release after publishing: its *name*, *folder* and *digest*.

    *new*: whether this call made the release; False for the latest release, returned because nothing has changed.
    *tables*: the number of rows of each table.
    """

    name: str
    folder: Path
    digest: str
    new: bool
    tables: Mapping[str, int]


def publish(
    release_store: ReleaseStore, publication: Publication, at: Callable[[str], None] = lambda step: None
) -> Published:
    """Makes a new release, or returns the latest release if a new one would be equal.

    *at*: called before each step with the name of the step. Raises `LockedError` if another process is making
    a release of the edition.
    """
    with release_store.lock():
        at("database")
        latest = release_store.point()
        name = release_store.next_name()
        building = release_store.building_folder(name)
        counts = write_database(
            publication.source, building / DATABASE, publication.additions, publication.is_free, publication.everything
        )
        at("pieces")
        counts["pieces"] = add_pieces(building / DATABASE, publication.pieces_of)
        at("parquet")
        write_parquet(building / DATABASE, building / TABLES)
        at("page")
        created = now()
        about = {
            "release": name,
            "edition": release_store.edition,
            "created_at": created.isoformat(timespec="seconds"),
            "texts": "all: not to be passed on" if publication.everything else "where their licence allows it",
            **publication.provenance,
            "tables": counts,
        }
        _write_pages(release_store, building, about, at)
        at("manifest")
        digest = seal(building, about, publication.key)
        if latest and not publication.again and _same(release_store.folder / latest, building):
            release_store.drop(building)
            return Published(
                latest, release_store.folder / latest, digest_of(release_store.folder / latest), False, counts
            )
        at("place")
        folder = release_store.move_in(building, name)
        at("log")
        release_store.log_event("published", name, {"digest": digest}, publication.key)
        at("latest")
        release_store.point()
        at("done")
        return Published(name, folder, digest, True, counts)


def _write_pages(
    release_store: ReleaseStore, building: Path, about: Mapping[str, Any], at: Callable[[str], None]
) -> None:
    errata = [(entry["at"][:10], entry["release"], entry["text"]) for entry in release_store.log.entries()
              if entry["what"] != "published"]  # fmt: skip
    years = histories(release_store, building / DATABASE)
    with opened(building / DATABASE) as connection:
        write_figures(write_site(connection, building, about, years, errata, at), building / FIGURES)


def _same(old: Path, new: Path) -> bool:
    """Returns whether the releases in the folders *old* and *new* are equal in everything that a reader sees.

    Their tables, program, kind of texts, hidden boards and signing key must be the same. The tables `RECORDS` are not
    compared. The tables `DERIVED` are not compared either, because the same program computes them from other tables.
    """
    old_manifest, new_manifest = read(old), read(new)
    if any(
        old_manifest.get(name) != new_manifest.get(name) for name in ("program", "texts", "hidden_boards", SIGNED_BY)
    ):
        return False
    tables = [{name: file["sha256"] for name, file in manifest["files"].items() if name.startswith(f"{TABLES}/")}
              for manifest in (old_manifest, new_manifest)]  # fmt: skip
    if tables[0].keys() != tables[1].keys():
        return False
    changed = {Path(name).stem for name in tables[0] if tables[0][name] != tables[1][name]} - {*DERIVED, *RECORDS}
    return not changed or same_rows(old / DATABASE, new / DATABASE, sorted(changed))
