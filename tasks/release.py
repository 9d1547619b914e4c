"""Tasks that show a board and a venue's history as Prefect artifacts; without Prefect they do nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from gre_bench.tasks.policy import in_flow, step


@step("show leaderboard", None, 1 / 12, "report", retries=1)
def show_leaderboard(edition: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Makes a Prefect table artifact of the leaderboard; its key is ``leaderboard-<edition>``."""
    _show(f"leaderboard-{edition}", rows, f"GRE-bench {edition}: mean scores")


@step("show history", None, 1 / 12, "report", retries=1)
def show_history(venue: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Makes a Prefect table artifact of the candidates' history; its key is ``history-<venue>``."""
    _show(f"history-{venue}", rows, f"GRE-bench {venue}: differences to the human baseline")


def _show(key: str, rows: Sequence[Mapping[str, Any]], description: str) -> None:
    if not in_flow():
        return
    from prefect.artifacts import create_table_artifact

    key = "".join(mark if mark.isalnum() else "-" for mark in key.lower())
    create_table_artifact(key=key, table=artifact_rows(rows), description=description)


def artifact_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns *rows* with values that JSON can hold: an empty text for None, the ISO form for a date."""
    return [{name: "" if value is None else value.isoformat() if isinstance(value, date) else value
             for name, value in row.items()} for row in rows]  # fmt: skip
