"""Tests that every included validation has a record among the measurements, and rests on known registers."""

from __future__ import annotations

import json

from gre_bench.pipeline.validation_records import SHIPPED
from tests.bench.validation_table import METRICS, load_shipped_records
from tests.conftest import ROOT

SHOWN = [
    (str(record.signature["evaluation_lm"]), folder.name)
    for folder in sorted(SHIPPED.glob("*-*"))
    for record in load_shipped_records(folder.name)
    if record.effects and record.signature["metric"] == METRICS[0]
]


def test_a_record_holds_the_table_of_every_validation_that_ships():
    printed = {json.loads(path.read_text())["printed_by"] for path in (ROOT / "data" / "measurements").glob("*.json")}
    command = "python -m tests.bench.validation_table"
    for lm, edition in SHOWN:
        assert any((line or "").startswith(f"{command} {lm} {edition}") for line in printed), (lm, edition)


def test_every_record_rests_on_papers_that_were_checked_against_a_known_register():
    for lm, edition in SHOWN:
        for record in load_shipped_records(edition):
            if record.signature["evaluation_lm"] == lm:
                assert "unknown" not in record.registers.values() and record.papers
