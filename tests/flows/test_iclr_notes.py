"""Real OpenReview notes with the papers' texts, from one command to a board, everything written by rule."""

from __future__ import annotations

import pytest

from gre_bench.core import settings
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD, SEPARATION
from gre_bench.tasks import steps
from tests.conftest import ROOT, real
from tests.flows.refreshing import query


@pytest.mark.shared
@pytest.mark.slow
def test_iclr_2024_from_notes_to_a_board_without_a_pair_lost(tmp_path):
    notes, texts = real("openreview", "iclr2024.notes.jsonl.gz"), real("openreview", "paper_text.parquet")
    overrides = (f"sources.notes={notes}", f"sources.texts={texts}")
    chosen = settings.load(ROOT / "deployments" / "iclr_notes.toml", overrides)
    summary = refresh(Job(chosen, tmp_path), steps.undecorated())
    assert summary["outcome"] == "done"
    edition = Store(tmp_path, "ICLR-2024")
    ids = [row["signature_id"] for row in edition.read(CURRENT_SIGNATURES)]
    rows = edition.read(LEADERBOARD, signature_ids=ids)
    assert {(row["planned"], row["scored"]) for row in rows} == {(80, 80)}
    for row in rows:
        if row["candidate"] in ("other-paper", "generic"):
            assert row["difference_high"] < 0, row
    separations = {row["metric"]: row for row in edition.read(SEPARATION, signature_ids=ids)}
    assert separations["gem"]["low"] > 0.85
    assert query(tmp_path, "select distinct origin, status from texts", "ICLR-2024") == [("given", "ok")]
