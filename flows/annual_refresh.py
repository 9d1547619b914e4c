"""The annual refresh of one edition (Xu et al. 2025, §5) as a Prefect flow, which shows its board as an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.board.family import orders_by_signature
from gre_bench.core.settings import Settings
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.prefect_engine import EDITION, ended
from gre_bench.reports.board_pictures import as_markdown
from gre_bench.store import Store, queries
from gre_bench.tasks import steps


@flow(name="annual-refresh", flow_run_name=EDITION, persist_result=False)
def annual_refresh(
    settings: Settings = Settings(),
    state: Path = Path("state"),
    candidates: list[str] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
    wait_s: float = 0.0,
    strict: bool = False,
) -> dict[str, Any]:
    """Brings the board of one edition up to date.

    - *candidates*: score only these; None means all known candidates.
    - *limit*: use only this number of papers, the first of the sample (a pilot).
    - *retry_failed*: whether to retry the texts and scores that failed permanently in earlier runs.
    - *wait_s*: seconds to wait for another process that is writing the edition.
    - *strict*: whether an outcome that needs attention, such as ``incomplete``, fails the flow run, so that monitoring
      notices it. A pause does not need attention.

    Returns a summary: the numbers of papers and of pairs by state, and why pairs have no score.
    """
    job = Job(settings, state, tuple(candidates or ()) or None, limit, retry_failed, wait_s)
    return ended(refresh, job, show_board, strict=strict)


def show_board(store: Store, job: Job, signature_ids: list[str]) -> None:
    """Shows the boards of *signature_ids* as a Prefect artifact."""
    rows = store.rows(queries.LEADERBOARD, signature_ids=signature_ids)
    markdown = as_markdown(rows, orders_by_signature(store.rows, rows), job.settings.board.headline)
    steps.show_leaderboard(store.key, markdown)
