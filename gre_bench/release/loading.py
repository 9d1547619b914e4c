"""Loads a published release into a state folder, as a read-only edition."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.resources import locate_resource
from gre_bench.release import manifest
from gre_bench.release.public_tables import FILLED, add_pair_tests, locate_tables
from gre_bench.release.release_store import ReleaseStore
from gre_bench.store import (
    EARLIEST,
    INCLUDED_EDITIONS,
    NEW_FILE,
    SCHEMA_VERSION,
    TABLES,
    VIEWS,
    Store,
    connect,
    explain_resource_shortage,
    fetch,
    fill_board_tables,
    get_statement,
    quote_path_for_sql,
)
from gre_bench.store.queries import VERSION

INCLUDED = locate_resource("data", "releases")
"""The folder of the releases that come with the program."""
_STATED = {"run_id": "name", "created_at": "at", "drawn_at": "at", "validated_at": "at"}
"""Column that releases lack → what fills it in the loaded edition: ``name`` (of the release) or ``at`` (its time)."""


def find_release(name: str) -> Path:
    """Returns the folder of the release *name*.

    *name*: a release's folder, or the name of a release that comes with the program. The name of an edition stands for
    its latest release. Raises `SettingsError` if there is no such release.
    """
    if manifest.is_release(Path(name)):
        return Path(name)
    latest = ReleaseStore(INCLUDED, name).find_latest_entry() if name in INCLUDED_EDITIONS else None
    included = sorted(path.name for path in INCLUDED.glob("*-r*") if manifest.is_release(path))
    if (release := latest["release"] if latest else name) in included:
        return INCLUDED / release
    known = suggest_known_names(name, included)
    raise SettingsError(f"{name} is not the folder of a release, nor a release that comes with the program; {known}")


def load_release(folder: Path, state: Path) -> Store:
    """Makes a read-only edition from the release in *folder*, and copies the release into *state*; returns the edition.

    Commands that change an edition refuse a read-only one. The edition has only the texts that the release has. Loading
    a release again changes nothing.

    Raises `SourceError` if the release is damaged, and `StoreError` if the program cannot read its schema version.
    Raises `SettingsError` if *state* has an edition of this name that was not loaded from a release.
    """
    about = manifest.verify_release(folder)
    store = Store(state, about["edition"])
    if not re.fullmatch(re.escape(store.key) + r"-r[1-9]\d{0,5}", about["release"]):
        raise SourceError(f"{folder}: {about['release']!r} is no name of a release of {store.key}; get it again")
    if store.file.is_file():
        raise SettingsError(
            f"{Path(state).absolute()} has an edition {store.key} of its own; load the release into another --state"
        )
    tables = locate_tables(folder)
    releases = ReleaseStore(Path(state) / "releases", store.key)
    try:
        with store.install_release_copy(about["release"]) as beside:
            _write_edition_file(folder, tables, about, beside)
            if (releases.folder / about["release"]).resolve() != folder.resolve():
                releases.import_release(folder, about["release"])
    except BaseException:
        if not store.exists:
            store.discard()
        raise
    return store


def _write_edition_file(folder: Path, tables: Mapping[str, Path], about: Mapping[str, Any], target: Path) -> None:
    """Writes the new DuckDB file *target*, with the *tables* of the release in *folder* and the views of an edition."""
    given = {"name": about["release"], "at": about["created_at"]}
    settings = json.dumps(manifest.drop_unpublished_settings(about["settings"]))
    run = given | {"settings": settings, "version": about["program"]["version"]}
    try:
        connection = connect(
            target, {"shape": None}, NEW_FILE, folders=sorted({file.parent for file in tables.values()})
        )
    except duckdb.Error as error:
        raise StoreError(f"{target} cannot be made: {str(error).splitlines()[0]}; make room and try again") from None
    try:
        (own,) = connection.execute(get_statement("release", "this_database")).fetchall()[0]
        for table in TABLES:
            connection.execute("use shape")
            connection.execute(get_statement("schema", table))
            stated = table in tables and table not in FILLED
            rows = f" union all by name from read_parquet({quote_path_for_sql(tables[table])})" if stated else ""
            connection.execute(f'use "{own}"')
            connection.execute(f"create table {table} as (from shape.{table} limit 0){rows}")
            names = [row[0] for row in connection.execute(f"describe {table}").fetchall()]
            for column, key in _STATED.items():
                if column in names:
                    connection.execute(
                        f"update {table} set {column} = ${key} where {column} is null", {key: given[key]}
                    )
        other = f"{given['name']}, other signatures"
        shown = str(tables["signatures_shown"])
        connection.execute(get_statement("release", "plan_of_others"), {"other": other, "shown": shown})
        connection.execute(get_statement("release", "run_of_others"), run | {"name": other})
        connection.execute(get_statement("release", "run_of_a_release"), run)
        for view in VIEWS:
            connection.execute(get_statement("views", view))
        fill_board_tables(connection)
        if "pair_tests" not in tables:
            add_pair_tests(connection)
        version = next((row["schema_version"] for row in fetch(connection, VERSION)), None)
        connection.execute(get_statement("queries", "set_version"), {"version": SCHEMA_VERSION})
        if not EARLIEST <= (version or 0) <= SCHEMA_VERSION:
            todo = "update the program" if (version or 0) > SCHEMA_VERSION else "it was made by an older program"
            raise StoreError(f"{folder} has schema version {version}, this program reads {SCHEMA_VERSION}; {todo}")
    except duckdb.Error as error:
        if lack := explain_resource_shortage(error):
            raise StoreError(f"{target}: {lack}") from None
        raise SourceError(f"{folder} cannot be loaded: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()
