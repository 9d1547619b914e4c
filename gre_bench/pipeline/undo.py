"""Takes back an import: what it added, and the scores that this was part of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.core.records import HUMAN
from gre_bench.core.settings import Settings
from gre_bench.pipeline.intake import known_reviews
from gre_bench.pipeline.own_reviews import forgetting
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import Job, recorded
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, DRAW, SCORE_COUNT, ImportRow


def undo_import(store: Store, settings: Settings, state: Path, row: ImportRow, wait_s: float = 0.0) -> dict[str, Any]:
    """Deletes what the import *row* added to *store* and is still there; returns a report.

    That is one transaction. Afterwards a candidate that has no review left goes as a whole. If a paper or a human
    review of the sample went, the next refresh draws the sample again; otherwise the ranks of the rest are tested
    again now. Raises `LockedError` if another process still writes the edition after *wait_s* seconds.
    """
    with store.lock("undo", wait_s), recorded(store, "undo", settings, shown=False) as progress:
        before = {review.candidate for review in known_reviews(store)} - {HUMAN}
        scores, was_drawn = store.rows(SCORE_COUNT)[0]["scores"], bool(store.rows(DRAW))
        store.write(("name_undone", {"run_id": row["run_id"], "file": row["file"]}), ("undo_import", {}))
        for name in sorted(before - {review.candidate for review in known_reviews(store)}):
            store.write(*forgetting(store, name))
        is_drawn = bool(store.rows(DRAW))
        if is_drawn:
            store_rank_statistics(store, Job(settings, state), store.rows(CURRENT_SIGNATURES), progress.run_id)
        progress.end("done")
        left = store.rows(SCORE_COUNT)[0]["scores"]
    again = f"the next refresh draws the sample and scores it again: gre-bench refresh --edition {store.key}"
    return {"edition": store.key, "scores": scores - left, "notes": [again] if was_drawn and not is_drawn else []} | {
        name: row[name] for name in ("number", "file", "papers", "reviews", "judgments")
    }
