"""Rows of the queries of ``sql/queries/runs.sql``."""

from __future__ import annotations

from typing import TypedDict


class VersionRow(TypedDict):
    """`version`: one row: the schema version of the store."""

    schema_version: int


class LastSettingsRow(TypedDict):
    """`last_settings`: at most one row: settings of the last refresh whose settings could be used."""

    settings: str


class ParsedQueryRow(TypedDict):
    """`parsed_query`: one row: what the parser makes of a query, as JSON."""

    parsed: str | None
