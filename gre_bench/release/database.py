"""Writes and reads the public tables of an edition: one DuckDB file, and the same tables as Parquet.

Ids, hashes, scores and log-probabilities are public. A text is public only if its licence lets anyone pass it on.
Tables in `WHOLE` are copied. From tables in `REDACTED`, ``sql/release.sql`` removes what is not public. The views of
the store also work on a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.core.errors import SourceError, StoreError
from gre_bench.core.judgments import OPENINGS
from gre_bench.store import NEW_FILE, TABLES, VIEWS, of_statement, statement

WHOLE = (
    "meta", "draws", "sample", "candidates", "signatures", "separation", "effects", "validations", "agreements",
    "student_t", "rank_statistics", "differences", "profiles", "lengths", "moved", "chance", "exposures", "text_words",
    "paper_strata",
)  # fmt: skip
REDACTED = (
    "runs", "imports", "snapshots", "papers", "reviews", "judgments", "review_versions", "paper_sources", "texts",
    "synopses", "replies", "plan", "spans", "scores", "problems",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Additions:
    """The tables that a release has in addition to the tables of the edition; each is a list of rows.

    Their columns are:
    - *metrics*: metric, title, unit, place (position in the catalogue).
    - *models*: model, entry, family, parameters (billions), knowledge_cutoff, released, price_in, price_out (USD per
      million tokens). The entry is the model's name in the models file.
    - *changes*: change, title, family (degradation or manipulation).
    - *shown*: one row per board of the page: signature_id, place, and lm_id, the evaluation LM of the heat maps.
    """

    metrics: Sequence[dict[str, Any]] = ()
    models: Sequence[dict[str, Any]] = ()
    changes: Sequence[dict[str, Any]] = ()
    shown: Sequence[dict[str, Any]] = ()


def write_database(
    source: Path, target: Path, additions: Additions, is_free: Callable[[str | None], bool], everything: bool = False
) -> dict[str, int]:
    """Writes the public tables of *source*, a copy of the edition, to the new file *target*.

    Returns the number of rows of each table.
    *is_free*: takes a licence, or None if none is stated; returns whether texts under this licence may be passed on.
    *everything*: whether to include all texts, for a release that is not passed on.
    Raises `StoreError` if *source* cannot be read or has another schema version, or if *target* cannot be written.
    """
    try:
        connection = duckdb.connect(str(target), config=dict(NEW_FILE))
    except duckdb.Error as error:
        raise StoreError(f"{target} cannot be made: {str(error).splitlines()[0]}; make room and try again") from None
    try:
        connection.execute("set timezone = 'UTC'")
        try:
            connection.execute(f"attach {quoted(source)} as edition (read_only)")
        except duckdb.Error as error:
            raise StoreError(f"{source} cannot be read ({str(error).splitlines()[0]}); run gre-bench refresh") from None
        present = {row[0] for row in connection.execute(statement("release", "tables_there")).fetchall()}
        if lacking := sorted({*WHOLE, *REDACTED} & set(TABLES) - present):
            raise StoreError(f"{source} has no table {lacking[0]}; run gre-bench refresh, which brings it up to date")
        _mark_public(connection, is_free, everything)
        for name in TABLES:
            if name in REDACTED:
                connection.execute(f"create table {name} as {statement('release', name)}")
            elif name in WHOLE:
                connection.execute(f"create table {name} as from edition.{name} order by all")
        connection.execute(statement("release", "judgment_kinds"), {"openings": list(OPENINGS)})
        _add(connection, additions)
        connection.execute("detach edition")
        for name in VIEWS:
            connection.execute(statement("views", name))
        connection.execute("checkpoint")
        counts = {name: connection.table(name).count("*").fetchall()[0][0] for name in tables_of(connection)}
    except duckdb.Error as error:
        if of_statement(error):
            raise
        raise StoreError(
            f"{target.name} cannot be made of {source}: {str(error).splitlines()[0]}; make room if the disk is full, "
            "else the store is damaged, and gre-bench refresh says what to do"
        ) from None
    finally:
        connection.close()
    target.with_name(f"{target.name}.wal").unlink(missing_ok=True)
    return counts


def write_parquet(database: Path, folder: Path) -> None:
    """Writes every table of the release's *database* as ``<table>.parquet`` to the new *folder*."""
    folder.mkdir()
    with opened(database) as connection:
        for name in tables_of(connection):
            connection.execute(f"copy {name} to {quoted(folder / f'{name}.parquet')} (format parquet, codec zstd)")


