"""Makes a release of an edition: builds it in a temporary folder, lists its files' digests, and moves it into place.

    database → pieces → Parquet → pages → figures → manifest → place → log → latest

The database is temporary: the release has its tables as Parquet files. *pieces* are the texts of the heat maps, split
into tokens. The step *place* moves the release to its final folder, and *latest* points the link to it. If the process
is killed at any step, the previous release is unchanged, and the next publication deletes the remains.

The same inputs and program give the same bytes, whatever the machine's threads, time zone and locale. Only the manifest
and the list of digests differ, because the manifest states the time and the runs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.board.years import compute_changes_between_editions, tabulate_candidates_by_edition
from gre_bench.core.records import parse_edition_key
from gre_bench.core.whole_files import sha256
from gre_bench.release.figures import write_figures
from gre_bench.release.hub import write_hub_files
from gre_bench.release.manifest import (
    compute_release_digest,
    convert_to_plain_json,
    read_manifest,
    stated_release_time,
    verify_release,
    write_manifest,
)
from gre_bench.release.public_tables import (
    FOLDER,
    Pieces,
    ReleaseOnlyTables,
    add_token_pieces_table,
    have_same_rows,
    open_release_tables,
    run_page_query,
    write_parquet,
    write_public_tables,
)
from gre_bench.release.release_store import ReleaseStore
from gre_bench.release.site import SCORES_ONLY, TEXTS, write_site
from gre_bench.store import Row

DATABASE, FIGURES = "release.duckdb", "figures"


@dataclass(frozen=True, slots=True)
class ReleaseInputs:
    """Everything that a release is made from.

    - *source*, *additions*, *is_free*, *everything*, *own_licence*: as for `write_public_tables`. *pieces_of*: see
      `Pieces`.
    - *provenance*: facts about data, settings and program, for the manifest.
    - *scores_only*: whether to leave out all texts, log-probabilities and pages of papers.
    - *again*: whether to publish even if no table has changed.
    """

    source: Path
    additions: ReleaseOnlyTables
    is_free: Callable[[str | None], bool]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    pieces_of: Pieces | None = None
    everything: bool = False
    scores_only: bool = False
    again: bool = False
    own_licence: str | None = None


@dataclass(frozen=True, slots=True)
class PublishingResult:
    """The result of publishing: a new release, or the latest release if nothing has changed since.

    *new*: whether it is a new release. *digest*: the digest of its manifest. *tables*: table → number of rows.
    """

    name: str
    folder: Path
    digest: str
    new: bool
    tables: Mapping[str, int]


def publish(
    release_store: ReleaseStore, publication: ReleaseInputs, at: Callable[[str], None] = lambda step: None
) -> PublishingResult:
    """Makes a new release, or returns the latest release if a new one would be equal.

    *at*: a function that is called with each step's name before the step. Raises `LockedError` if another process is
    making a release of the edition.
    """
    with release_store.lock():
        at("database")
        latest = release_store.update_latest_link()
        name = release_store.next_name()
        building = release_store.create_building_folder(name)
        counts = write_public_tables(
            publication.source, building / DATABASE, publication.additions, publication.is_free,
            publication.everything, publication.own_licence, publication.scores_only,
        )  # fmt: skip
        at("pieces")
        counts["pieces"] = add_token_pieces_table(building / DATABASE, publication.pieces_of)
        at("parquet")
        write_parquet(building / DATABASE, building)
        about = {
            "release": name,
            "edition": release_store.edition,
            "created_at": stated_release_time().isoformat(timespec="seconds"),
            "texts": SCORES_ONLY if publication.scores_only else TEXTS[publication.everything],
            **publication.provenance,
            "tables": counts,
        }
        if latest and not publication.again and _has_same_contents(release_store.folder / latest, building, about):
            shutil.rmtree(building)
            return PublishingResult(
                latest,
                release_store.folder / latest,
                compute_release_digest(release_store.folder / latest),
                False,
                counts,
            )
        at("page")
        about = convert_to_plain_json(about | _build_errata_and_histories(release_store, building / DATABASE))
        write_pages(building / DATABASE, building, about, at=at)
        (building / DATABASE).unlink()
        at("manifest")
        digest = write_manifest(building, about)
        at("place")
        folder = release_store.install_release(building, name)
        at("log")
        release_store.log_event("published", name, {"digest": digest})
        at("latest")
        release_store.update_latest_link()
        at("done")
        return PublishingResult(name, folder, digest, True, counts)


def _build_errata_and_histories(release_store: ReleaseStore, database: Path) -> dict[str, Any]:
    errata = [{"day": entry["at"][:10], "release": entry["release"], "text": entry["text"]}
              for entry in release_store.log.entries() if entry["what"] != "published"]  # fmt: skip
    return {"errata": errata, "histories": read_differences_by_edition(release_store, database)}


def write_pages(
    tables: Path, target: Path, about: Mapping[str, Any], at: Callable[[str], None] = lambda step: None
) -> None:
    """Writes the pages, figures and dataset card of a release to the folder *target*.

    *tables*: the release's folder or database, as for `open_release_tables`. If it is a database, the Parquet files
    must be in the same folder. *about*: the manifest, which is the only other input. *at*: as for `publish`.
    """
    with open_release_tables(tables) as connection:
        shown = write_site(connection, target, about, at)
    write_figures(shown, target / FIGURES)
    write_hub_files(shown, tables if tables.is_dir() else tables.parent, target, about)


def _has_same_contents(latest: Path, building: Path, about: Mapping[str, Any]) -> bool:
    """Returns whether the release in *latest* has the same contents as the unfinished one in *building*."""
    old = read_manifest(latest)
    if (
        any(old.get(name) != about.get(name) for name in ("texts", "hidden_boards", "correctness"))
        or old["program"]["version"] != about["program"]["version"]
    ):
        return False
    digests = {name: file["sha256"] for name, file in old["files"].items() if name.startswith(f"{FOLDER}/")}
    tables = {path.relative_to(building).as_posix(): path for path in (building / FOLDER).iterdir()}
    if digests.keys() != tables.keys():
        return False
    changed = [path.stem for name, path in tables.items() if sha256(path) != digests[name]]
    return not changed or have_same_rows(latest, building, sorted(changed))


def read_differences_by_edition(release_store: ReleaseStore, release: Path) -> list[dict[str, Any]]:
    """Returns the candidates' differences from the human baseline in this and other editions, one row per signature.

    The other editions are those of the same venue and sample whose releases are in the folder of *release_store*; the
    latest release of each is read. A signature that only one edition has gets no row. *release*: the new release (see
    `open_release_tables`). Raises `SourceError` if the release of another edition was altered. Keys of a row:

    - *title*: the metric's title. *editions*: keys of the editions, oldest first.
    - *lines*: (candidate, its values in each edition). All values of an edition without the candidate are None.
    - *changes*: how differences changed from one edition to the next (`compute_changes_between_editions`); *p* is
      Holm-corrected.
    """
    tables = {release_store.edition: _load_differences_from_human(release)}
    for other in _find_sibling_editions(release_store):
        sibling = ReleaseStore(release_store.folder, other)
        newest = sibling.find_latest_entry()
        folder = sibling.folder / newest["release"] if newest else sibling.latest.resolve()
        verify_release(folder)
        tables[other] = _load_differences_from_human(folder)
    in_order = sorted(tables, key=lambda key: (parse_edition_key(key).year, key))
    rows = [row | {"edition": key, "venue": parse_edition_key(key).venue} for key in in_order for row in tables[key]]
    titles = {row["signature_id"]: row["title"] or row["metric"] for row in tables[release_store.edition]}
    tables_of = {
        table["signature_id"]: table for table in tabulate_candidates_by_edition(rows) if len(table["editions"]) > 1
    }
    moved = compute_changes_between_editions(rows)
    return [
        {
            "title": title,
            "editions": table["editions"],
            "lines": [
                (
                    line["candidate"],
                    [_build_year_row(*year) for year in zip(table["editions"], line["years"], strict=True)],
                )
                for line in table["lines"]
            ],
            "changes": [
                {"earlier": row["from"], "later": row["to"], "p": row["p_holm"]}
                | {name: row[name] for name in ("candidate", "value", "low", "high")}
                for row in moved if row["signature_id"] == signature
            ],
        }
        for signature, title in titles.items() if (table := tables_of.get(signature))
    ]  # fmt: skip


def _build_year_row(edition: str, row: Row | None) -> dict[str, Any]:
    names = ("difference", "low", "high", "above_chance", "above_chance_high", "papers")
    return {"edition": edition, **{name: row and row[name] for name in names}}


def _find_sibling_editions(release_store: ReleaseStore) -> list[str]:
    """Returns the other editions of the same venue and sample that have a release in the store's folder."""
    own = parse_edition_key(release_store.edition)
    keys = [path.name.removesuffix("-latest") for path in release_store.folder.glob("*-latest") if path.exists()]
    known = [
        parse_edition_key(key) for key in keys if re.match(r".+-\d{4}(-.+)?$", key) and key != release_store.edition
    ]
    return [edition.key for edition in known if (edition.venue, edition.sample) == (own.venue, own.sample)]


def _load_differences_from_human(release: Path) -> list[dict[str, Any]]:
    with open_release_tables(release) as connection:
        return run_page_query(connection, "anchored")
