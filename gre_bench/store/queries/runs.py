"""The queries of ``sql/queries/runs.sql`` and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from gre_bench.store.queries import Query


class VersionRow(TypedDict):
    """One row: the schema version of the store."""

    schema_version: int


VERSION = Query("version", VersionRow)


class DefinitionsRow(TypedDict):
    """At most one row: the digest of the SQL definitions with which the store's tables and views were made."""

    digest: str | None


DEFINITIONS = Query("definitions", DefinitionsRow)


class LockedRow(TypedDict):
    """One row: whether the settings of the database are locked."""

    locked: bool


LOCKED = Query("locked", LockedRow)


class ForeignViewRow(TypedDict):
    """A view of an attached file that is none of the program's own views."""

    view_name: str


FOREIGN_VIEWS = Query("foreign_views", ForeignViewRow)


class SettingsRow(TypedDict):
    """At most one row: the settings of the last refresh that was not refused, as JSON."""

    settings: str


LAST_SETTINGS = Query("last_settings", SettingsRow)


class RunOfRowsRow(TypedDict):
    """One row per run that stored rows of the plan, the scores or the replies; *ended_at*: None if it was killed."""

    run_id: str
    command: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    code_version: str


RUNS_OF_ROWS = Query("runs_of_rows", RunOfRowsRow)


class ParsedQueryRow(TypedDict):
    """One row: DuckDB's syntax tree of a query, as JSON."""

    parsed: str | None


PARSED_QUERY = Query("parsed_query", ParsedQueryRow)
