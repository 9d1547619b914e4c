"""Writes the pages and tables that a release of an edition would have now."""

from __future__ import annotations

import json
from pathlib import Path

from gre_bench.core.errors import UnfinishedError
from gre_bench.core.settings import Settings, load_over
from gre_bench.ingest.snapshot import may_publish
from gre_bench.lm.catalog import pieces_of
from gre_bench.release.database import opened, write_database
from gre_bench.release.pieces import add_pieces
from gre_bench.release.publishing import DATABASE
from gre_bench.release.site import write_site
from gre_bench.reports.publishing import additions, provenance
from gre_bench.store import Store, now
from gre_bench.store.queries import BOARD_SETTINGS, CURRENT_SIGNATURES, SignatureRow


def database_of(store: Store, folder: Path, everything: bool = False) -> Path:
    """Writes the database that a release of the edition would have now to *folder*; returns its path.

    *everything*: include all texts, whatever their licence. Raises `UnfinishedError` if the edition has no board.
    """
    copy, database, settings = folder / store.read_file.name, folder / DATABASE, _settings(store)
    signatures = _signatures(store)
    store.copy.copy_to(copy)
    made_of = additions(store, settings, signatures)
    write_database(copy, database, made_of, may_publish, everything, settings.writing.licence)
    copy.unlink()
    return database


def write_edition_pages(store: Store, folder: Path, everything: bool = False) -> None:
    """Writes the pages of an edition as it is now to *folder*, without a release.

    *everything*: include all texts, whatever their licence. Raises `UnfinishedError` if the edition has no board.
    """
    database, settings = database_of(store, folder, everything), _settings(store)
    add_pieces(database, pieces_of(settings.evaluation_lm))
    made = now().isoformat(timespec="seconds")
    about = {
        "release": store.key,
        "edition": store.key,
        "created_at": made,
        "published": f"not published; as of {made[:16].replace('T', ' ')} UTC",
        "texts": "all: not to be passed on" if everything else "where their licence allows it",
        **provenance(store, settings, _signatures(store)),
    }
    with opened(database) as connection:
        write_site(connection, folder, about, figures=False)
    database.unlink()


def _settings(store: Store) -> Settings:
    planned_with = store.read(BOARD_SETTINGS)
    return load_over(json.loads(planned_with[0]["settings"])) if planned_with else Settings()


def _signatures(store: Store) -> list[SignatureRow]:
    signatures = store.read(CURRENT_SIGNATURES)
    if not signatures:
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    return signatures
