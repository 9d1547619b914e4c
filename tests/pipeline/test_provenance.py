"""Which version of a text counts and under which licence, whoever made the snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from gre_bench.core.records import Edition
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot import make_snapshot
from gre_bench.pipeline import reading
from tests.conftest import SIXTEEN

NOTES = read_notes_file(SIXTEEN / "notes.jsonl")


@pytest.fixture
def frozen(tmp_path):
    """A snapshot of a user's own notes, of the first paper's review by no licence and the second's by another."""
    stated = {"s01-r1": None, "s01-r2": "CC BY-NC 4.0", "s02": None}
    notes = [note | {"license": stated.get(note["id"], note["license"])} for note in NOTES]
    pdfs = {"s01": Path(SIXTEEN / "pdfs" / "s01.pdf")}
    given = {"s03": {"licence": "CC0 1.0", "pdf_version_status": "submitted"}}
    return make_snapshot(
        tmp_path / "snapshot", Edition("SAMPLE", 2026), notes, pdfs=pdfs, papers=given, source="a test"
    )


def test_a_review_of_somebodys_own_notes_has_the_licence_that_its_note_states(frozen):
    rows = {row["review_id"]: row for row in reading.versions(frozen, {"s01-r1", "s01-r2", "s01-r3"})}
    assert {name: row["licence"] for name, row in rows.items()} == {"s01-r2": "CC BY-NC 4.0", "s01-r3": "CC BY 4.0"}
    assert all(row["rule"] == reading.AS_GIVEN and row["version_id"] is None for row in rows.values())


def test_a_paper_has_the_licence_that_its_note_states_unless_the_snapshot_says_another(frozen):
    rows = {row["paper_id"]: row for row in reading.paper_sources(frozen, {"s01", "s02", "s03", "s04"})}
    assert {name: row["licence"] for name, row in rows.items()} == {
        "s01": "CC BY 4.0", "s03": "CC0 1.0", "s04": "CC BY 4.0",
    }  # fmt: skip
    assert rows["s01"]["pdf_sha256"] and rows["s04"]["pdf_sha256"] is None
    assert (rows["s03"]["pdf_version_status"], rows["s04"]["pdf_version_status"]) == ("submitted", "unknown")
