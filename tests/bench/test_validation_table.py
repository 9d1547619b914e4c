"""The tables of validations in the docs are those of the records that ship."""

from __future__ import annotations

import pytest

from gre_bench.pipeline.validation_records import SHIPPED, shipped
from tests.bench.validation_table import METRICS, table
from tests.conftest import ROOT

SHOWN = [
    (str(record.signature["evaluation_lm"]), folder.name)
    for folder in sorted(SHIPPED.glob("*-*"))
    for record in shipped(folder.name)
    if record.effects and record.signature["metric"] == METRICS[0]
]


@pytest.mark.parametrize(("lm", "edition"), SHOWN)
def test_the_docs_hold_the_table_of_every_validation_that_ships(lm, edition):
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert table(lm, edition) in page, f"python -m tests.bench.validation_table {lm} {edition}"


def test_every_record_rests_on_papers_that_were_checked_against_a_known_register():
    for lm, edition in SHOWN:
        for record in shipped(edition):
            if record.signature["evaluation_lm"] == lm:
                assert "unknown" not in record.registers.values() and record.papers
