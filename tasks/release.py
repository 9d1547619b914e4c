"""Tasks that show a board and a venue's history as Prefect artifacts; without Prefect they do nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.tasks.policy import is_in_flow_run, make_step


@make_step("show leaderboard", None, 1 / 12, "report", retries=1)
def show_leaderboard(edition: str, markdown: str) -> None:
    """Makes a Prefect artifact of the leaderboard as *markdown*; its key is ``leaderboard-<edition>``."""
    if not is_in_flow_run():
        return
    from prefect.artifacts import create_markdown_artifact

    create_markdown_artifact(
        key=_make_artifact_key(f"leaderboard-{edition}"), markdown=markdown, description=f"GRE-bench {edition}"
    )


@make_step("show history", None, 1 / 12, "report", retries=1)
def show_history(venue: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Makes a Prefect table artifact of the candidates' history; its key is ``history-<venue>``."""
    if not is_in_flow_run():
        return
    from prefect.artifacts import create_table_artifact

    description = f"GRE-bench {venue}: differences to the human baseline"
    create_table_artifact(
        key=_make_artifact_key(f"history-{venue}"), table=build_artifact_rows(rows), description=description
    )


def _make_artifact_key(name: str) -> str:
    return "".join(mark if mark.isalnum() else "-" for mark in name.lower())


SIX = ("metric", "candidate", "edition", "difference", "low", "high")


def build_artifact_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the columns `SIX` of *rows* in Prefect's form: "" for None, numbers with two decimals."""
    return [{name: _format_cell(row[name]) for name in SIX} for row in rows]


def _format_cell(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else "" if value is None else value
