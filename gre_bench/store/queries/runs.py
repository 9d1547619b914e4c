"""The queries of ``sql/queries/runs.sql`` and their rows."""

from __future__ import annotations

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


class SettingsRow(TypedDict):
    """At most one row: the settings of the last refresh that was not refused, as JSON."""

    settings: str


LAST_SETTINGS = Query("last_settings", SettingsRow)


class ParsedQueryRow(TypedDict):
    """One row: DuckDB's syntax tree of a query, as JSON."""

    parsed: str | None


PARSED_QUERY = Query("parsed_query", ParsedQueryRow)