@contextmanager
def opened(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a read-only connection to a release's *database*; raises `SourceError` if the file cannot be read."""
    try:
        connection = duckdb.connect(str(database), read_only=True)
        connection.execute("set timezone = 'UTC'")
    except duckdb.Error as error:
        raise SourceError(f"{database} cannot be read: {str(error).splitlines()[0]}") from None
    try:
        yield connection
    except duckdb.Error as error:
        if of_statement(error):
            raise
        raise SourceError(f"{database} is damaged, or the disk is full: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Runs the statement *query* of ``sql/pages.sql`` on a release's database and returns its rows.

    Queries that also run on editions use `gre_bench.store.fetch` instead, which knows the types of their rows.
    """
    cursor = connection.execute(statement("pages", query))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def streamed(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[dict[str, Any]]:
    """Yields the rows of the statement *query* of ``sql/pages.sql``, fetched a few thousand at a time."""
    cursor = connection.execute(statement("pages", query))
    names = [column[0] for column in cursor.description]
    while fetched := cursor.fetchmany(4096):
        yield from (dict(zip(names, row, strict=True)) for row in fetched)


def tables_of(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Returns the names of a release's tables, sorted."""
    return [row[0] for row in connection.execute(statement("release", "tables_here")).fetchall()]


def same_rows(first: Path, second: Path, tables: Sequence[str]) -> bool:
    """Returns whether two releases hold the same rows in *tables*.

    *first*, *second*: the databases of the two releases. Rows count as the same even if different runs stored them.
    """
    with opened(first) as connection:
        connection.execute(f"attach {quoted(second)} as other (read_only)")
        for name in tables:
            connection.execute(f"create or replace temp view mine as from {name}")
            connection.execute(f"create or replace temp view theirs as from other.{name}")
            if connection.execute(statement("release", "rows_that_differ")).fetchall():
                return False
    return True


def _mark_public(
    connection: duckdb.DuckDBPyConnection, is_free: Callable[[str | None], bool], everything: bool
) -> None:
    """Makes temporary tables of the papers, reviews and replies whose texts may be passed on.

    *is_free*: takes a licence, or None if none is stated; returns whether texts under this licence may be passed on.
    *everything*: whether the tables list all texts, whatever their licence.
    """
    licences = [row[0] for row in connection.execute(statement("release", "licences")).fetchall()]
    free = [None, *licences] if everything else [licence for licence in licences if is_free(licence)]
    connection.execute(statement("release", "add_free_licences"), {"licences": free})
    for name in ("public_papers", "public_reviews", "public_replies"):
        connection.execute(f"create temp table {name} as {statement('release', name)}")


def _add(connection: duckdb.DuckDBPyConnection, additions: Additions) -> None:
    tables: Mapping[str, Sequence[dict[str, Any]]] = {
        "metrics": additions.metrics, "models": additions.models, "changes": additions.changes,
        "signatures_shown": additions.shown,
    }  # fmt: skip
    for name, values in tables.items():
        connection.execute(statement("release", f"make_{name}"))
        for row in values:
            connection.table(name).insert(list(row.values()))


def quoted(path: Path) -> str:
    """Returns *path* as an SQL string literal."""
    return "'" + str(path).replace("'", "''") + "'"
