"""Tasks that show a board and a venue's history as Prefect artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE


@task(
    name="show leaderboard",
    tags=["report"],
    retries=1,
    timeout_seconds=300,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def show_leaderboard(edition: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Makes a Prefect table artifact of *rows*, the rows of the leaderboard; its key is ``leaderboard-<edition>``."""
    from prefect.artifacts import create_table_artifact

    key = "leaderboard-" + "".join(mark if mark.isalnum() else "-" for mark in edition.lower())
    create_table_artifact(key=key, table=artifact_rows(rows), description=f"GRE-bench {edition}: mean scores")


@task(
    name="show history",
    tags=["report"],
    retries=1,
    timeout_seconds=300,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def show_history(venue: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Makes a Prefect table artifact of *rows*, the candidates' history; its key is ``history-<venue>``."""
    from prefect.artifacts import create_table_artifact

    key = "history-" + "".join(mark if mark.isalnum() else "-" for mark in venue.lower())
    description = f"GRE-bench {venue}: differences to the human baseline"
    create_table_artifact(key=key, table=artifact_rows(rows), description=description)


def artifact_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns *rows* with values that JSON can hold: None becomes an empty text, and a date its ISO form."""
    return [{name: _cell(value) for name, value in row.items()} for row in rows]


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, date) else value
